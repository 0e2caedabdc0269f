/* SPDX-License-Identifier: MIT */
/*
 * Who trains on which example, as PyTorch's DistributedSampler decides it: all examples in a shuffled
 * order, made to divide by the number of ranks, of which rank r takes every N-th from the r-th on.
 * So a step's global batch is a run of that order, however many ranks share it:
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
	bool shuffles;   /* each epoch in an order of its own, decided by seed and epoch */
	bool drops_last; /* ranks share what divides; else the order is padded from its beginning */
};

/* Examples of each rank in an epoch. */
size_t train_sampler_length(const struct train_sampler *sampler);

/*
 * Number `index` of this rank's examples in `epoch`. A pure function. The order is not PyTorch's,
 * whose generator is its own: it is a Feistel network over the numbers below examples, keyed by
 * seed and epoch, so that no table is kept and any place can be looked up (cycle walking, Black &
 * Rogaway 2002, "Ciphers with arbitrary finite domains").
 */
size_t train_sampler_example(const struct train_sampler *sampler, uint64_t epoch, size_t index);

#endif
