/* SPDX-License-Identifier: MIT */
/*
 * Collective calls as data, for tests: made, described, measured, and computed a second time
 * without the library. The arithmetic here is written from ringccl.h alone and shares nothing with
 * the kernels.
 */
#ifndef CALLS_H
#define CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringccl.h"

enum call_kind { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, BARRIER };
#define CALL_KINDS 5

/* What this version reduces. */
#define CALL_TYPES 4
#define CALL_OPS 5
extern const enum ring_datatype call_types[CALL_TYPES];
extern const enum ring_op call_ops[CALL_OPS];

struct call {
	enum call_kind kind;
	size_t count; /* as the call takes it: of a part for REDUCE_SCATTER and ALL_GATHER */
	enum ring_datatype type;
	enum ring_op op;
	int root;
};

const char *call_kind_name(enum call_kind kind);
size_t call_element_bytes(enum ring_datatype type);
bool call_reduces(const struct call *call);

/* "all_reduce of 17 elements, type 7, op 0": returns text */
#define CALL_TEXT 128
const char *call_text(const struct call *call, char *text);

/* Bytes of the two buffers, and where the smaller one begins in the larger when in place. */
size_t call_send_bytes(const struct call *call, int size);
size_t call_recv_bytes(const struct call *call, int size);
size_t call_own_offset(const struct call *call, int rank);

int call_make(struct ring_comm *comm, const struct call *call, const void *send, void *recv,
	      struct ring_stream *stream);

/* Elements [begin, end) of the vector that are reduced towards `rank`. */
void call_block(const struct call *call, int size, int rank, size_t *begin, size_t *end);

/* Payload bytes that the rank at `position` sends; order[position] == rank. */
uint64_t call_sent_bytes(const struct call *call, int size, const int *order, int position);

/*
 * Element `index` of the reduced vector as the ring adds it: from the position after the owner's
 * around to the owner. inputs[rank] is that rank's whole vector.
 */
void call_replay(const struct call *call, int size, const int *order, size_t index,
		 const void *const inputs[], void *result);

/* One element from a small whole number, any alignment. */
void call_put(enum ring_datatype type, void *element, double value);

#endif
