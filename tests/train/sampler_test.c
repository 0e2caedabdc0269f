/* SPDX-License-Identifier: MIT */
/* Who trains on which example: everybody's examples together, epochs, and other numbers of ranks. */
#include "train/data/sampler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MOST_RANKS 9
#define MOST_EXAMPLES 40

static struct train_sampler make(size_t examples, int ranks, bool shuffles, bool drops_last)
{
	return (struct train_sampler){.examples = examples,
				      .ranks = ranks,
				      .seed = 7,
				      .shuffles = shuffles,
				      .drops_last = drops_last};
}

/* How often each example is trained on in an epoch, over all ranks. returns how many in all */
static size_t count_uses(struct train_sampler sampler, uint64_t epoch, unsigned uses[])
{
	size_t length = train_sampler_length(&sampler);
	for (size_t i = 0; i < sampler.examples; i++)
		uses[i] = 0;
	for (sampler.rank = 0; sampler.rank < sampler.ranks; sampler.rank++) {
		for (size_t i = 0; i < length; i++) {
			size_t example = train_sampler_example(&sampler, epoch, i);
			assert_true(example < sampler.examples);
			uses[example]++;
		}
	}
	return length * (size_t)sampler.ranks;
}

/* Padded: all examples, and as many twice as are missing to a multiple, spread evenly. */
static void test_padding(void **state)
{
	(void)state;
	for (int ranks = 1; ranks <= MOST_RANKS; ranks++) {
		for (size_t examples = 1; examples <= MOST_EXAMPLES; examples++) {
			unsigned uses[MOST_EXAMPLES];
			size_t total = count_uses(make(examples, ranks, true, false), 3, uses);
			size_t n = (size_t)ranks;
			assert_int_equal(total, (examples + n - 1) / n * n);
			unsigned least = (unsigned)(total / examples);
			size_t more = 0;
			for (size_t i = 0; i < examples; i++) {
				assert_true(uses[i] == least || uses[i] == least + 1);
				more += uses[i] - least;
			}
			assert_int_equal(more, total % examples);
		}
	}
}

/* Dropped: nothing twice, and fewer than one per rank left out. */
static void test_dropping(void **state)
{
	(void)state;
	for (int ranks = 1; ranks <= MOST_RANKS; ranks++) {
		for (size_t examples = 1; examples <= MOST_EXAMPLES; examples++) {
			unsigned uses[MOST_EXAMPLES];
			size_t total = count_uses(make(examples, ranks, true, true), 0, uses);
			assert_int_equal(total, examples / (size_t)ranks * (size_t)ranks);
			for (size_t i = 0; i < examples; i++)
				assert_true(uses[i] <= 1);
		}
	}
}

/* As DistributedSampler(range(10), 3, shuffle=False): [0 3 6 9], [1 4 7 0], [2 5 8 1]. */
static void test_as_pytorch(void **state)
{
	static const size_t expected[3][4] = {{0, 3, 6, 9}, {1, 4, 7, 0}, {2, 5, 8, 1}};
	struct train_sampler sampler = make(10, 3, false, false);
	(void)state;
	assert_int_equal(train_sampler_length(&sampler), 4);
	for (sampler.rank = 0; sampler.rank < 3; sampler.rank++) {
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(train_sampler_example(&sampler, 5, i),
					 expected[sampler.rank][i]);
	}
}

/* A step's global batch is the same examples, however many ranks share it. */
static void test_other_ranks(void **state)
{
	const size_t global = 12, examples = 100;
	struct train_sampler alone = make(examples, 1, true, true);
	(void)state;
	for (int ranks = 2; ranks <= 6; ranks++) {
		if (global % (size_t)ranks != 0)
			continue;
		struct train_sampler sampler = make(examples, ranks, true, true);
		for (size_t i = 0; i < examples / global * global; i++) {
			sampler.rank = (int)(i % (size_t)ranks);
			assert_int_equal(train_sampler_example(&sampler, 2, i / (size_t)ranks),
					 train_sampler_example(&alone, 2, i));
		}
	}
}

/* Each epoch and seed has an order of its own, and no example a favourite place. */
static void test_shuffling(void **state)
{
	enum { EPOCHS = 4000, EXAMPLES = 20 };
	struct train_sampler sampler = make(EXAMPLES, 1, true, true);
	unsigned first[EXAMPLES] = {0}, same = 0;
	(void)state;
	for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
		first[train_sampler_example(&sampler, epoch, 0)]++;
		struct train_sampler other = sampler;
		other.seed++;
		for (size_t i = 0; i < EXAMPLES; i++)
			same += train_sampler_example(&sampler, epoch, i) ==
				train_sampler_example(&other, epoch, i);
	}
	/* 200 and 4000 are expected; six standard deviations are 84 and 380. */
	for (size_t i = 0; i < EXAMPLES; i++)
		assert_in_range(first[i], 200 - 84, 200 + 84);
	assert_in_range(same, 4000 - 400, 4000 + 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_padding),    cmocka_unit_test(test_dropping),
		cmocka_unit_test(test_as_pytorch), cmocka_unit_test(test_other_ranks),
		cmocka_unit_test(test_shuffling),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
