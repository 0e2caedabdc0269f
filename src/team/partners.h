/* SPDX-License-Identifier: MIT */
/*
 * Ranks that can reach one another's memory: before a call begins, each tells all others where its
 * buffers lie. From that, all choose alike how the call is carried; and as all have told, all make
 * the same call.
 *
 *	first such call   linking    signals to and from everybody, so the links are there then
 *	                  proving    who can copy from and to others' memory? where are the stages?
 *	every such call   calling    where do the buffers of this call lie?
 *
 * Each is an exchange: ring_partners_tell() begins the next one, and when the channel is done with
 * it, ring_partners_heard() takes it in.
 */
#ifndef RING_PARTNERS_H
#define RING_PARTNERS_H

#include "engine/channel.h"
#include "engine/reached.h"
#include "plan/record.h"
#include "probe.h"
#include "stage.h"
#include "choose/tuning.h"

struct ring_call;
struct ring_comm_failure;
struct ring_comm_memory;
struct ring_pairs;
struct ring_team;

enum ring_partners_phase { RING_PARTNERS_LINKING, RING_PARTNERS_PROVING, RING_PARTNERS_CALLING };

/* What a rank knows of all others; arrays by rank. The rest is zero at first. */
struct ring_partners {
	const struct ring_team *team;
	struct ring_channel *mesh;       /* the first channel: its links go to all */
	struct ring_comm_memory *memory; /* what is lent */

	enum ring_partners_phase phase;
	bool reaches;   /* this rank copies from and to all others' private memory */
	bool all_reach; /* so does every rank */
	struct ring_known_plan signals; /* of every exchange */
	struct ring_reached reached;
	struct ring_stage stage;
	struct ring_probe probe; /* of the device whose memory calls are on */
	bool apart;              /* this exchange is about a device's memory */
	bool probing;            /* it is the probe's */
	bool probes;             /* all have such memory that others can open */
};

/* Begins the next exchange, on the first channel. returns 0; RING_ENOMEM */
int ring_partners_tell(struct ring_partners *partners, struct ring_pairs *pairs,
		       const struct ring_call *call);

/*
 * Begins one more, once all is told: each says what it likes, in the whereabouts. It is done with
 * the channel.
 */
void ring_partners_say(struct ring_partners *partners, const struct ring_record *record,
		       const struct ring_whereabouts *own);

/*
 * Takes in an exchange. returns 0: all is told; RING_EAGAIN: another one must follow; an error of
 * ring_stage_find(), and whose stage it was
 */
int ring_partners_heard(struct ring_partners *partners, int *peer);

/* Whose memory the buffers of the call are: the same answer on all ranks. */
enum ring_memory ring_partners_memory(const struct ring_partners *partners,
				      const struct ring_call *call);

/*
 * The first rank on each CPU, from the call's root on, as bits by places behind root: the same
 * answer on all ranks. 0: each rank has a CPU, or there are too many for the bits.
 */
uint64_t ring_partners_workers(const struct ring_partners *partners, int root);

/*
 * Finds everybody's buffers, for a direct plan. returns 0; what map() of transport.h returned, and
 * whose
 */
int ring_partners_reach(struct ring_partners *partners, const struct ring_call *call, int *peer);

/* The call is over: lets go of memory that peers have freed. */
void ring_partners_leave(const struct ring_partners *partners);

/* The same before any call: what peers' devices have lent is free only once it is closed. Cheap. */
static inline void ring_partners_tidy(const struct ring_partners *partners)
{
	if (partners->probe.phase != RING_PROBE_LENDING)
		ring_partners_leave(partners);
}

/*
 * The call has failed: from here on no peer writes to this rank's memory. Waits a while until those
 * that still do are done or dead; a stopped one is shut out, or named in the failure's sentence.
 *
 * settled  this rank's device is done, and writes to no peer's memory; else peers see that it may
 */
void ring_partners_fence(const struct ring_partners *partners, const struct ring_call *call,
			 struct ring_comm_failure *failure, bool settled);

/* Bytes that are held. */
size_t ring_partners_bytes(const struct ring_partners *partners);

void ring_partners_free(struct ring_partners *partners);

#endif
