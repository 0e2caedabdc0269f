/* SPDX-License-Identifier: MIT */
/* What the ways of hand_driver.c have in common. */
#ifndef PERF_HAND_H
#define PERF_HAND_H

#include "peer.h"

#define HAND_LINE 64 /* bytes of a cache line */

static inline void hand_add(float *restrict sum, const float *restrict from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sum[i] += from[i];
}

/* The block that a rank adds, in whole lines: begins at *begin. returns its count of floats */
static inline size_t hand_block_of(const struct job *job, int owner, size_t *begin)
{
	size_t size = (size_t)job->size, index = (size_t)owner;
	size_t lines = (job->count * sizeof(float) + HAND_LINE - 1) / HAND_LINE;
	size_t first = lines * index / size * HAND_LINE / sizeof(float);
	size_t end = lines * (index + 1) / size * HAND_LINE / sizeof(float);
	end = end < job->count ? end : job->count;
	*begin = first;
	return end > first ? end - first : 0;
}

#endif
