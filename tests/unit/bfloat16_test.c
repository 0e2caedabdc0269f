/* SPDX-License-Identifier: MIT */
/*
 * One sum of bfloat16s that is NaN, subnormal or nearly so, alone among ordinary ones: families that look at many at once
 * must see it, and nothing of it behind it. And the flags of exceptions that they look at are the program's again when a
 * call has ended. RING_TEST_SEED repeats a failure.
 */
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "comm/fpenv.h"
#include "kernels/cpu/cpu.h"
#include "tests/kernels/jobs.h"
#include "tests/transport/dice.h"

#define ONE 0x3f80
#define COUNT 300 /* two blocks and a rest */
#define SUMS 100000

static unsigned long seed;
static const struct ring_cpu_family *family, *plain;

static void sum(const struct ring_cpu_family *by, uint16_t *to, const uint16_t *a, const uint16_t *b)
{
	struct ring_reduction job = {.sources = {a, b},
				     .nsources = 2,
				     .results = {to},
				     .nresults = 1,
				     .count = COUNT,
				     .type = RING_BFLOAT16,
				     .op = RING_SUM};
	assert_int_equal(ring_cpu_reduce(by, &job), 0);
}

/* Any sign and fraction; exponents about the least and the largest. */
static uint16_t edge(uint64_t *dice)
{
	uint64_t exponent = dice_below(dice, 20);
	uint64_t bits = dice_roll(dice) & 0x807f;
	return (uint16_t)(bits | (dice_below(dice, 4) ? exponent : 255 - exponent) << 7);
}

static void one_among_many(void **state)
{
	(void)state;
	uint16_t a[COUNT], b[COUNT], got[COUNT], want[COUNT];
	uint64_t dice = seed;
	for (int i = 0; i < COUNT; i++)
		a[i] = b[i] = ONE;
	for (int n = 0; n < SUMS; n++) {
		uint64_t at = dice_below(&dice, COUNT);
		a[at] = edge(&dice);
		b[at] = dice_below(&dice, 4) ? edge(&dice) : a[at] ^ 0x8001;
		sum(plain, want, a, b);
		sum(family, got, a, b);
		if (memcmp(got, want, sizeof(got)) != 0)
			fail_msg("%s: %x + %x, and ones, become %x, want %x; RING_TEST_SEED=%lu",
				 family->name, a[at], b[at], got[at], want[at], seed);
		sum(family, a, a, b);
		assert_memory_equal(a, want, sizeof(a));
		a[at] = b[at] = ONE;
		memcpy(a, b, sizeof(a));
	}
}

static void flags_come_back(void **state)
{
	(void)state;
	uint16_t a[COUNT] = {0x7fc0, 1}, b[COUNT] = {1, 1};
	feraiseexcept(FE_INVALID | FE_DIVBYZERO);
	struct ring_fpenv saved = ring_fpenv_enter();
	sum(family, a, a, b);
	ring_fpenv_leave(saved);
	assert_int_equal(fetestexcept(FE_INVALID | FE_DIVBYZERO), FE_INVALID | FE_DIVBYZERO);
	feclearexcept(FE_ALL_EXCEPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_among_many),
		cmocka_unit_test(flags_come_back),
	};
	int failures = 0;
	seed = jobs_seed_as_told();
	for (int i = 0; ring_cpu_family(i); i++)
		plain = ring_cpu_family(i); /* the last one */
	for (int i = 0; (family = ring_cpu_family(i)) != NULL; i++)
		failures += cmocka_run_group_tests_name(family->name, tests, NULL, NULL);
	return failures;
}
