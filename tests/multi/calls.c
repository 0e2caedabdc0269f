/* SPDX-License-Identifier: MIT */
/* Calls as data, and their results computed one element at a time. */
#include "calls.h"

#include <stdio.h>
#include <string.h>

/* How a kind's buffers look. */
struct shape {
	const char *name;
	bool send_parts, recv_parts; /* one part per rank; else one for all */
	bool has_root, reduces;
};

static const struct shape shapes[] = {
	[ALL_REDUCE] = {"all_reduce", false, false, false, true},
	[REDUCE_SCATTER] = {"reduce_scatter", true, false, false, true},
	[ALL_GATHER] = {"all_gather", false, true, false, false},
	[BROADCAST] = {"broadcast", false, false, true, false},
	[REDUCE] = {"reduce", false, false, true, true},
	[GATHER] = {"gather", false, true, true, false},
	[SCATTER] = {"scatter", true, false, true, false},
	[ALL_TO_ALL] = {"all_to_all", true, true, false, false},
	[BARRIER] = {"barrier", false, false, false, false},
	[SEND] = {"send", false, false, true, false},
	[RECV] = {"recv", false, false, true, false},
};

const char *call_kind_name(enum call_kind kind)
{
	return shapes[kind].name;
}

bool call_kind_reduces(enum call_kind kind)
{
	return shapes[kind].reduces;
}

bool call_kind_has_root(enum call_kind kind)
{
	return shapes[kind].has_root;
}

const char *call_text(const struct call *call, char *text)
{
	snprintf(text, CALL_TEXT, "%s of %zu elements, type %d, op %d%s, root %d",
		 call_kind_name(call->kind), call->count, (int)call->type, (int)call->op,
		 call->scalars ? " (pre-multiplied)" : "", call->root);
	return text;
}

/* ---- buffers --------------------------------------------------------------------------------- */

static size_t part_bytes(const struct call *call)
{
	return call->count * element_bytes(call->type);
}

size_t call_send_bytes(const struct call *call, int size)
{
	if (call->kind == BARRIER || call->kind == RECV)
		return 0;
	return part_bytes(call) * (shapes[call->kind].send_parts ? (size_t)size : 1);
}

size_t call_recv_bytes(const struct call *call, int size)
{
	if (call->kind == BARRIER || call->kind == SEND)
		return 0;
	return part_bytes(call) * (shapes[call->kind].recv_parts ? (size_t)size : 1);
}

bool call_reads_send(const struct call *call, int rank)
{
	bool root_alone = call->kind == BROADCAST || call->kind == SCATTER;
	return call->kind != BARRIER && call->kind != RECV && (!root_alone || rank == call->root);
}

bool call_writes_recv(const struct call *call, int rank)
{
	bool root_alone = call->kind == REDUCE || call->kind == GATHER;
	return call->kind != BARRIER && call->kind != SEND && (!root_alone || rank == call->root);
}

bool call_place(const struct call *call, int rank, size_t *send, size_t *recv)
{
	const struct shape *shape = &shapes[call->kind];
	size_t own = part_bytes(call) * (size_t)rank;
	*send = shape->recv_parts ? own : 0;
	*recv = shape->send_parts ? own : 0;
	return call->kind != ALL_TO_ALL;
}

