/* SPDX-License-Identifier: MIT */
#include "batches.h"

#include <stdlib.h>
#include <string.h>

#include "train/model/random.h"

#define STEPS_TOGETHER 64 /* BUCKETS: examples are sorted within this many steps */

void train_batches_free(struct train_batches *batches)
{
	free(batches->examples);
	free(batches->first);
	*batches = (struct train_batches){0};
}

/* ---- buckets of like lengths -------------------------------------------------------------- */

struct item {
	uint64_t example;
	int length;
	size_t place; /* keeps the order of equal lengths */
};

static int compare_items(const void *left, const void *right)
{
	const struct item *a = left, *b = right;
	if (a->length != b->length)
		return a->length - b->length;
	return (a->place > b->place) - (a->place < b->place);
}

/* Shuffles whole steps, so that training does not go from short to long examples. */
static void shuffle_steps(struct item *items, size_t step, size_t steps, uint64_t key,
			  struct item *spare)
{
	for (size_t i = steps; i > 1; i--) {
		struct item *a = items + (i - 1) * step;
		struct item *b = items + (size_t)(train_random(key, i) % i) * step;
		memcpy(spare, a, step * sizeof(*a));
		memmove(a, b, step * sizeof(*a));
		memcpy(b, spare, step * sizeof(*a));
	}
}

static int sort_in_windows(const struct train_batch_rules *rules, uint64_t *examples, int *lengths,
			   size_t count)
{
	size_t step = rules->samples * rules->ranks * rules->accumulate;
	size_t window = step * STEPS_TOGETHER;
	struct item *items = calloc(window + step, sizeof(*items)), *spare = items + window;
	for (size_t begin = 0; items && begin < count; begin += window) {
		size_t here = count - begin < window ? count - begin : window;
		for (size_t i = 0; i < here; i++)
			items[i] = (struct item){examples[begin + i], lengths[begin + i], i};
		qsort(items, here, sizeof(*items), compare_items);
		shuffle_steps(items, step, here / step, train_random(rules->seed, begin), spare);
		for (size_t i = 0; i < here; i++) {
			examples[begin + i] = items[i].example;
			lengths[begin + i] = items[i].length;
		}
	}
	free(items);
	return items ? 0 : -1;
}

/* ---- cutting ------------------------------------------------------------------------------ */

/* How many examples the next micro-batch takes. */
static size_t take(const struct train_batch_rules *rules, const int *lengths, size_t left)
{
	size_t taken = 0, tokens = 0, longest = 0;
	if (rules->batching == TRAIN_BY_SAMPLES || rules->batching == TRAIN_BY_BUCKETS)
		return left < rules->samples ? left : rules->samples;
	for (; taken < left; taken++) {
		size_t length = (size_t)lengths[taken];
		longest = length > longest ? length : longest;
		tokens += length;
		size_t work = rules->batching == TRAIN_PACKED ? tokens : (taken + 1) * longest;
		if (work > rules->budget && taken > 0)
			break;
	}
	return taken;
}

int train_batches_plan(struct train_batches *batches, const struct train_batch_rules *rules,
		       uint64_t *examples, int *lengths, size_t count)
{
	size_t of_step = rules->ranks * rules->accumulate;
	*batches = (struct train_batches){.examples = examples,
					  .first = calloc(count + 1, sizeof(*batches->first))};
	if (!batches->first || (rules->batching == TRAIN_BY_BUCKETS &&
				sort_in_windows(rules, examples, lengths, count) != 0)) {
		train_batches_free(batches);
		return -1;
	}
	size_t at = 0;
	while (at < count) {
		at += take(rules, &lengths[at], count - at);
		batches->first[++batches->count] = at;
	}
	batches->count -= batches->count % of_step;
	return 0;
}
