/* SPDX-License-Identifier: MIT */
/*
 * One call's arguments and the arithmetic of its buffers.
 */
#ifndef PERF_CALL_H
#define PERF_CALL_H

#include "collective.h"
#include "types.h"

/* Alike on all ranks. */
struct perf_call {
	const struct perf_collective *collective;
	const struct perf_type *type;
	const struct perf_op *op;
	enum ring_op ring_op; /* as the library takes it */
	int root;
	int size;     /* of the communicator */
	size_t count; /* as the collective takes it */
	size_t bytes; /* of the whole vector: the size column */
};

bool perf_call_is(const struct perf_call *call, enum perf_trait trait);

/* Sets count and bytes of the call to what is nearest to `bytes`, at least one element per rank. */
void perf_call_set_bytes(struct perf_call *call, size_t bytes);

/*
 * Where a part of the vector begins, in elements; that of `size` is the end of the last one. Uneven
 * parts are as long as their numbers say, after a first one without elements: nccl-tests' alltoallv
 * spreads its bytes so.
 */
size_t perf_call_part_start(const struct perf_call *call, int part);
size_t perf_call_part_count(const struct perf_call *call, int part);
size_t perf_call_part_bytes(const struct perf_call *call, int part);

/* Which part goes from a rank to another in a call where every rank sends to every rank. */
int perf_call_part_between(const struct perf_call *call, int from, int to);

/* Bytes of a rank's input and of its result; 0 if it has none. */
size_t perf_call_send_bytes(const struct perf_call *call, int rank);
size_t perf_call_recv_bytes(const struct perf_call *call, int rank);

/* Where the two buffers of an in-place call begin in the one that holds both. */
size_t perf_call_send_offset(const struct perf_call *call, int rank);
size_t perf_call_recv_offset(const struct perf_call *call, int rank);

/* First element of a rank's block when the vector is cut into `size` blocks; size is its end. */
size_t perf_call_block_start(const struct perf_call *call, int rank);

/* Names for people and files: "none" if the call has no type or no operation. */
const char *perf_call_type_name(const struct perf_call *call);
const char *perf_call_op_name(const struct perf_call *call);
int perf_call_root(const struct perf_call *call); /* -1 if it has none */

#endif
