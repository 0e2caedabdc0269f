/* SPDX-License-Identifier: MIT */
/*
 * Compares piece by piece. Each lies within one stretch of the result, so a piece has one order of
 * additions.
 */
#include "verify.h"

#include <math.h>
#include <string.h>

#define PIECE 512 /* elements */

/* The addends of `rank`: its input, scaled if the operation scales. */
static void addends(const struct perf_call *call, const struct perf_pattern *pattern, int rank,
		    size_t first, size_t count, double *values)
{
	perf_pattern_values(call, pattern, rank, first, count, values);
	double scalar = call->op->scales ? perf_scalar(rank) : 1;
	for (size_t i = 0; i < count; i++)
		values[i] *= scalar;
}

/*
 * The reduced values of a piece whose last addition is at the position `owner`: added around the
 * ring from the position after it.
 */
static void reduced_values(const struct perf_call *call, const struct perf_pattern *pattern,
			   int owner, size_t first, size_t count, double *sums)
{
	const struct perf_type *type = call->type;
	int n = call->size;
	double values[PIECE];
	addends(call, pattern, pattern->order[(owner + 1) % n], first, count, sums);
	for (int hop = 2; hop <= n; hop++) {
		addends(call, pattern, pattern->order[(owner + hop) % n], first, count, values);
		bool divides = call->op->divides && hop == n;
		bool rounds = (n - hop) % pattern->stride == 0;
		for (size_t i = 0; i < count; i++) {
			double sum = type->compute(call->op->combine(sums[i], values[i]));
			if (divides)
				sum = type->compute(sum / n);
			sums[i] = rounds ? type->round(sum) : sum;
		}
	}
}

/* The reduced values without rounding to the type, and how far rounding may move them. */
static void bounded_values(const struct perf_call *call, const struct perf_pattern *pattern,
			   size_t first, size_t count, double *exact, double *bound)
{
	const struct perf_type *type = call->type;
	const struct perf_op *op = call->op;
	int n = call->size;
	double values[PIECE], sizes[PIECE] = {0};
	for (int rank = 0; rank < n; rank++) {
		addends(call, pattern, rank, first, count, values);
		for (size_t i = 0; i < count; i++) {
			exact[i] = rank > 0 ? op->combine(exact[i], values[i]) : values[i];
			sizes[i] += fabs(values[i]);
		}
	}
	bool rounds = op->adds || op->multiplies;
	for (size_t i = 0; i < count; i++) {
		double size = op->multiplies ? fabs(exact[i]) : sizes[i];
		if (op->divides) {
			exact[i] /= n;
			size /= n;
		}
		bound[i] = rounds ? n * (2 * type->roundoff * size + type->smallest) : 0;
	}
}

/* Counts the elements of a piece that differ from the reference. */
static struct perf_findings inspect(const struct perf_call *call,
				    const struct perf_pattern *pattern, size_t first, size_t count,
				    const unsigned char *expected, const unsigned char *got)
{
	struct perf_findings findings = {0};
	size_t bytes = call->type->bytes;
	bool may_differ = pattern->random && perf_call_is(call, PERF_REDUCES) &&
			  call->type->roundoff > 0;
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
 * `got` is one stretch of a result; the last addition of reduced values is at its origin's
 * position, or if they are added by rank, at the last one.
 */
static struct perf_findings compare_stretch(const struct perf_call *call,
					    const struct perf_pattern *pattern,
					    const struct perf_stretch *stretch,
					    const unsigned char *got)
{
	struct perf_findings findings = {0};
	bool reduces = perf_call_is(call, PERF_REDUCES);
	int owner = pattern->by_rank ? call->size - 1 : position_of(pattern, stretch->origin);
	size_t bytes = call->type->bytes;
	double values[PIECE];
	unsigned char expected[PIECE * sizeof(double)];
	for (size_t done = 0; done < stretch->count;) {
		size_t count = stretch->count - done < PIECE ? stretch->count - done : PIECE;
		size_t first = stretch->first + done;
		const unsigned char *piece = got + done * bytes;
		if (reduces)
			reduced_values(call, pattern, owner, first, count, values);
		else
			perf_pattern_values(call, pattern, stretch->origin, first, count, values);
		call->type->store(values, count, expected);
		if (memcmp(expected, piece, count * bytes) != 0) {
			struct perf_findings more = inspect(call, pattern, first, count, expected,
							    piece);
			findings.wrong += more.wrong;
			findings.reordered += more.reordered;
		}
		done += count;
	}
	return findings;
}

struct perf_findings perf_compare(const struct perf_call *call, const struct perf_pattern *pattern,
				  int rank, const void *recv)
{
	struct perf_findings findings = {0};
	const unsigned char *got = recv;
	size_t total = perf_call_recv_bytes(call, rank) / call->type->bytes;
	for (size_t i = 0, done = 0; done < total; i++) {
		struct perf_stretch stretch = call->collective->stretch(call, rank, (int)i);
		struct perf_findings more = compare_stretch(call, pattern, &stretch,
							    got + done * call->type->bytes);
		findings.wrong += more.wrong;
		findings.reordered += more.reordered;
		done += stretch.count;
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
