/* SPDX-License-Identifier: MIT */
/* Collective calls as data, and their results computed one element at a time. */
#include "calls.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const enum ring_datatype call_types[CALL_TYPES] = {RING_FLOAT32, RING_BFLOAT16, RING_INT32,
						   RING_FLOAT64};
const enum ring_op call_ops[CALL_OPS] = {RING_SUM, RING_AVG, RING_MAX, RING_MIN, RING_PROD};

const char *call_kind_name(enum call_kind kind)
{
	static const char *const names[CALL_KINDS] = {"all_reduce", "reduce_scatter", "all_gather",
						      "broadcast", "barrier"};
	return names[kind];
}

size_t call_element_bytes(enum ring_datatype type)
{
	switch (type) {
	case RING_BFLOAT16:
		return 2;
	case RING_FLOAT64:
		return 8;
	default:
		return 4;
	}
}

bool call_reduces(const struct call *call)
{
	return call->kind == ALL_REDUCE || call->kind == REDUCE_SCATTER;
}

const char *call_text(const struct call *call, char *text)
{
	snprintf(text, CALL_TEXT, "%s of %zu elements, type %d, op %d, root %d",
		 call_kind_name(call->kind), call->count, (int)call->type, (int)call->op,
		 call->root);
	return text;
}

size_t call_send_bytes(const struct call *call, int size)
{
	size_t parts = call->kind == REDUCE_SCATTER ? (size_t)size : call->kind != BARRIER;
	return call->count * parts * call_element_bytes(call->type);
}

size_t call_recv_bytes(const struct call *call, int size)
{
	size_t parts = call->kind == ALL_GATHER ? (size_t)size : call->kind != BARRIER;
	return call->count * parts * call_element_bytes(call->type);
}

size_t call_own_offset(const struct call *call, int rank)
{
	bool in_parts = call->kind == REDUCE_SCATTER || call->kind == ALL_GATHER;
	return in_parts ? call->count * (size_t)rank * call_element_bytes(call->type) : 0;
}

int call_make(struct ring_comm *comm, const struct call *call, const void *send, void *recv,
	      struct ring_stream *stream)
{
	switch (call->kind) {
	case ALL_REDUCE:
		return ring_all_reduce(comm, send, recv, call->count, call->type, call->op, stream);
	case REDUCE_SCATTER:
		return ring_reduce_scatter(comm, send, recv, call->count, call->type, call->op,
					   stream);
	case ALL_GATHER:
		return ring_all_gather(comm, send, recv, call->count, call->type, stream);
	case BROADCAST:
		return ring_broadcast(comm, send, recv, call->count, call->type, call->root, stream);
	default:
		return ring_barrier(comm, stream);
	}
}

void call_block(const struct call *call, int size, int rank, size_t *begin, size_t *end)
{
	size_t n = (size_t)size, r = (size_t)rank;
	if (call->kind != ALL_REDUCE) {
		*begin = call->count * r;
		*end = *begin + call->count;
		return;
	}
	size_t longer = call->count % n; /* the first so many are one longer */
	*begin = call->count / n * r + (r < longer ? r : longer);
	*end = *begin + call->count / n + (r < longer);
}

