/* SPDX-License-Identifier: MIT */
/*
 * The collectives as ring_perf sees them: how to call one, what its buffers hold, how much it moves
 * and reduces, and what its result is. One row per collective; everything else asks the row.
 */
#ifndef PERF_COLLECTIVE_H
#define PERF_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringccl.h"

struct perf_call;

/* What the busiest of n ranks does, as multiples of the call's bytes, and the hops in a row. */
struct perf_work {
	double sent, reduced, copied;
	int hops;
};

/* Elements of a result that have one origin. */
struct perf_stretch {
	int origin;   /* the rank of that input; if reduced, the rank of the last addition */
	size_t first; /* where they begin in that input */
	size_t count;
};

/* What carries calls. The names are those in ringccl.h's struct ring_carried. */
enum perf_algorithm {
	PERF_RING,
	PERF_ONE_SHOT,
	PERF_STRIDE,
	PERF_TWO_SHOT,
	PERF_BRUCK,
	PERF_STAGED,
	PERF_DIRECT,
	PERF_TREE,
	PERF_PAIR,
	PERF_ALGORITHMS
};
extern const char *const perf_algorithms[PERF_ALGORITHMS];

/* The algorithm of that name; PERF_ALGORITHMS if there is none. */
enum perf_algorithm perf_algorithm_find(const char *name);

/*
 * How many positions of the ring lie between two additions on the way to a block's owner: 1 to
 * size.
 */
int perf_algorithm_stride(enum perf_algorithm algorithm, int size);

/* A rank that takes part in a call. */
struct perf_sender {
	enum perf_algorithm algorithm;
	const int *order; /* position -> rank */
	int position;
};

enum perf_trait {
	PERF_DATA = 1 << 0,           /* has elements                                     */
	PERF_REDUCES = 1 << 1,        /* has an operation                                 */
	PERF_ROOTED = 1 << 2,         /* has a root                                       */
	PERF_PER_RANK = 1 << 3,       /* count is one rank's part, the vector has `size` parts */
	PERF_SENDS_PART = 1 << 4,     /* the input is such a part                         */
	PERF_RECEIVES_PART = 1 << 5,  /* the result is such a part                        */
	PERF_ROOT_SENDS = 1 << 6,     /* only the root has an input                       */
	PERF_ROOT_RECEIVES = 1 << 7,  /* only the root has a result                       */
	PERF_RESULTS_DIFFER = 1 << 8, /* else all results are equal                       */
	PERF_BOTH_PLACES = 1 << 9,    /* out of place and in place */
	PERF_UNEVEN = 1 << 10,        /* parts differ in length */
};

struct perf_collective {
	const char *name;
	const char *test; /* nccl-tests' name, without "_perf" */
	unsigned traits;  /* of enum perf_trait                */
	struct perf_work (*work)(int n);
	/* The bytes that a rank sends by ringccl.h. */
	uint64_t (*sent_bytes)(const struct perf_call *call, const struct perf_sender *sender);
	/* The i-th stretch of what a rank receives. */
	struct perf_stretch (*stretch)(const struct perf_call *call, int rank, int i);
	int (*run)(struct ring_comm *comm, const struct perf_call *call, const void *send,
		   void *recv, struct ring_stream *stream);
};

enum { PERF_COLLECTIVES = 15 };
extern const struct perf_collective perf_collectives[PERF_COLLECTIVES];

#endif
