/* SPDX-License-Identifier: MIT */
/* How long a rank looks before it sleeps, as a function of who shares the CPUs. */
#include "engine/wait.h"
#include "base/waits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct ring_patience choose(struct ring_load load)
{
	return ring_patience_choose(&load);
}

static void a_cpu_each(void **state)
{
	(void)state;
	struct ring_patience memory = choose((struct ring_load){0});
	struct ring_patience sockets = choose((struct ring_load){.sockets = true});
	assert_true(memory.spins > sockets.spins);
	assert_true(sockets.spins > 0);
	assert_true(memory.yields > 0); /* before it sleeps */
	assert_int_equal(sockets.yields, 0);
}

static void more_ranks_than_cpus(void **state)
{
	(void)state;
	for (int sockets = 0; sockets <= 1; sockets++) {
		struct ring_patience patience = choose(
			(struct ring_load){.crowded = true, .sockets = sockets});
		assert_int_equal(patience.spins, sockets ? 0 : RING_FAR_LOOKS);
		assert_true(patience.yields > 0);
	}
}

static void paced_links(void **state)
{
	(void)state;
	for (int crowded = 0; crowded <= 1; crowded++) {
		struct ring_patience patience = choose(
			(struct ring_load){.crowded = crowded, .paced = true});
		assert_false(ring_wait_awake(&patience, 0, false));
	}
}

static void spins_then_yields_then_sleeps(void **state)
{
	(void)state;
	const struct ring_patience patience = {.spins = 3, .yields = 2};
	for (int looks = 0; looks < 5; looks++)
		assert_true(ring_wait_awake(&patience, looks, looks % 2));
	assert_false(ring_wait_awake(&patience, 5, true));
	assert_false(ring_wait_awake(&patience, 1000000, false));
}

static void sleeps_after_some_time(void **state)
{
	(void)state;
	const struct ring_patience patience = {.yields = 2, .ms = 20}, any = {.yields = 2};
	assert_false(ring_wait_is_long(&patience, 19));
	assert_true(ring_wait_is_long(&patience, 20));
	assert_false(ring_wait_is_long(&any, UINT64_MAX));
	for (int crowded = 0; crowded <= 1; crowded++)
		assert_true(choose((struct ring_load){.crowded = crowded}).ms > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cpu_each),
		cmocka_unit_test(more_ranks_than_cpus),
		cmocka_unit_test(paced_links),
		cmocka_unit_test(spins_then_yields_then_sleeps),
		cmocka_unit_test(sleeps_after_some_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
