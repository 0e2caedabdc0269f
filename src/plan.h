/* SPDX-License-Identifier: MIT */
/*
 * The plan: a schedule as pure functions. Whoever wants to know which bytes move when asks here: the
 * engine, the simulator, the tests, later the CUDA kernels. Nothing here does anything.
 *
 * A plan is what one rank does on one channel during one call: two sequences, each in index order.
 *
 *	outgoing(i)   send `source` to `peer`,                    once `needs` incoming entries
 *	incoming(j)   what to do with the next message of `peer`,  once `needs` outgoing entries
 *								    are complete
 *
 * `needs` counts entries of the *other* sequence; that one number is the whole language of
 * dependencies. An outgoing entry is complete when its source may change again, an incoming one when
 * its result is in place. Entries of no bytes move nothing and are skipped at both ends, except SIGNAL.
 *
 * Places are names and offsets, not addresses, so a plan can be printed and compared.
 *
 * Each algorithm is a row: a header that fills in these functions (plan_ring.h), an entry in
 * RING_ALGORITHM_LIST, and a case in the four switches below.
 */
#ifndef RING_PLAN_H
#define RING_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define RING_PURE static inline __host__ __device__
#else
#define RING_PURE static inline
#endif

/* What is asked for. */
enum ring_kind {
	RING_KIND_ALL_REDUCE,
	RING_KIND_REDUCE_SCATTER,
	RING_KIND_ALL_GATHER,
	RING_KIND_BROADCAST,
	RING_KIND_BARRIER,
};

#define RING_ALGORITHM_LIST(X) X(RING_ALGORITHM_RING, "ring")

enum ring_algorithm {
#define RING_ALGORITHM_ENUM(name, text) name,
	RING_ALGORITHM_LIST(RING_ALGORITHM_ENUM)
#undef RING_ALGORITHM_ENUM
};

enum ring_buffer { RING_INPUT, RING_OUTPUT, RING_SCRATCH, RING_PEER_INPUT, RING_PEER_OUTPUT };

enum ring_action {
	RING_SEND,   /* outgoing: source goes to peer                                    */
	RING_SIGNAL, /* both: the entry record and no payload; incoming compares it      */
	RING_COPY,   /* incoming: result = message; from oneself: result = source        */
	RING_REDUCE, /* incoming: result = source op message                             */
};

struct ring_place {
	enum ring_buffer buffer;
	uint64_t offset; /* bytes */
};

/* One entry of either sequence. */
struct ring_transfer {
	enum ring_action action;
	int peer; /* rank, may be this one */
	struct ring_place source, result;
	uint64_t bytes;
	uint64_t needs;
	bool last; /* REDUCE: the last addition, where an average is divided */
	int step;  /* for people: traces and error sentences */
};

/* What a plan is made of; all ranks fill in the same, but for position and channel. */
struct ring_plan_params {
	enum ring_kind kind;
	enum ring_algorithm algorithm;
	int size, position;
	const int *order; /* order[size]: position -> rank; outlives the plan */
	int root;         /* rank; BROADCAST only */
	uint64_t count; /* elements: of the vector (ALL_REDUCE, BROADCAST), of one part (the others) */
	uint32_t element_bytes;
	uint64_t chunk_bytes; /* largest message */
	int chunks_per_round;
	int channel, channels; /* this channel of so many */
};

struct ring_plan {
	struct ring_plan_params params;
	uint64_t block, longer_blocks; /* ALL_REDUCE: elements of a block; so many have one more */
	int next, prev;                /* ranks */
	uint64_t chunk;          /* elements of a chunk                                      */
	uint64_t chunks, rounds; /* chunks of a block in each round; rounds                  */
	uint64_t signals;        /* entries that both sequences begin with                   */
	int first, steps;        /* the ring's steps that this kind walks: [first, first+steps) */
	uint64_t scratch_chunks; /* chunks that may be reduced and not yet sent              */
	uint64_t outgoing, incoming; /* entries of the two sequences */
};

/* Steps and bytes of one rank on one channel. */
struct ring_plan_cost {
	uint64_t steps;      /* messages that must follow one another, entry records apart */
	uint64_t sent_bytes; /* payload */
};

/* Share `index` of `count` elements among `parts`; shares differ by at most one, longer first. */
RING_PURE uint64_t ring_share_begin(uint64_t count, uint64_t parts, uint64_t index)
{
	uint64_t rest = count % parts;
	return count / parts * index + (index < rest ? index : rest);
}

RING_PURE uint64_t ring_share_length(uint64_t count, uint64_t parts, uint64_t index)
{
	return count / parts + (index < count % parts);
}

#include "plan_ring.h"

RING_PURE struct ring_plan ring_plan_make(const struct ring_plan_params *params)
{
	switch (params->algorithm) {
	case RING_ALGORITHM_RING:
		break;
	}
	return ring_ring_make(params);
}

/* i < plan->outgoing */
RING_PURE struct ring_transfer ring_plan_outgoing(const struct ring_plan *plan, uint64_t i)
{
	switch (plan->params.algorithm) {
	case RING_ALGORITHM_RING:
		break;
	}
	return ring_ring_outgoing(plan, i);
}

/* j < plan->incoming */
RING_PURE struct ring_transfer ring_plan_incoming(const struct ring_plan *plan, uint64_t j)
{
	switch (plan->params.algorithm) {
	case RING_ALGORITHM_RING:
		break;
	}
	return ring_ring_incoming(plan, j);
}

RING_PURE struct ring_plan_cost ring_plan_cost(const struct ring_plan *plan)
{
	switch (plan->params.algorithm) {
	case RING_ALGORITHM_RING:
		break;
	}
	return ring_ring_cost(plan);
}

/* Bytes of scratch memory the plan uses. */
RING_PURE uint64_t ring_plan_scratch_bytes(const struct ring_plan *plan)
{
	return plan->scratch_chunks * plan->chunk * plan->params.element_bytes;
}

/* True if the entry is a message on a link (not nothing, and not to oneself). */
RING_PURE bool ring_transfer_is_message(const struct ring_transfer *transfer, int self)
{
	return transfer->peer != self && (transfer->bytes > 0 || transfer->action == RING_SIGNAL);
}

#endif
