/* SPDX-License-Identifier: MIT */
/*
 * Input data, which every rank can compute for every other rank. Values are doubles; types.h says
 * why that is exact.
 */
#ifndef PERF_PATTERN_H
#define PERF_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call.h"

/* What inputs are computed from; equal on all ranks. */
struct perf_pattern {
	uint64_t seed;
	bool random;      /* floats with full mantissas; else every order of additions is exact */
	const int *order; /* order[position] == rank around the ring */
	bool by_rank;     /* sums are in the order of ranks, which then is also that of positions */
	int stride;       /* positions between two roundings of a sum; the last is at the owner */
};

/* Computes `count` elements of what `rank` sends, from element `first` on. */
void perf_pattern_values(const struct perf_call *call, const struct perf_pattern *pattern, int rank,
			 size_t first, size_t count, double *values);

/* Writes all elements that `rank` sends. */
void perf_pattern_fill(const struct perf_call *call, const struct perf_pattern *pattern, int rank,
		       void *send);

#endif
