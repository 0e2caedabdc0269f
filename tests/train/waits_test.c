/* SPDX-License-Identifier: MIT */
/* What a rank is blocked for: made-up arrivals, and what of them is communication. */
#include "train/step/waits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Times are in ms: of one rank, and of the rank that came last. */
static struct train_step settle(const struct train_wait *waits, const double *last, size_t count)
{
	struct train_wait seconds[8];
	double lasts[8];
	struct train_step step = {0};
	for (size_t i = 0; i < count; i++) {
		seconds[i] = waits[i];
		seconds[i].came *= 1e-3;
		seconds[i].end *= 1e-3;
		lasts[i] = 1e-3 * last[i];
	}
	train_waits_settle(&step, seconds, lasts, count);
	return step;
}

#define CHECK_MS(value, expected) assert_float_equal(1e3 * (value), expected, 1e-9)

/* Rank 0's backward is over at 10 ms, the last rank's at 50; bucket 0 began at 5 here and at 45 there. */
static void a_late_rank_is_no_communication(void **state)
{
	(void)state;
	const struct train_wait waits[] = {{TRAIN_WAIT_GRADIENTS, 10, 56, 0},
					   {TRAIN_WAIT_CALL, 5, 49, 0},
					   {TRAIN_WAIT_CALL, 49, 56, 0}};
	struct train_step step = settle(waits, (double[]){50, 45, 50}, 3);
	CHECK_MS(step.waiting, 40);
	CHECK_MS(step.exposed, 6);
	CHECK_MS(step.busy, 4 + 6);
	CHECK_MS(step.hidden, 4);
}

/* Behind backward nothing is hidden, whoever is late. */
static void nothing_is_hidden_behind_backward(void **state)
{
	(void)state;
	const struct train_wait waits[] = {{TRAIN_WAIT_GRADIENTS, 10, 31, 0},
					   {TRAIN_WAIT_CALL, 10, 25, 0},
					   {TRAIN_WAIT_CALL, 25, 31, 0}};
	struct train_step step = settle(waits, (double[]){20, 20, 26}, 3);
	CHECK_MS(step.waiting, 10);
	CHECK_MS(step.exposed, 11);
	CHECK_MS(step.busy, 5 + 5);
	CHECK_MS(step.hidden, 0);
}

/* The last rank itself waits for nobody, and what was complete before it was done is all hidden. */
static void who_comes_last_does_not_wait(void **state)
{
	(void)state;
	const struct train_wait waits[] = {{TRAIN_WAIT_GRADIENTS, 50, 50, 0},
					   {TRAIN_WAIT_CALL, 20, 30, 0}};
	struct train_step step = settle(waits, (double[]){50, 20}, 2);
	CHECK_MS(step.waiting, 0);
	CHECK_MS(step.exposed, 0);
	CHECK_MS(step.hidden, 10);
	CHECK_MS(step.busy, 10);
}

/* Clocks of hosts differ a little: nothing becomes negative, or longer than the rank was blocked. */
static void clocks_that_differ_do_no_harm(void **state)
{
	(void)state;
	const struct train_wait waits[] = {{TRAIN_WAIT_GRADIENTS, 10, 20, 0},
					   {TRAIN_WAIT_CALL, 11, 19, 0}};
	struct train_step step = settle(waits, (double[]){21, 22}, 2);
	CHECK_MS(step.waiting, 10);
	CHECK_MS(step.exposed, 0);
	CHECK_MS(step.busy, 0);
	CHECK_MS(step.hidden, 0);
}

/* Calls that are not for gradients are communication, and told; barriers are waiting for the most part. */
static void extra_calls_and_barriers_count(void **state)
{
	(void)state;
	const struct train_wait waits[] = {{TRAIN_WAIT_EXTRA, 0, 12, 0},
					   {TRAIN_WAIT_BARRIER, 20, 41, 0}};
	struct train_step step = settle(waits, (double[]){2, 40}, 2);
	CHECK_MS(step.extra, 10);
	CHECK_MS(step.exposed, 11);
	CHECK_MS(step.waiting, 22);
	CHECK_MS(step.busy, 0);
}

/* Two averagings of a step each have a last rank of their own. */
static void averagings_are_apart(void **state)
{
	(void)state;
	const struct train_wait waits[] = {{TRAIN_WAIT_GRADIENTS, 10, 15, 0},
					   {TRAIN_WAIT_CALL, 8, 15, 0},
					   {TRAIN_WAIT_GRADIENTS, 30, 37, 0},
					   {TRAIN_WAIT_CALL, 28, 37, 0}};
	struct train_step step = settle(waits, (double[]){12, 11, 31, 29}, 4);
	CHECK_MS(step.waiting, 2 + 1);
	CHECK_MS(step.exposed, 3 + 6);
	CHECK_MS(step.hidden, 1 + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_late_rank_is_no_communication),
		cmocka_unit_test(nothing_is_hidden_behind_backward),
		cmocka_unit_test(who_comes_last_does_not_wait),
		cmocka_unit_test(clocks_that_differ_do_no_harm),
		cmocka_unit_test(extra_calls_and_barriers_count),
		cmocka_unit_test(averagings_are_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
