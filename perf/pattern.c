/* SPDX-License-Identifier: MIT */
/*
 * Values are hashed from (seed, rank, index).
 */
#include "pattern.h"

#include <math.h>

#define PIECE 512 /* elements */

/* A 64-bit mixing function (the finalizer of splitmix64, Steele et al. 2014). */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Uniform in [0, 1) with 53 random bits. */
static double unit(uint64_t hash)
{
	return (double)(hash >> 11) * 0x1p-53;
}

/* An integer up to `most` in magnitude. */
static double integer(const struct perf_type *type, double most, uint64_t hash)
{
	return type->has_sign ? floor(unit(hash) * (2 * most + 1)) - most
			      : floor(unit(hash) * (most + 1));
}

/* So small that the sum over all ranks, and so every partial sum, is exact. */
static double summand(const struct perf_call *call, int rank, uint64_t hash)
{
	double exact = call->type->exact / (call->op->scales ? PERF_LARGEST_SCALAR : 1);
	double most = floor(exact / call->size);
	if (most < 1) /* more ranks than exact integers: some contribute nothing */
		most = rank < exact ? 1 : 0;
	return integer(call->type, most, hash);
}

/* Random factors stay near 1; exact ones are few powers of two. */
static double factor(const struct perf_call *call, bool random, int rank, uint64_t hash)
{
	double sign = call->type->has_sign && hash & 1 ? -1 : 1;
	if (random)
		return sign * (0.5 + unit(hash));
	return rank < call->type->twos && hash & 2 ? 2 * sign : sign;
}

static double value_at(const struct perf_call *call, const struct perf_pattern *pattern, int rank,
		       size_t index)
{
	uint64_t hash = mix(mix(pattern->seed + (uint64_t)rank) + index * 0x9e3779b97f4a7c15u);
	bool random = pattern->random && call->type->roundoff > 0;
	bool reduces = perf_call_is(call, PERF_REDUCES);
	if (reduces && call->op->multiplies)
		return factor(call, random, rank, hash);
	if (random)
		return 2 * unit(hash) - 1;
	if (reduces && call->op->adds)
		return summand(call, rank, hash);
	return integer(call->type, call->type->exact, hash) * call->type->step;
}

void perf_pattern_values(const struct perf_call *call, const struct perf_pattern *pattern, int rank,
			 size_t first, size_t count, double *values)
{
	for (size_t i = 0; i < count; i++)
		values[i] = call->type->round(value_at(call, pattern, rank, first + i));
}

void perf_pattern_fill(const struct perf_call *call, const struct perf_pattern *pattern, int rank,
		       void *send)
{
	size_t count = perf_call_send_bytes(call, rank) / call->type->bytes;
	unsigned char *to = send;
	double values[PIECE];
	for (size_t done = 0; done < count;) {
		size_t piece = count - done < PIECE ? count - done : PIECE;
		perf_pattern_values(call, pattern, rank, done, piece, values);
		call->type->store(values, piece, to + done * call->type->bytes);
		done += piece;
	}
}
