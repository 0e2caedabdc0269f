/* SPDX-License-Identifier: MIT */
/*
 * Sizes, places and names that follow from a call's arguments.
 */
#include "call.h"

bool perf_call_is(const struct perf_call *call, enum perf_trait trait)
{
	return (call->collective->traits & trait) != 0;
}

void perf_call_set_bytes(struct perf_call *call, size_t bytes)
{
	size_t parts = perf_call_is(call, PERF_PER_RANK) ? (size_t)call->size : 1;
	call->count = bytes / (parts * call->type->bytes);
	if (call->count == 0)
		call->count = 1;
	if (!perf_call_is(call, PERF_DATA))
		call->count = 0;
	call->bytes = call->count * parts * call->type->bytes;
}

size_t perf_call_part_start(const struct perf_call *call, int part)
{
	size_t n = (size_t)call->size, p = (size_t)part;
	if (!perf_call_is(call, PERF_UNEVEN))
		return p * call->count;
	return n > 1 ? call->bytes / call->type->bytes * (p * (p - 1) / 2) / (n * (n - 1) / 2)
		     : p * call->count;
}

size_t perf_call_part_count(const struct perf_call *call, int part)
{
	return perf_call_part_start(call, part + 1) - perf_call_part_start(call, part);
}

int perf_call_part_between(const struct perf_call *call, int from, int to)
{
	return (to - from + call->size) % call->size;
}

size_t perf_call_part_bytes(const struct perf_call *call, int part)
{
	return perf_call_part_count(call, part) * call->type->bytes;
}

size_t perf_call_send_bytes(const struct perf_call *call, int rank)
{
	if (perf_call_is(call, PERF_ROOT_SENDS) && rank != call->root)
		return 0;
	return perf_call_is(call, PERF_SENDS_PART) ? perf_call_part_bytes(call, rank) : call->bytes;
}

size_t perf_call_recv_bytes(const struct perf_call *call, int rank)
{
	if (perf_call_is(call, PERF_ROOT_RECEIVES) && rank != call->root)
		return 0;
	return perf_call_is(call, PERF_RECEIVES_PART) ? perf_call_part_bytes(call, rank)
						      : call->bytes;
}

static size_t part_offset(const struct perf_call *call, int part)
{
	return perf_call_part_start(call, part) * call->type->bytes;
}

size_t perf_call_send_offset(const struct perf_call *call, int rank)
{
	return perf_call_is(call, PERF_SENDS_PART) ? part_offset(call, rank) : 0;
}

size_t perf_call_recv_offset(const struct perf_call *call, int rank)
{
	return perf_call_is(call, PERF_RECEIVES_PART) ? part_offset(call, rank) : 0;
}

size_t perf_call_block_start(const struct perf_call *call, int rank)
{
	size_t n = (size_t)call->size, b = (size_t)rank;
	size_t count = call->bytes / call->type->bytes;
	size_t longer = count % n;
	return b * (count / n) + (b < longer ? b : longer);
}

const char *perf_call_type_name(const struct perf_call *call)
{
	return perf_call_is(call, PERF_DATA) ? call->type->name : "none";
}

const char *perf_call_op_name(const struct perf_call *call)
{
	return perf_call_is(call, PERF_REDUCES) ? call->op->name : "none";
}

int perf_call_root(const struct perf_call *call)
{
	return perf_call_is(call, PERF_ROOTED) ? call->root : -1;
}
