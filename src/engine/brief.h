/* SPDX-License-Identifier: MIT */
/*
 * Fast path of a repeated small call over boards: its plan is known, and all its links are there.
 * It is said, heard and added up in one go; the engine takes over only if somebody is late. (8 B on
 * 2 ranks, by the engine -> this way: 0.096 -> 0.071 us.) Messages and bytes are counted only when
 * asked for.
 */
#ifndef RING_BRIEF_H
#define RING_BRIEF_H

#include "channel.h"

/* A peer that is told, or heard, and the payload to it, or from it. */
struct ring_brief_peer {
	struct ring_route *route;
	uint64_t messages, bytes;
	uint32_t sheet_bytes; /* what the peer writes on its board */
	uint32_t skip;        /* its bytes before what is taken */
};

/* All zero: such calls are the engine's. */
struct ring_brief {
	bool ready;
	struct ring_known_plan *known;
	struct ring_record record;
	uint64_t said_bytes; /* behind the record */
	bool light;          /* all doorbells are light (doorbell_words.h) */
	/* NULL unless adding up is all there is to do */
	const struct ring_pair_loops *loops;
	size_t elements;       /* of such a sum */
	uint64_t calls;        /* not counted yet */
	uint64_t tells, hears; /* their peers, as the plan may be another's by then */
	struct ring_brief_peer told[RING_KNOWN_OUTGOING], heard[RING_KNOWN_OUTGOING];
};

/*
 * Prepares for calls like the one that the channel has just carried out, if they are small and
 * their plan is kept, and if every rank that speaks also listens: then a rank that is done has
 * heard all others.
 */
void ring_brief_prepare(struct ring_brief *brief, struct ring_channel *channel);

/*
 * Makes such a call; the channel's last one must be done. returns 1; an error of the device; or 0
 * if this rank has said its part but not heard all: then ring_brief_resume(), and the engine
 */
int ring_brief_run(struct ring_brief *brief, struct ring_channel *channel,
		   const struct ring_operands *operands, uint64_t sequence);

/* Begins the call for the engine; this rank has said its part. */
void ring_brief_resume(struct ring_brief *brief, struct ring_channel *channel,
		       const struct ring_operands *operands);

/* Adds the messages and bytes since the last time to the routes' counters. */
void ring_brief_count(struct ring_brief *brief);

#endif
