/* SPDX-License-Identifier: MIT */
/* Plans of batches: nobody is left out or taken twice, budgets hold, like lengths go together; and lengths drawn. */
#include "train/data/batches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "train/data/lengths.h"
#include "train/model/random.h"

#define EXAMPLES 5000
#define LONGEST 64

static int length_of(uint64_t example)
{
	const struct train_lengths drawn = {TRAIN_LOGNORMAL, .median = 12, .deviation = 0.9};
	return train_length(&drawn, train_random(7, example), LONGEST);
}

static struct train_batches plan(const struct train_batch_rules *rules)
{
	struct train_batches batches;
	uint64_t *examples = calloc(EXAMPLES, sizeof(*examples));
	int *lengths = calloc(EXAMPLES, sizeof(*lengths));
	assert_true(examples && lengths);
	for (size_t i = 0; i < EXAMPLES; i++) {
		examples[i] = (i * 1009) % EXAMPLES;
		lengths[i] = length_of(examples[i]);
	}
	assert_int_equal(train_batches_plan(&batches, rules, examples, lengths, EXAMPLES), 0);
	free(lengths);
	return batches;
}

/* What a micro-batch costs: its rows, their tokens, and these with padding. */
struct cost {
	size_t rows, tokens, padded;
};

static struct cost cost_of(const struct train_batches *batches, size_t m)
{
	struct cost cost = {.rows = batches->first[m + 1] - batches->first[m]};
	size_t longest = 0;
	for (size_t i = batches->first[m]; i < batches->first[m + 1]; i++) {
		size_t length = (size_t)length_of(batches->examples[i]);
		cost.tokens += length;
		longest = length > longest ? length : longest;
	}
	cost.padded = cost.rows * longest;
	return cost;
}

static struct train_batch_rules rules_of(enum train_batching batching)
{
	return (struct train_batch_rules){.batching = batching,
					  .samples = 8,
					  .budget = 128,
					  .ranks = 3,
					  .accumulate = 2,
					  .seed = 5};
}

static void everybody_is_there_once(void **state)
{
	(void)state;
	for (int batching = TRAIN_BY_SAMPLES; batching <= TRAIN_PACKED; batching++) {
		struct train_batch_rules rules = rules_of((enum train_batching)batching);
		struct train_batches batches = plan(&rules);
		static int seen[EXAMPLES];
		memset(seen, 0, sizeof(seen));
		for (size_t i = 0; i < EXAMPLES; i++)
			assert_int_equal(seen[batches.examples[i]]++, 0);
		assert_int_equal(batches.count % 6, 0);
		assert_in_range(batches.first[batches.count], EXAMPLES - 6 * 128, EXAMPLES);
		train_batches_free(&batches);
	}
}

static void budgets_hold(void **state)
{
	(void)state;
	struct train_batch_rules rules = rules_of(TRAIN_BY_TOKENS);
	struct train_batches tokens = plan(&rules);
	for (size_t m = 0; m < tokens.count; m++)
		assert_in_range(cost_of(&tokens, m).padded, 1, 128);
	train_batches_free(&tokens);
	rules = rules_of(TRAIN_PACKED);
	struct train_batches packed = plan(&rules);
	for (size_t m = 0; m < packed.count; m++) {
		struct cost cost = cost_of(&packed, m);
		assert_in_range(cost.tokens, 1, 128);
		assert_true(cost.tokens + LONGEST > 128); /* no more would have fit */
	}
	train_batches_free(&packed);
}

/* Padding of all that is computed, in percent; *skew: the most that a rank computes beyond the mean, likewise. */
static double padding(enum train_batching batching, double *skew)
{
	struct train_batch_rules rules = rules_of(batching);
	struct train_batches batches = plan(&rules);
	double tokens = 0, padded = 0, beyond = 0;
	for (size_t m = 0; m < batches.count; m += rules.ranks) {
		double most = 0, sum = 0;
		for (size_t rank = 0; rank < rules.ranks; rank++) {
			struct cost cost = cost_of(&batches, m + rank);
			tokens += (double)cost.tokens;
			padded += (double)cost.padded;
			sum += (double)cost.padded;
			most = (double)cost.padded > most ? (double)cost.padded : most;
		}
		beyond += 100 * (most * (double)rules.ranks / sum - 1);
	}
	*skew = beyond / (double)(batches.count / rules.ranks);
	train_batches_free(&batches);
	return 100 * (1 - tokens / padded);
}

/* The point of it all: less is padded, and no rank has much more to do than the others. */
static void like_lengths_go_together(void **state)
{
	(void)state;
	double skew_of_samples, skew_of_buckets, skew_of_tokens;
	double samples = padding(TRAIN_BY_SAMPLES, &skew_of_samples);
	double buckets = padding(TRAIN_BY_BUCKETS, &skew_of_buckets);
	padding(TRAIN_BY_TOKENS, &skew_of_tokens);
	printf("samples: %.1f %% padding, %.1f %% skew; buckets: %.1f %%, %.1f %%; tokens: %.1f %% "
	       "skew\n",
	       samples, skew_of_samples, buckets, skew_of_buckets, skew_of_tokens);
	assert_true(samples > 40 && buckets < 10);
	assert_true(skew_of_buckets < 5 && skew_of_tokens < 0.8 * skew_of_samples);
}

/* Buckets do not go from short to long: a window's first steps are not the shortest. */
static void buckets_are_shuffled(void **state)
{
	(void)state;
	struct train_batch_rules rules = rules_of(TRAIN_BY_BUCKETS);
	struct train_batches batches = plan(&rules);
	int rises = 0, falls = 0;
	for (size_t m = 0; m + 6 < batches.count; m += 6) {
		size_t here = cost_of(&batches, m).padded, next = cost_of(&batches, m + 6).padded;
		rises += next > here;
		falls += next < here;
	}
	assert_true(rises > 20 && falls > 20);
	train_batches_free(&batches);
}

static int compare_ints(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

static void lengths_are_as_drawn(void **state)
{
	(void)state;
	static int lengths[20000];
	struct train_lengths drawn;
	assert_true(train_lengths_parse(&drawn, "lognormal:24:0.8"));
	for (size_t i = 0; i < 20000; i++)
		lengths[i] = train_length(&drawn, train_random(1, i), 256);
	qsort(lengths, 20000, sizeof(lengths[0]), compare_ints);
	assert_in_range(lengths[10000], 23, 25);
	assert_in_range(lengths[16827], 51, 56); /* a deviation beyond: 24 * exp(0.8) = 53.4 */
	assert_int_equal(lengths[19999], 256);
	assert_true(train_lengths_parse(&drawn, "uniform:3:5"));
	for (size_t i = 0; i < 100; i++)
		assert_in_range(train_length(&drawn, train_random(1, i), 4), 3, 4);
	assert_true(train_lengths_parse(&drawn, NULL));
	assert_int_equal(train_length(&drawn, 1, 77), 77);
	assert_false(train_lengths_parse(&drawn, "lognormal:24"));
	assert_false(train_lengths_parse(&drawn, "uniform:5:3"));
	assert_false(train_lengths_parse(&drawn, "normal:5:3"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_is_there_once),  cmocka_unit_test(budgets_hold),
		cmocka_unit_test(like_lengths_go_together), cmocka_unit_test(buckets_are_shuffled),
		cmocka_unit_test(lengths_are_as_drawn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