uint64_t call_sent_bytes(const struct call *call, int size, const int *order, int position)
{
	uint64_t bytes = call->count * call_element_bytes(call->type);
	size_t begin, end, own, next;
	switch (call->kind) {
	case ALL_REDUCE:
		call_block(call, size, order[position], &begin, &end);
		own = end - begin;
		call_block(call, size, order[(position + 1) % size], &begin, &end);
		next = end - begin;
		return 2 * bytes - (own + next) * call_element_bytes(call->type);
	case REDUCE_SCATTER:
	case ALL_GATHER:
		return (uint64_t)(size - 1) * bytes;
	case BROADCAST:
		return order[(position + 1) % size] == call->root ? 0 : bytes;
	default:
		return 0;
	}
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static float bfloat16_value(uint16_t bits)
{
	uint32_t wide = (uint32_t)bits << 16;
	float value;
	memcpy(&value, &wide, sizeof(value));
	return value;
}

/* To nearest, ties to even: how far above the lower neighbour decides. */
static uint16_t bfloat16_bits(float value)
{
	uint32_t wide;
	memcpy(&wide, &value, sizeof(wide));
	if (isnan(value))
		return 0x7fc0;
	uint16_t lower = (uint16_t)(wide >> 16);
	uint32_t above = wide & 0xffff;
	bool up = above > 0x8000 || (above == 0x8000 && (lower & 1));
	return (uint16_t)(lower + up);
}

static double pick(enum ring_op op, double a, double b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	if (a == b) /* zeros of either sign are equal, but -0 is less */
		return signbit(a) == (op == RING_MIN) ? a : b;
	return (a > b) == (op == RING_MAX) ? a : b;
}

static int32_t int32_op(enum ring_op op, int32_t a, int32_t b)
{
	switch (op) {
	case RING_PROD:
		return (int32_t)((uint32_t)a * (uint32_t)b);
	case RING_MAX:
		return a > b ? a : b;
	case RING_MIN:
		return a < b ? a : b;
	default:
		return (int32_t)((uint32_t)a + (uint32_t)b);
	}
}

static float float_op(enum ring_op op, float a, float b)
{
	switch (op) {
	case RING_PROD:
		return a * b;
	case RING_MAX:
	case RING_MIN:
		return (float)pick(op, (double)a, (double)b);
	default:
		return a + b;
	}
}

static double double_op(enum ring_op op, double a, double b)
{
	switch (op) {
	case RING_PROD:
		return a * b;
	case RING_MAX:
	case RING_MIN:
		return pick(op, a, b);
	default:
		return a + b;
	}
}

static void store_float(void *result, float value)
{
	const uint32_t quiet = 0x7fc00000;
	memcpy(result, isnan(value) ? (const void *)&quiet : &value, sizeof(value));
}

static void store_double(void *result, double value)
{
	const uint64_t quiet = 0x7ff8000000000000;
	memcpy(result, isnan(value) ? (const void *)&quiet : &value, sizeof(value));
}

/* result = a op b, divided by `divisor`, which is 1 except at the last addition of an average. */
static void hop(const struct call *call, const void *a, const void *b, int divisor, void *result)
{
	int32_t ints[2];
	uint16_t halves[2];
	float floats[2];
	double doubles[2];
	switch (call->type) {
	case RING_INT32:
		memcpy(&ints[0], a, sizeof(ints[0]));
		memcpy(&ints[1], b, sizeof(ints[1]));
		ints[0] = int32_op(call->op, ints[0], ints[1]) / divisor;
		memcpy(result, &ints[0], sizeof(ints[0]));
		return;
	case RING_BFLOAT16:
		memcpy(&halves[0], a, sizeof(halves[0]));
		memcpy(&halves[1], b, sizeof(halves[1]));
		floats[0] = float_op(call->op, bfloat16_value(halves[0]), bfloat16_value(halves[1]));
		halves[0] = bfloat16_bits(floats[0] / (float)divisor);
		memcpy(result, &halves[0], sizeof(halves[0]));
		return;
	case RING_FLOAT64:
		memcpy(&doubles[0], a, sizeof(doubles[0]));
		memcpy(&doubles[1], b, sizeof(doubles[1]));
		store_double(result, double_op(call->op, doubles[0], doubles[1]) / divisor);
		return;
	default:
		memcpy(&floats[0], a, sizeof(floats[0]));
		memcpy(&floats[1], b, sizeof(floats[1]));
		store_float(result, float_op(call->op, floats[0], floats[1]) / (float)divisor);
	}
}

static int owner_position(const struct call *call, int size, const int *order, size_t index)
{
	for (int position = 0; position < size; position++) {
		size_t begin, end;
		call_block(call, size, order[position], &begin, &end);
		if (index >= begin && index < end)
			return position;
	}
	return 0;
}

void call_replay(const struct call *call, int size, const int *order, size_t index,
		 const void *const inputs[], void *result)
{
	size_t bytes = call_element_bytes(call->type);
	int owner = owner_position(call, size, order, index);
	const char *first = inputs[order[(owner + 1) % size]];
	memcpy(result, first + index * bytes, bytes);
	for (int step = 2; step <= size; step++) {
		const char *mine = inputs[order[(owner + step) % size]];
		int divisor = call->op == RING_AVG && step == size ? size : 1;
		hop(call, result, mine + index * bytes, divisor, result);
	}
}

void call_put(enum ring_datatype type, void *element, double value)
{
	int32_t whole = (int32_t)value;
	float single = (float)value;
	uint16_t half = bfloat16_bits(single);
	switch (type) {
	case RING_INT32:
		memcpy(element, &whole, sizeof(whole));
		return;
	case RING_BFLOAT16:
		memcpy(element, &half, sizeof(half));
		return;
	case RING_FLOAT64:
		memcpy(element, &value, sizeof(value));
		return;
	default:
		memcpy(element, &single, sizeof(single));
	}
}
