/* SPDX-License-Identifier: MIT */
/*
 * Which examples of different lengths go together. Ranks wait for the one with most to do, and padding is work, too.
 * Lengths of six examples, two ranks:
 *
 *	samples   3 at a time     | 2 9 3 | 8 1 1 |     27 and 24 tokens computed, 14 and 10 of them real
 *	tokens    at most 16      | 2 | 9 | 3 8 | 1 1 | as many as fit with their padding
 *	buckets   3 of a length   | 1 1 2 | 3 8 9 |     sorted within some steps; ranks of a step get neighbours
 *	packed    at most 16      | 2 9 3 | 8 1 1 |     no padding: rows one behind the other
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
	size_t ranks;   /* a step has a micro-batch of each rank, `accumulate` times */
	size_t accumulate;
	uint64_t seed; /* BUCKETS: of the order of steps */
};

/* An epoch, cut up. Micro-batch m of the plan is rank m % ranks'. */
struct train_batches {
	uint64_t *examples; /* [all] one behind the other */
	size_t *first;      /* [count + 1] in examples */
	size_t count;       /* micro-batches, of whole steps only */
};

/*
 * Cuts up examples[count], which become the plan's and are sorted within; lengths[count] are theirs. A pure function,
 * but for memory. returns 0; -1 without memory, and the plan is empty
 */
int train_batches_plan(struct train_batches *batches, const struct train_batch_rules *rules,
		       uint64_t *examples, int *lengths, size_t count);
void train_batches_free(struct train_batches *batches);

#endif
