/* SPDX-License-Identifier: MIT */
/* Small numbers in every type of NCCL's, each exactly, and what calls make of them. */
#ifndef VALUES_H
#define VALUES_H

#include <nccl.h>

#include <stddef.h>

#define TYPES ncclNumTypes
#define OPS ncclNumOps

enum kind {
	ALL_REDUCE,
	REDUCE,
	REDUCE_SCATTER,
	ALL_GATHER,
	BROADCAST,
	BCAST,
	GATHER,
	SCATTER,
	ALL_TO_ALL,
	EXCHANGE, /* a send to the next rank, a receive from the one before, in a group */
	KINDS,
};

extern const char *const type_names[TYPES], *const op_names[OPS], *const kind_names[KINDS];

size_t type_bytes(ncclDataType_t type);

/* Element i of what a rank gives: 1 or 2, so that sums, products and means of four are exact. */
double value_of(int rank, size_t i);

/* What a call is: all but what differs from rank to rank. */
struct call {
	enum kind kind;
	ncclDataType_t type;
	ncclRedOp_t op;
	int root, size;
	size_t count;
	double factor; /* of a pre-multiplied sum, for rank 0; rank r's is r + 1 times as large */
};

/* How many elements a rank's result has; 0: it gets none. */
size_t result_count(const struct call *call, int rank);

/* Writes `count` elements of an input, or of the result. */
void write_input(const struct call *call, int rank, size_t count, void *elements);
void write_result(const struct call *call, int rank, void *elements);

#endif
