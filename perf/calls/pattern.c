/* SPDX-License-Identifier: MIT */
/*
 * A value is a hash of seed, rank and index.
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

/* What one rank's elements have in common. */
struct source {
	uint64_t base;
	bool random, multiplies;
	bool has_sign, has_twos; /* of factors                      */
	double least, most;      /* of integers                     */
	double step;             /* between those that are not added */
};

/* The largest summand of which the sum over all ranks, and so every partial sum, is exact. */
static double largest_summand(const struct perf_call *call, int rank)
{
	double exact = call->type->exact / (call->op->scales ? PERF_LARGEST_SCALAR : 1);
	double most = floor(exact / call->size);
	if (most < 1) /* more ranks than exact integers: some ranks contribute 0 */
		most = rank < exact ? 1 : 0;
	return most;
}

static struct source source_of(const struct perf_call *call, const struct perf_pattern *pattern,
			       int rank)
{
	const struct perf_type *type = call->type;
	bool reduces = perf_call_is(call, PERF_REDUCES);
	bool adds = reduces && call->op->adds;
	struct source source = {
		.base = mix(pattern->seed + (uint64_t)rank),
		.random = pattern->random && type->roundoff > 0,
		.multiplies = reduces && call->op->multiplies,
		.has_sign = type->has_sign,
		.has_twos = rank < type->twos,
		.most = adds ? largest_summand(call, rank) : type->exact,
		.step = adds ? 1 : type->step,
	};
	source.least = type->has_sign ? -source.most : 0;
	return source;
}

/* Random factors are from 0.5 to 1.5; exact ones are 1, or 2 on few ranks. Some are negative. */
static double factor(const struct source *source, uint64_t hash)
{
	double sign = source->has_sign && hash & 1 ? -1 : 1;
	if (source->random)
		return sign * (0.5 + unit(hash));
	return source->has_twos && hash & 2 ? 2 * sign : sign;
}

static double value_at(const struct source *source, size_t index)
{
	uint64_t hash = mix(source->base + index * 0x9e3779b97f4a7c15u);
	if (source->multiplies)
		return factor(source, hash);
	if (source->random)
		return 2 * unit(hash) - 1;
	double above_least = unit(hash) * (source->most - source->least + 1);
	return ((double)(int64_t)above_least + source->least) * source->step;
}

void perf_pattern_values(const struct perf_call *call, const struct perf_pattern *pattern, int rank,
			 size_t first, size_t count, double *values)
{
	struct source source = source_of(call, pattern, rank);
	for (size_t i = 0; i < count; i++)
		values[i] = call->type->round(value_at(&source, first + i));
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
