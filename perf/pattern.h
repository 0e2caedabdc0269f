/* SPDX-License-Identifier: MIT */
/*
 * Input data that every rank can recompute for every other. Values are carried as doubles; see
 * types.h for why that is exact.
 */
#ifndef PERF_PATTERN_H
#define PERF_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call.h"

/* What inputs are made of; alike on all ranks. */
struct perf_pattern {
	uint64_t seed;
	bool random;      /* floats with full mantissas; else values that any order sums exactly */
	const int *order; /* order[position] == rank around the ring */
	int stride; /* positions from where a sum is rounded to where it is again; the last is the block's owner */
};

/* What `rank` sends, from element `first` on. */
void perf_pattern_values(const struct perf_call *call, const struct perf_pattern *pattern, int rank,
			 size_t first, size_t count, double *values);

/* Writes all that `rank` sends. */
void perf_pattern_fill(const struct perf_call *call, const struct perf_pattern *pattern, int rank,
		       void *send);

#endif
