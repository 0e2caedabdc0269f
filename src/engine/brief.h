/* SPDX-License-Identifier: MIT */
/*
 * Fast path of a repeated small call over boards: its plan is known, and all its links are there.
 * It is said, heard and added up in one go; the engine takes over only if somebody is late. (8 B on
 * 2 ranks, by the engine -> so: 0.096 -> 0.071 us.) What went to and fro is counted when somebody
 * asks.
 */
#ifndef RING_BRIEF_H
#define RING_BRIEF_H

#include "channel.h"

/* Who is told, or heard, and the payload that goes there, or comes from there. */
struct ring_brief_peer {
	struct ring_route *route;
	uint64_t messages, bytes;
	uint32_t sheet_bytes; /* that the peer writes on its board, ... */
	uint32_t skip;        /* ... and so many of them come before what is taken */
};

/* All zero: the engine's business alone. */
struct ring_brief {
	bool ready;
	struct ring_known_plan *known;
	struct ring_record record;
	uint64_t said_bytes; /* behind the record */
	bool light; /* the doorbells of all who are told, and one's own (doorbell_words.h) */
	/* for adding up, if that is all that is to be done; or NULL */
	const struct ring_pair_loops *loops;
	size_t elements;       /* of such a sum */
	uint64_t calls;        /* that nobody has counted yet, ... */
	uint64_t tells, hears; /* ... with so many peers; the plan may be another's by then */
	struct ring_brief_peer told[RING_KNOWN_OUTGOING], heard[RING_KNOWN_OUTGOING];
};

/*
 * Makes ready for calls like the one that the channel has just carried out, by a plan that is kept,
 * if they are small, and wanted by all who say anything: then whoever is done has heard of all
 * others.
 */
void ring_brief_prepare(struct ring_brief *brief, struct ring_channel *channel);

/*
 * Makes such a call; the channel's last one must be done. returns 1; an error of the device; or 0
 * if this rank has said what it must, but not heard all: then ring_brief_resume(), and the engine
 */
int ring_brief_run(struct ring_brief *brief, struct ring_channel *channel,
		   const struct ring_operands *operands, uint64_t sequence);

/* Begins the call for the engine, as one in which this rank has said what it must. */
void ring_brief_resume(struct ring_brief *brief, struct ring_channel *channel,
		       const struct ring_operands *operands);

/* Adds what went to and fro since the last time to what the routes have counted. */
void ring_brief_count(struct ring_brief *brief);

#endif
