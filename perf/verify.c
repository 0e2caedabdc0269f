/* SPDX-License-Identifier: MIT */
/*
 * Values are hashed from (seed, rank, index) and carried as doubles; see types.h for why that is
 * exact. Work goes piece by piece, each within one block of the ring, so that a piece has one order
 * of additions.
 */
#include "verify.h"

#include <math.h>
#include <string.h>

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

/* Factors of a product stay near 1 if random, and are few powers of two if exact. */
static double factor(const struct perf_pattern *pattern, int rank, uint64_t hash)
{
	double sign = hash & 1 ? -1 : 1;
	if (pattern->random)
		return sign * (0.5 + unit(hash));
	return rank < 16 && hash & 2 ? 2 * sign : sign;
}

/* An integer so small that the sum over all ranks, and so every partial sum, is exact. */
static double summand(const struct perf_call *call, int rank, uint64_t hash)
{
	bool adds = call->collective->reduces && (call->op == RING_SUM || call->op == RING_AVG);
	double limit = floor(call->type->exact / (adds ? call->size : 1));
	if (limit < 1) /* more ranks than exact integers: some contribute nothing */
		limit = rank < call->type->exact ? 1 : 0;
	return (double)(int64_t)(unit(hash) * (2 * limit + 1)) - limit;
}

static double input_value(const struct perf_call *call, const struct perf_pattern *pattern,
			  int rank, size_t index)
{
	uint64_t hash = mix(mix(pattern->seed + (uint64_t)rank) + index * 0x9e3779b97f4a7c15u);
	double value;
	if (call->collective->reduces && call->op == RING_PROD)
		value = factor(pattern, rank, hash);
	else if (pattern->random && call->type->roundoff > 0)
		value = 2 * unit(hash) - 1;
	else
		value = summand(call, rank, hash);
	return call->type->round(value);
}

static void input_values(const struct perf_call *call, const struct perf_pattern *pattern, int rank,
			 size_t first, size_t count, double *values)
{
	for (size_t i = 0; i < count; i++)
		values[i] = input_value(call, pattern, rank, first + i);
}

static double combine(enum ring_op op, double a, double b)
{
	switch (op) {
	case RING_PROD:
		return a * b;
	case RING_MAX:
		return a > b ? a : b;
	case RING_MIN:
		return a < b ? a : b;
	default:
		return a + b;
	}
}

/*
 * The reduced values of a piece whose block belongs to the position `owner`: added from the position
 * after it around the ring to itself, rounded at every hop.
 */
static void reduced_values(const struct perf_call *call, const struct perf_pattern *pattern,
			   int owner, size_t first, size_t count, double *sums)
{
	const struct perf_type *type = call->type;
	int n = call->size;
	double values[PIECE];
	input_values(call, pattern, pattern->order[(owner + 1) % n], first, count, sums);
	for (int hop = 2; hop <= n; hop++) {
		input_values(call, pattern, pattern->order[(owner + hop) % n], first, count, values);
		bool divides = call->op == RING_AVG && hop == n;
		for (size_t i = 0; i < count; i++) {
			double sum = type->compute(combine(call->op, sums[i], values[i]));
			sums[i] = type->round(divides ? type->compute(sum / n) : sum);
		}
	}
}

/* The reduced values without any rounding to the type, and how far a rounded one may be off. */
static void bounded_values(const struct perf_call *call, const struct perf_pattern *pattern,
			   size_t first, size_t count, double *exact, double *bound)
{
	int n = call->size;
	double values[PIECE], sizes[PIECE] = {0};
	for (int rank = 0; rank < n; rank++) {
		input_values(call, pattern, rank, first, count, values);
		for (size_t i = 0; i < count; i++) {
			exact[i] = rank > 0 ? combine(call->op, exact[i], values[i]) : values[i];
			sizes[i] += fabs(values[i]);
		}
	}
	bool compares = call->op == RING_MAX || call->op == RING_MIN;
	for (size_t i = 0; i < count; i++) {
		double size = call->op == RING_PROD ? fabs(exact[i]) : sizes[i];
		if (call->op == RING_AVG) {
			exact[i] /= n;
			size /= n;
		}
		bound[i] = compares ? 0 : 2 * n * call->type->roundoff * size;
	}
}

