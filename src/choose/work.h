/* SPDX-License-Identifier: MIT */
/*
 * The work of a call, counted from its plan; the cost model (model.h) has the prices. A pure
 * function, like the plan.
 */
#ifndef RING_WORK_H
#define RING_WORK_H

#include "question.h"

struct ring_work {
	uint64_t hops;      /* messages that follow one another */
	uint64_t exchanges; /* times that all ranks look at one another's boards, and do no more */
	uint64_t first;     /* bytes of a chunk, for each rank that hands it on */
	uint64_t passing;   /* ... for each of them but root: the wire is busy before it comes */
	uint64_t added;     /* bytes that these read and write to add it up */
	uint64_t lead; /* bytes of messages that a rank does nothing beside but wait for them */

	/* of a ring whose blocks are longer than a chunk: they go around in rounds; else 0 */
	uint64_t steps;  /* of a round */
	uint64_t rounds; /* full ones */
	uint64_t round;  /* bytes of each step of a full round */
	uint64_t rest;   /* ... of the last round, if it is not full */
	uint64_t piece;  /* bytes of a step that the next one waits for */

	/* of this rank */
	uint64_t waits;    /* times that it must wait for others */
	uint64_t messages; /* sent and received */
	uint64_t sheets;   /* boards of others that it reads */
	uint64_t touched;  /* bytes that it reads and writes, also in slots */
	uint64_t moved;    /* bytes that sockets take from it and give it */
	uint64_t reaches;  /* system calls that copy from or to a peer's memory */
	uint64_t fetched;  /* their bytes */
	uint64_t wire;     /* bytes that it sends, or receives if they are more */
};

/*
 * For the rank at params->position. What a plan cuts into chunks is counted as one piece, and the
 * messages from its bytes: some 2n entries, however long the vector is. What stays on a rank is not
 * counted: in place it is nothing, else any algorithm copies it.
 *
 * memory  whose buffers are, for plans that reach into it
 */
struct ring_work ring_work_of(const struct ring_plan_params *params, enum ring_memory memory);

#endif
