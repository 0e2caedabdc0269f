/* SPDX-License-Identifier: MIT */
/*
 * Decides which rank trains on which example, as PyTorch's DistributedSampler does: all examples
 * are shuffled, their number is made divisible by that of ranks, and rank r takes every N-th from
 * the r-th on. So a step's global batch is a stretch of that order, for any number of ranks:
 *
 *	order   | 7 2 9 4 | 1 8 0 5 | 3 6 + 7 2 |     10 examples, 2 ranks of batch 2, padded
 *	rank 0    7   9     1   0     3   7
 *	rank 1      2   4     8   5     6   2
 */
#ifndef TRAIN_SAMPLER_H
#define TRAIN_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct train_sampler {
	size_t examples; /* at least 1 */
	int ranks, rank;
	uint64_t seed;
	bool shuffles;   /* each epoch has its own order, which depends on seed and epoch */
	bool drops_last; /* the rest of the division is dropped; else the first ones pad it */
};

/* How many examples each rank has in an epoch. */
size_t train_sampler_length(const struct train_sampler *sampler);

/*
 * Example number `index` of this rank in `epoch`. A pure function. The order is not that of
 * PyTorch's generator. It is a Feistel network over the numbers below `examples`, keyed by seed and
 * epoch, so it needs no table and any place can be computed (cycle walking, Black & Rogaway 2002,
 * "Ciphers with arbitrary finite domains").
 */
size_t train_sampler_example(const struct train_sampler *sampler, uint64_t epoch, size_t index);

#endif
