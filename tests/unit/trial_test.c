/* SPDX-License-Identifier: MIT */
/* What is concluded from the time that copies take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "transport/memory/trial.h"

#define BYTES 32768
#define FAST_NS (BYTES / 8) /* of a copy of so many bytes */
#define SLOW_NS (BYTES / 2)
#define INTERRUPTED_NS (BYTES * 20)

static void note(struct ring_trial *trial, int times, uint64_t ns)
{
	for (int i = 0; i < times; i++)
		ring_trial_note(trial, BYTES, ns);
}

static void one_slow_copy_is_chance(void **state)
{
	(void)state;
	struct ring_trial trial = {0};
	for (int i = 0; i < 3; i++) {
		note(&trial, 1, SLOW_NS);
		note(&trial, 1, FAST_NS);
	}
	assert_false(ring_trial_takes_other(&trial));
}

static void interrupted_copies_tell_nothing(void **state)
{
	(void)state;
	struct ring_trial trial = {0};
	note(&trial, 10, INTERRUPTED_NS);
	assert_false(ring_trial_takes_other(&trial));
	note(&trial, 1, SLOW_NS);
	note(&trial, 1, INTERRUPTED_NS);
	note(&trial, 1, SLOW_NS);
	assert_int_equal(trial.other, 8);
}

static void tries_grow_rare_while_they_are_slow(void **state)
{
	(void)state;
	static const unsigned other[] = {0, 8, 16, 32, 64, 128, 256, 512, 512, 512};
	struct ring_trial trial = {0};
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		note(&trial, 1, SLOW_NS);
		for (unsigned k = 0; k < other[i]; k++)
			assert_true(ring_trial_takes_other(&trial));
		assert_false(ring_trial_takes_other(&trial));
	}
	note(&trial, 1, FAST_NS);
	note(&trial, 2, SLOW_NS);
	assert_int_equal(trial.other, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_slow_copy_is_chance),
		cmocka_unit_test(interrupted_copies_tell_nothing),
		cmocka_unit_test(tries_grow_rare_while_they_are_slow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