int call_make(struct ring_comm *comm, const struct call *call, const void *send, void *recv,
	      struct ring_stream *stream)
{
	const size_t count = call->count;
	const enum ring_datatype type = call->type;
	switch (call->kind) {
	case ALL_REDUCE:
		return ring_all_reduce(comm, send, recv, count, type, call->op, stream);
	case REDUCE_SCATTER:
		return ring_reduce_scatter(comm, send, recv, count, type, call->op, stream);
	case ALL_GATHER:
		return ring_all_gather(comm, send, recv, count, type, stream);
	case BROADCAST:
		return ring_broadcast(comm, send, recv, count, type, call->root, stream);
	case REDUCE:
		return ring_reduce(comm, send, recv, count, type, call->op, call->root, stream);
	case GATHER:
		return ring_gather(comm, send, recv, count, type, call->root, stream);
	case SCATTER:
		return ring_scatter(comm, send, recv, count, type, call->root, stream);
	case ALL_TO_ALL:
		return ring_all_to_all(comm, send, recv, count, type, stream);
	case SEND:
		return ring_send(comm, send, count, type, call->root, stream);
	case RECV:
		return ring_recv(comm, recv, count, type, call->root, stream);
	default:
		return ring_barrier(comm, stream);
	}
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Elements [begin, end) of the vector that are reduced towards `rank`. */
static void find_block(const struct call *call, int size, int rank, size_t *begin, size_t *end)
{
	size_t n = (size_t)size, r = (size_t)rank;
	size_t longer = call->count % n; /* the first so many are one longer */
	*begin = call->count / n * r + (r < longer ? r : longer);
	*end = *begin + call->count / n + (r < longer);
}

static uint64_t block_bytes(const struct call *call, int size, int rank)
{
	size_t begin, end;
	find_block(call, size, rank, &begin, &end);
	return (end - begin) * element_bytes(call->type);
}

/*
 * How far a sum goes at once, in positions of the ring: to the next one, or to the last. Of strides it is the longest
 * for which a rank sends fewest messages: one to each rank less far ahead, and one for each stride.
 */
static int stride_of(const struct call_way *way)
{
	int n = way->size, best = n;
	for (int m = n; m > 0; m--)
		if (m + (n - 1) / m < best + (n - 1) / best)
			best = m;
	return way->algorithm == BY_RING ? 1 : way->algorithm == BY_STRIDE ? best : n;
}

/* Every block but its own, and results of ranks whole strides ahead, to all up to a stride back; a ring sends them on. */
static uint64_t all_reduce_sent_bytes(const struct call *call, const struct call_way *way,
				      int position)
{
	const int n = way->size, m = stride_of(way);
	uint64_t bytes = 0;
	for (int away = 0; away < n; away++) {
		int owner = way->algorithm == BY_RING ? position + n - away : position + away;
		uint64_t block = block_bytes(call, n, way->order[owner % n]);
		int ahead = n - 1 - away < m ? n - 1 - away : m;
		bytes += (uint64_t)((away > 0) + (away % m == 0 ? ahead : 0)) * block;
	}
	return bytes;
}

/* ... of those whole strides ahead, from all up to a stride behind, and the result of every other. */
static uint64_t all_reduce_received_bytes(const struct call *call, const struct call_way *way,
					  int position)
{
	const int n = way->size, m = stride_of(way);
	uint64_t bytes = 0;
	for (int away = 0; away < n; away++) {
		uint64_t block = block_bytes(call, n, way->order[(position + away) % n]);
		int behind = n - 1 - away < m ? n - 1 - away : m;
		bytes += (uint64_t)((away > 0) + (away % m == 0 ? behind : 0)) * block;
	}
	return bytes;
}

static uint64_t shot_sent_bytes(const struct call *call, const struct call_way *way, int rank)
{
	uint64_t bytes = part_bytes(call), others = (uint64_t)(way->size - 1);
	bool is_root = rank == call->root;
	switch (call->kind) {
	case BROADCAST:
	case SCATTER:
		return is_root ? others * bytes : 0;
	case REDUCE:
	case GATHER:
		return is_root ? 0 : bytes;
	default:
		return others * bytes;
	}
}

static uint64_t shot_received_bytes(const struct call *call, const struct call_way *way, int rank)
{
	uint64_t bytes = part_bytes(call), others = (uint64_t)(way->size - 1);
	bool is_root = rank == call->root;
	switch (call->kind) {
	case BROADCAST:
	case SCATTER:
		return is_root ? 0 : bytes;
	case REDUCE:
	case GATHER:
		return is_root ? others * bytes : 0;
	default: /* as much as is sent */
		return shot_sent_bytes(call, way, rank);
	}
}

/* What the others read here and what is written there; of most kinds as much as in one shot. */
static uint64_t direct_sent_bytes(const struct call *call, const struct call_way *way, int rank)
{
	uint64_t bytes = part_bytes(call), block = block_bytes(call, way->size, rank);
	if (call->kind == REDUCE) /* each reads its block everywhere and writes it to root */
		return rank == call->root ? bytes - block : bytes;
	return shot_sent_bytes(call, way, rank);
}

static uint64_t direct_received_bytes(const struct call *call, const struct call_way *way, int rank)
{
	uint64_t bytes = part_bytes(call), others = (uint64_t)(way->size - 1);
	uint64_t block = block_bytes(call, way->size, rank);
	bool is_root = rank == call->root;
	switch (call->kind) {
	case REDUCE:
		return (is_root ? bytes - block : 0) + others * block;
	default:
		return shot_received_bytes(call, way, rank);
	}
}

static uint64_t ring_sent_bytes(const struct call *call, const struct call_way *way, int position)
{
	uint64_t bytes = part_bytes(call), others = (uint64_t)(way->size - 1);
	int rank = way->order[position], next = way->order[(position + 1) % way->size];
	switch (call->kind) {
	case BROADCAST: /* the chain begins at root */
		return next == call->root ? 0 : bytes;
	case REDUCE:
		return rank == call->root ? 0 : bytes;
	default:
		return others * bytes;
	}
}

/* Of a tree's places, those that become this one once so many of their lowest bits are taken away: its descendants. */
static int tree_descendants(int size, int place, int generations)
{
	int found = 0;
	for (int other = place + 1; other < size; other++) {
		int above = other;
		for (int i = 0; i < generations && above != place; i++)
			above &= above - 1;
		found += above == place;
	}
	return found;
}

/* A broadcast's bytes to each child; a sum's too, and all but root send inputs up, their own and all from below. */
static uint64_t tree_sent_bytes(const struct call *call, const struct call_way *way, int position)
{
	bool sums = call->kind == ALL_REDUCE;
	int root = 0;
	while (!sums && way->order[root] != call->root)
		root++;
	int place = (position + way->size - root) % way->size;
	int vectors = tree_descendants(way->size, place, 1);
	if (sums && place > 0)
		vectors += 1 + tree_descendants(way->size, place, way->size);
	return (uint64_t)vectors * part_bytes(call);
}

/* All inputs from below, and from above what is the same for all. */
static uint64_t tree_received_bytes(const struct call *call, const struct call_way *way,
				    int position)
{
	int vectors = 0;
	if (call->kind == ALL_REDUCE)
		vectors = tree_descendants(way->size, position, way->size) + (position > 0);
	else
		vectors = way->order[position] != call->root;
	return (uint64_t)vectors * part_bytes(call);
}

uint64_t call_sent_bytes(const struct call *call, const struct call_way *way, int position)
{
	if (way->algorithm == BY_TREE)
		return tree_sent_bytes(call, way, position);
	if (call->kind == ALL_REDUCE && way->algorithm != BY_ONE_SHOT)
		return all_reduce_sent_bytes(call, way, position);
	if (way->algorithm == BY_RING)
		return ring_sent_bytes(call, way, position);
	if (way->algorithm == DIRECTLY)
		return direct_sent_bytes(call, way, way->order[position]);
	return shot_sent_bytes(call, way, way->order[position]);
}

uint64_t call_received_bytes(const struct call *call, const struct call_way *way, int position)
{
	if (way->algorithm == BY_TREE)
		return tree_received_bytes(call, way, position);
	if (call->kind == ALL_REDUCE && way->algorithm != BY_ONE_SHOT)
		return all_reduce_received_bytes(call, way, position);
	if (way->algorithm == BY_RING)
		return ring_sent_bytes(call, way, (position + way->size - 1) % way->size);
	if (way->algorithm == DIRECTLY)
		return direct_received_bytes(call, way, way->order[position]);
	return shot_received_bytes(call, way, way->order[position]);
}

/* ---- results --------------------------------------------------------------------------------- */

bool call_has_one_result(const struct call *call)
{
	return !shapes[call->kind].send_parts;
}

/* The position to which element `index` of the whole vector is reduced. */
static int owner_position(const struct call *call, const struct call_way *way, size_t index)
{
	for (int position = 0; position < way->size; position++) {
		int rank = way->order[position];
		size_t begin = call->count * (size_t)rank, end = begin + call->count;
		if (call->kind == REDUCE && rank == call->root)
			return position;
		if (call->kind == ALL_REDUCE)
			find_block(call, way->size, rank, &begin, &end);
		if (call->kind != REDUCE && index >= begin && index < end)
			return position;
	}
	return 0;
}

/* Element `index` of the whole vector, added along the ring hop by hop; scaled first, if that is asked for. */
static void reduce_scaled(const struct call *call, const struct call_way *way, size_t index,
			  const void *const inputs[], void *result)
{
	const int n = way->size, owner = owner_position(call, way, index);
	size_t bytes = element_bytes(call->type);
	for (int step = 1; step <= n; step++) {
		int rank = way->order[(owner + step) % n];
		const char *mine = (const char *)inputs[rank] + index * bytes;
		int divisor = call->op == RING_AVG && step == n ? n : 1;
		const void *scalar = call->scalars ? call->scalars + (size_t)rank * bytes : NULL;
		if (step == 1 && scalar)
			element_scale(call->type, scalar, mine, result);
		else if (step == 1)
			memcpy(result, mine, bytes);
		else if (scalar)
			element_add_scaled(call->type, result, scalar, mine, result);
		else
			element_reduce(call->type, call->op, result, mine, divisor, result);
	}
}

/* ... stride by stride: first the inputs of the farthest ranks, then the sum and those of so many others. */
static void reduce(const struct call *call, const struct call_way *way, size_t index,
		   const void *const inputs[], void *result)
{
	const int n = way->size, m = stride_of(way), owner = owner_position(call, way, index);
	const void *sources[CALL_RANKS_MAX];
	unsigned char sum[ELEMENT_BYTES_MAX];
	int count = 0;
	for (int away = n - 1; away >= 0; away--) {
		int rank = way->order[(owner + n - away) % n];
		sources[count++] = (const char *)inputs[rank] + index * element_bytes(call->type);
		if (away % m > 0)
			continue;
		int divisor = call->op == RING_AVG && away == 0 ? n : 1;
		element_reduce_all(call->type, call->op, sources, count, divisor, result);
		memcpy(sum, result, element_bytes(call->type));
		sources[0] = sum;
		count = 1;
	}
}

void call_replay(const struct call *call, const struct call_way *way, int rank, size_t index,
		 const void *const inputs[], void *result)
{
	const struct shape *shape = &shapes[call->kind];
	size_t bytes = element_bytes(call->type);
	size_t at = index + (shape->send_parts ? call->count * (size_t)rank : 0);
	int from = call->root;
	if (shape->reduces) {
		(call->scalars ? reduce_scaled : reduce)(call, way, at, inputs, result);
		return;
	}
	if (shape->recv_parts) {
		from = (int)(index / call->count);
		at -= (size_t)from * call->count;
	}
	memcpy(result, (const char *)inputs[from] + at * bytes, bytes);
}
