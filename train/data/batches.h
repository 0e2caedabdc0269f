/* SPDX-License-Identifier: MIT */
/*
 * Decides which examples of different lengths make up a micro-batch. Ranks wait for the one with
 * the most work, and padding is also work. An example with six lengths and two ranks:
 *
 *	samples   3 at a time     | 2 9 3 | 8 1 1 |     27 and 24 tokens computed, 14 and 10 real
 *	tokens    at most 16      | 2 | 9 | 3 8 | 1 1 | as many as fit with their padding
 *	buckets   3 of a length   | 1 1 2 | 3 8 9 |     sorted within some steps
 *	packed    at most 16      | 2 9 3 | 8 1 1 |     no padding: rows one after the other
 */
#ifndef TRAIN_BATCHES_H
#define TRAIN_BATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum train_batching {
	TRAIN_BY_SAMPLES,
	TRAIN_BY_TOKENS,
	TRAIN_BY_BUCKETS,
	TRAIN_PACKED,
};

struct train_batch_rules {
	enum train_batching batching;
	size_t samples; /* SAMPLES, BUCKETS: of a micro-batch */
	size_t budget;  /* TOKENS, PACKED: of a micro-batch, at least the longest example's */
	size_t ranks;   /* a step has `accumulate` micro-batches of each rank */
	size_t accumulate;
	uint64_t seed; /* BUCKETS: for the order of steps */
};

/* The plan of an epoch. Micro-batch m belongs to rank m % ranks. */
struct train_batches {
	uint64_t *examples; /* of all micro-batches, one after the other */
	size_t *first;      /* [count + 1] index in examples */
	size_t count;       /* micro-batches, in whole steps only */
};

/*
 * Plans an epoch of examples[count] with lengths[count]. The plan takes over `examples` and may
 * reorder it. A pure function, except for memory. returns 0; -1 without memory, and the plan is
 * empty
 */
int train_batches_plan(struct train_batches *batches, const struct train_batch_rules *rules,
		       uint64_t *examples, int *lengths, size_t count);
void train_batches_free(struct train_batches *batches);

#endif
