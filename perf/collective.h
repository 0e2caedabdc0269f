/* SPDX-License-Identifier: MIT */
/*
 * The collectives as ring_perf sees them: how to call one, how large its buffers are, what a ring
 * must move and reduce for it. One row per collective; everything else asks the row.
 */
#ifndef PERF_COLLECTIVE_H
#define PERF_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringccl.h"
#include "types.h"

struct perf_call;

/* What each rank does in a ring of n, as multiples of the call's bytes, and the hops in a row. */
struct perf_work {
	double sent, reduced, copied;
	int hops;
};

struct perf_collective {
	const char *name;
	bool reduces;  /* has an operation                                              */
	bool rooted;   /* has a root                                                    */
	bool per_rank; /* count is one rank's part: one buffer holds size times as much */
	bool has_data;
	struct perf_work (*work)(int n);
	/* What ringccl.h says that a rank sends, given the next one on the ring. */
	uint64_t (*sent_bytes)(const struct perf_call *call, int rank, int next);
	int (*run)(struct ring_comm *comm, const struct perf_call *call, const void *send,
		   void *recv, struct ring_stream *stream);
};

/* One call's arguments, alike on all ranks. */
struct perf_call {
	const struct perf_collective *collective;
	const struct perf_type *type;
	enum ring_op op;
	int root;
	int size;     /* of the communicator */
	size_t count; /* as the collective takes it */
	size_t bytes; /* of the whole vector: the size column */
};

enum { PERF_COLLECTIVES = 5 };
extern const struct perf_collective perf_collectives[PERF_COLLECTIVES];

/* Sets count and bytes of the call to what is nearest to `bytes`, at least one element per rank. */
void perf_call_set_bytes(struct perf_call *call, size_t bytes);

size_t perf_call_send_bytes(const struct perf_call *call);
size_t perf_call_recv_bytes(const struct perf_call *call);

/* Where the two buffers of an in-place call begin in the one that holds both. */
size_t perf_call_send_offset(const struct perf_call *call, int rank);
size_t perf_call_recv_offset(const struct perf_call *call, int rank);

/* First element of a rank's block when the vector is cut into `size` blocks; size is its end. */
size_t perf_call_block_start(const struct perf_call *call, int rank);

#endif
