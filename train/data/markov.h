/* SPDX-License-Identifier: MIT */
/*
 * A source of text with a known entropy: the next character depends on the two before it, by
 * probabilities drawn from a seed. No model can have a lower loss on its text than the source
 * itself, so a whole training run can be checked against an absolute limit.
 */
#ifndef TRAIN_MARKOV_H
#define TRAIN_MARKOV_H

#include <stddef.h>
#include <stdint.h>

#define TRAIN_MARKOV_CHARACTERS 8

struct train_markov {
	uint64_t seed;
	/* [before last][last][next], each row sums to 1 */
	double next[TRAIN_MARKOV_CHARACTERS][TRAIN_MARKOV_CHARACTERS][TRAIN_MARKOV_CHARACTERS];
	double entropy; /* nats per character, in the long run */
};

/* A loss over some characters: its mean, and the standard error of that mean. */
struct train_markov_loss {
	double mean, error;
};

void train_markov_make(struct train_markov *source, uint64_t seed);

/* Writes the source's first `count` characters, as if it had been running for ever. */
void train_markov_write(const struct train_markov *source, int32_t *characters, size_t count);

/* The source's own loss on characters [begin, begin + count); begin >= 2. */
struct train_markov_loss train_markov_own_loss(const struct train_markov *source,
					       const int32_t *characters, size_t begin,
					       size_t count);

#endif
