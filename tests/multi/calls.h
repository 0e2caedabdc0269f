/* SPDX-License-Identifier: MIT */
/*
 * Calls as data, for tests: made, described, measured, and computed a second time without the library.
 * What is computed here is written from ringccl.h alone.
 */
#ifndef CALLS_H
#define CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringccl.h"
#include "tests/multi/elements.h"

/* The collectives with buffers come first, then the barrier, then what concerns one pair of ranks. */
enum call_kind {
	ALL_REDUCE,
	REDUCE_SCATTER,
	ALL_GATHER,
	BROADCAST,
	REDUCE,
	GATHER,
	SCATTER,
	ALL_TO_ALL,
	BARRIER,
	SEND,
	RECV,
};
#define CALL_COLLECTIVES (BARRIER + 1)

struct call {
	enum call_kind kind;
	size_t count; /* as the call takes it: of a part where there are parts */
	enum ring_datatype type;
	enum ring_op op;
	int root;                     /* of SEND and RECV the peer */
	const unsigned char *scalars; /* of a pre-multiplied sum, an element per rank; else NULL */
};

#define CALL_RANKS_MAX 64

const char *call_kind_name(enum call_kind kind);
bool call_kind_reduces(enum call_kind kind);
bool call_kind_has_root(enum call_kind kind);

/* "all_reduce of 17 elements, type 7, op 0, root 0": returns text */
#define CALL_TEXT 128
const char *call_text(const struct call *call, char *text);

/* Bytes of the buffers of a rank that reads or writes them; 0 if none does. */
size_t call_send_bytes(const struct call *call, int size);
size_t call_recv_bytes(const struct call *call, int size);

/* Whether `rank` does; where not, the pointer may be NULL. */
bool call_reads_send(const struct call *call, int rank);
bool call_writes_recv(const struct call *call, int rank);

/*
 * Where in one piece of memory, long enough for the larger of them, send and recv begin when the call
 * is made in place. returns false if there is no such form
 */
bool call_place(const struct call *call, int rank, size_t *send, size_t *recv);

int call_make(struct ring_comm *comm, const struct call *call, const void *send, void *recv,
	      struct ring_stream *stream);

/* What carries a call, as ring_options.algorithm names it. */
enum call_algorithm { BY_RING, BY_STRIDE, BY_ONE_SHOT, BY_TWO_SHOT, DIRECTLY, BY_TREE };

/* On what the bytes and bits of a call depend. */
struct call_way {
	int size;
	const int *order; /* order[position] == rank */
	enum call_algorithm algorithm;
};

/* Payload bytes that the rank at `position` counts. */
uint64_t call_sent_bytes(const struct call *call, const struct call_way *way, int position);
uint64_t call_received_bytes(const struct call *call, const struct call_way *way, int position);

/* Whether the result is the same on all ranks that receive one. */
bool call_has_one_result(const struct call *call);

/*
 * Element `index` of what `rank` receives from a collective; inputs[rank] is that rank's send. A sum
 * is added from the position after its owner's around the ring to the owner: in shots and directly,
 * all at once.
 */
void call_replay(const struct call *call, const struct call_way *way, int rank, size_t index,
		 const void *const inputs[], void *result);

#endif