/* Looks at the elements of a piece that is not what the reference says. */
static struct perf_findings inspect(const struct perf_call *call,
				    const struct perf_pattern *pattern, size_t first, size_t count,
				    const unsigned char *expected, const unsigned char *got)
{
	struct perf_findings findings = {0};
	size_t bytes = call->type->bytes;
	bool may_differ = pattern->random && call->collective->reduces;
	double exact[PIECE], bound[PIECE], values[PIECE];
	if (may_differ) {
		bounded_values(call, pattern, first, count, exact, bound);
		call->type->load(got, count, values);
	}
	for (size_t i = 0; i < count; i++) {
		if (memcmp(expected + i * bytes, got + i * bytes, bytes) == 0)
			continue;
		if (may_differ && fabs(values[i] - exact[i]) <= bound[i])
			findings.reordered++;
		else
			findings.wrong++;
	}
	return findings;
}

static int position_of(const struct perf_pattern *pattern, int rank)
{
	int position = 0;
	while (pattern->order[position] != rank)
		position++;
	return position;
}

/*
 * One stretch of the result with one origin: a block of the reduced vector that belongs to the
 * position `origin`, or what the rank `origin` sent.
 */
static struct perf_findings compare_stretch(const struct perf_call *call,
					    const struct perf_pattern *pattern, int origin,
					    size_t first, size_t count, const unsigned char *got)
{
	struct perf_findings findings = {0};
	double values[PIECE];
	unsigned char expected[PIECE * sizeof(double)];
	for (size_t done = 0; done < count;) {
		size_t piece = count - done < PIECE ? count - done : PIECE;
		const unsigned char *piece_got = got + done * call->type->bytes;
		if (call->collective->reduces)
			reduced_values(call, pattern, origin, first + done, piece, values);
		else
			input_values(call, pattern, origin, first + done, piece, values);
		call->type->store(values, piece, expected);
		if (memcmp(expected, piece_got, piece * call->type->bytes) != 0) {
			struct perf_findings more = inspect(call, pattern, first + done, piece,
							    expected, piece_got);
			findings.wrong += more.wrong;
			findings.reordered += more.reordered;
		}
		done += piece;
	}
	return findings;
}

void perf_fill_input(const struct perf_call *call, const struct perf_pattern *pattern, int rank,
		     void *send)
{
	size_t count = perf_call_send_bytes(call) / call->type->bytes;
	double values[PIECE];
	for (size_t done = 0; done < count;) {
		size_t piece = count - done < PIECE ? count - done : PIECE;
		input_values(call, pattern, rank, done, piece, values);
		call->type->store(values, piece, (unsigned char *)send + done * call->type->bytes);
		done += piece;
	}
}

struct perf_findings perf_compare(const struct perf_call *call, const struct perf_pattern *pattern,
				  int rank, const void *recv)
{
	const struct perf_collective *collective = call->collective;
	const unsigned char *got = recv;
	size_t part = call->count;
	if (collective->rooted)
		return compare_stretch(call, pattern, call->root, 0, part, got);
	if (collective->reduces && collective->per_rank)
		return compare_stretch(call, pattern, position_of(pattern, rank),
				       (size_t)rank * part, part, got);

	struct perf_findings findings = {0};
	for (int owner = 0; owner < call->size && collective->has_data; owner++) {
		size_t start = perf_call_block_start(call, owner);
		size_t count = perf_call_block_start(call, owner + 1) - start;
		int origin = collective->reduces ? position_of(pattern, owner) : owner;
		struct perf_findings more = compare_stretch(call, pattern, origin,
							    collective->per_rank ? 0 : start, count,
							    got + start * call->type->bytes);
		findings.wrong += more.wrong;
		findings.reordered += more.reordered;
	}
	return findings;
}

uint64_t perf_checksum(const void *memory, size_t bytes)
{
	const unsigned char *at = memory;
	uint64_t sum = bytes;
	for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), at += sizeof(uint64_t)) {
		uint64_t word;
		memcpy(&word, at, sizeof(word));
		sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
		sum ^= sum >> 29;
	}
	for (; bytes > 0; bytes--)
		sum = (sum ^ *at++) * 0x100000001b3u;
	return sum;
}
