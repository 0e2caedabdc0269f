/* SPDX-License-Identifier: MIT */
/*
 * Calls with uneven parts as data: made up from a seed, made, measured, and computed a second time
 * from ringccl.h alone. Some parts are empty, and some calls have them in another order than ranks,
 * with gaps.
 */
#ifndef UNEVEN_H
#define UNEVEN_H

#include "tests/multi/calls.h"

enum uneven_kind { REDUCE_SCATTERV, ALL_GATHERV, GATHERV, SCATTERV, ALL_TO_ALLV, UNEVEN_KINDS };

struct uneven {
	enum uneven_kind kind;
	enum ring_datatype type;
	enum ring_op op;
	int size, root;
	size_t most; /* elements of a part */
	bool placed; /* begins are given: parts lie backwards, with gaps; else NULL */
	uint64_t seed;
};

/* "all_gatherv of parts of up to 17 elements, type 7, op 0, root 0, seed 5, placed": returns text */
const char *uneven_text(const struct uneven *uneven, char *text);

/* Elements that go from rank to rank; and where one's send, or recv, has the part of the other. */
size_t uneven_part(const struct uneven *uneven, int from, int to);
size_t uneven_send_begin(const struct uneven *uneven, int rank, int to);
size_t uneven_recv_begin(const struct uneven *uneven, int rank, int from);

/* Elements of the buffers of a rank; 0: it has none. */
size_t uneven_send_length(const struct uneven *uneven, int rank);
size_t uneven_recv_length(const struct uneven *uneven, int rank);

/* The most that any of them has, for such a kind and size. */
size_t uneven_length_most(const struct uneven *uneven);

/* returns the call's error */
int uneven_make(struct ring_comm *comm, const struct uneven *uneven, const void *send, void *recv,
		struct ring_stream *stream);

/*
 * Whether element `index` of what `rank` receives belongs to a part; then it is computed:
 * inputs[rank] is that rank's send.
 */
bool uneven_replay(const struct uneven *uneven, const struct call_way *way, int rank, size_t index,
		   const void *const inputs[], void *result);

/* Payload bytes that the rank at `position` counts; around the ring, or straight. */
uint64_t uneven_sent_bytes(const struct uneven *uneven, const struct call_way *way, int position);
uint64_t uneven_received_bytes(const struct uneven *uneven, const struct call_way *way,
			       int position);

#endif
