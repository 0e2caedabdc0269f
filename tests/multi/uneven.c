/* SPDX-License-Identifier: MIT */
/* Calls with uneven parts, made and computed; see uneven.h. */
#include "uneven.h"

#include <stdio.h>
#include <string.h>

#include "tests/harness.h"

#define GAP 3 /* elements between parts that are placed */

static const char *const names[UNEVEN_KINDS] = {
	[REDUCE_SCATTERV] = "reduce_scatterv",
	[ALL_GATHERV] = "all_gatherv",
	[GATHERV] = "gatherv",
	[SCATTERV] = "scatterv",
	[ALL_TO_ALLV] = "all_to_allv",
};

const char *uneven_text(const struct uneven *uneven, char *text)
{
	snprintf(text, CALL_TEXT,
		 "%s of parts of up to %zu elements, type %d, op %d, root %d, seed %llu%s",
		 names[uneven->kind], uneven->most, (int)uneven->type, (int)uneven->op,
		 uneven->root, (unsigned long long)uneven->seed, uneven->placed ? ", placed" : "");
	return text;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static bool has_parts_in(const struct uneven *uneven)
{
	return uneven->kind == REDUCE_SCATTERV || uneven->kind == SCATTERV ||
	       uneven->kind == ALL_TO_ALLV;
}

static bool has_parts_out(const struct uneven *uneven)
{
	return uneven->kind == ALL_GATHERV || uneven->kind == GATHERV || uneven->kind == ALL_TO_ALLV;
}

/* A third is empty, a third as long as may be. What comes from one, or goes to one, is the same for all. */
size_t uneven_part(const struct uneven *uneven, int from, int to)
{
	uint64_t state = uneven->seed * 8191;
	state += has_parts_out(uneven) ? (uint64_t)from * 131 + 1 : 0;
	state += has_parts_in(uneven) ? (uint64_t)to * 17 + 1 : 0;
	uint64_t chance = harness_random(&state) % 3;
	if (chance == 0)
		return 0;
	return chance == 1 ? uneven->most : harness_random(&state) % (uneven->most + 1);
}

static bool flows(const struct uneven *uneven, int from, int to)
{
	return (uneven->kind != SCATTERV || from == uneven->root) &&
	       (uneven->kind != GATHERV || to == uneven->root);
}

/* Parts before, of a buffer with a part for each rank: from the last one backwards if they are placed. */
static bool is_before(const struct uneven *uneven, int other, int rank)
{
	return uneven->placed ? other > rank : other < rank;
}

size_t uneven_send_begin(const struct uneven *uneven, int rank, int to)
{
	size_t begin = 0;
	for (int other = 0; has_parts_in(uneven) && other < uneven->size; other++)
		if (is_before(uneven, other, to))
			begin += uneven_part(uneven, rank, other) + (uneven->placed ? GAP : 0);
	return begin;
}

size_t uneven_recv_begin(const struct uneven *uneven, int rank, int from)
{
	size_t begin = 0;
	for (int other = 0; has_parts_out(uneven) && other < uneven->size; other++)
		if (is_before(uneven, other, from))
			begin += uneven_part(uneven, other, rank) + (uneven->placed ? GAP : 0);
	return begin;
}

size_t uneven_send_length(const struct uneven *uneven, int rank)
{
	size_t length = 0;
	for (int to = 0; to < uneven->size; to++) {
		size_t end = uneven_send_begin(uneven, rank, to) + uneven_part(uneven, rank, to);
		if (flows(uneven, rank, to) && length < end)
			length = end;
	}
	return length;
}

size_t uneven_recv_length(const struct uneven *uneven, int rank)
{
	size_t length = 0;
	for (int from = 0; from < uneven->size; from++) {
		size_t end = uneven_recv_begin(uneven, rank, from) + uneven_part(uneven, from, rank);
		if (flows(uneven, from, rank) && length < end)
			length = end;
	}
	return length;
}

size_t uneven_length_most(const struct uneven *uneven)
{
	return (size_t)uneven->size * (uneven->most + GAP);
}

/* ---- making ---------------------------------------------------------------------------------- */

/* What the call is given. Counts that it must not look at are NULL, and so are begins in rank order. */
struct lists {
	size_t send[CALL_RANKS_MAX], send_at[CALL_RANKS_MAX];
	size_t recv[CALL_RANKS_MAX], recv_at[CALL_RANKS_MAX];
};

static void list_parts(const struct uneven *uneven, int rank, struct lists *lists)
{
	for (int other = 0; other < uneven->size; other++) {
		lists->send[other] = uneven_part(uneven, rank, other);
		lists->send_at[other] = uneven_send_begin(uneven, rank, other);
		lists->recv[other] = uneven_part(uneven, other, rank);
		lists->recv_at[other] = uneven_recv_begin(uneven, rank, other);
	}
}

int uneven_make(struct ring_comm *comm, const struct uneven *uneven, const void *send, void *recv,
		struct ring_stream *stream)
{
	const int rank = ring_comm_rank(comm), root = uneven->root;
	const enum ring_datatype type = uneven->type;
	struct lists lists;
	list_parts(uneven, rank, &lists);
	const size_t *send_at = uneven->placed ? lists.send_at : NULL;
	const size_t *recv_at = uneven->placed ? lists.recv_at : NULL;
	bool is_root = rank == root;
	switch (uneven->kind) {
	case REDUCE_SCATTERV:
		return ring_reduce_scatterv(comm, send, recv, lists.send, type, uneven->op, stream);
	case ALL_GATHERV:
		return ring_all_gatherv(comm, send, recv, lists.recv, recv_at, type, stream);
	case GATHERV:
		return ring_gatherv(comm, send, lists.send[root], recv, is_root ? lists.recv : NULL,
				    is_root ? recv_at : NULL, type, root, stream);
	case SCATTERV:
		return ring_scatterv(comm, send, is_root ? lists.send : NULL,
				     is_root ? send_at : NULL, recv, lists.recv[root], type, root,
				     stream);
	default:
		return ring_all_to_allv(comm, send, lists.send, send_at, recv, lists.recv, recv_at,
					type, stream);
	}
}

/* ---- results --------------------------------------------------------------------------------- */

bool uneven_replay(const struct uneven *uneven, const struct call_way *way, int rank, size_t index,
		   const void *const inputs[], void *result)
{
	const struct call sum = {
		.kind = REDUCE, .type = uneven->type, .op = uneven->op, .root = rank};
	const size_t bytes = element_bytes(uneven->type);
	if (uneven->kind == REDUCE_SCATTERV) {
		index += uneven_send_begin(uneven, rank, rank);
		call_replay(&sum, way, rank, index, inputs, result);
		return true;
	}
	for (int from = 0; from < uneven->size; from++) {
		size_t begin = uneven_recv_begin(uneven, rank, from);
		if (!flows(uneven, from, rank) || index < begin ||
		    index >= begin + uneven_part(uneven, from, rank))
			continue;
		size_t at = uneven_send_begin(uneven, from, rank) + index - begin;
		memcpy(result, (const char *)inputs[from] + at * bytes, bytes);
		return true;
	}
	return false;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

uint64_t uneven_sent_bytes(const struct uneven *uneven, const struct call_way *way, int position)
{
	const int self = way->order[position], next = way->order[(position + 1) % way->size];
	bool around = uneven->kind == ALL_GATHERV && way->algorithm == BY_RING;
	uint64_t elements = 0;
	for (int rank = 0; rank < way->size; rank++) {
		if (around)
			elements += rank == next ? 0 : uneven_part(uneven, rank, self);
		else if (rank != self && flows(uneven, self, rank))
			elements += uneven_part(uneven, self, rank);
	}
	return elements * element_bytes(uneven->type);
}

uint64_t uneven_received_bytes(const struct uneven *uneven, const struct call_way *way, int position)
{
	const int self = way->order[position];
	uint64_t elements = 0;
	if (uneven->kind == REDUCE_SCATTERV && way->algorithm == BY_RING)
		return uneven_sent_bytes(uneven, way, (position + way->size - 1) % way->size);
	for (int rank = 0; rank < way->size; rank++)
		if (rank != self && flows(uneven, rank, self))
			elements += uneven_part(uneven, rank, self);
	return elements * element_bytes(uneven->type);
}
