/* SPDX-License-Identifier: MIT */
/*
 * When a connection has had no answer for too long: the judgement of transport/outage.h, look by look, on a clock
 * that is made up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport/outage.h"
#include "base/waits.h"

#define LOST_MS 5000

static struct ring_outage outage;
static struct ring_sight sight;
static uint64_t now_ms;

static void begin(void)
{
	outage = (struct ring_outage){0};
	sight = (struct ring_sight){.acked = 1000, .under_way = true};
	now_ms = 1000000;
	assert_false(ring_outage_judge(&outage, &sight, LOST_MS, now_ms));
}

static bool look(void)
{
	now_ms += RING_OUTAGE_LOOK_MS;
	return ring_outage_judge(&outage, &sight, LOST_MS, now_ms);
}

/* Looks for so long, and is asked to say that the other end is not lost. The kernel sends again every so often; 0: never. */
static void pass(int ms, int again_ms)
{
	for (int passed = 0; passed < ms; passed += RING_OUTAGE_LOOK_MS) {
		if (again_ms && passed % again_ms == 0)
			sight.tries++;
		assert_false(look());
	}
}

/* How long it takes until it is lost. */
static int time_to_loss(int again_ms)
{
	int passed = 0;
	for (; passed < 100000; passed += RING_OUTAGE_LOOK_MS) {
		if (again_ms && passed % again_ms == 0)
			sight.tries++;
		if (look())
			return passed + RING_OUTAGE_LOOK_MS;
	}
	return passed;
}

/* A path that is cut took a quarter of an hour to be noticed. */
static void silence_is_loss(void **state)
{
	(void)state;
	begin();
	assert_in_range(time_to_loss(1000), LOST_MS, LOST_MS + 2000);
	begin();
	assert_in_range(time_to_loss(100000), LOST_MS, LOST_MS + 2000);
}

/* The job ended though the network was back: nothing had been sent again since. */
static void last_try_is_waited_for(void **state)
{
	(void)state;
	begin();
	pass(LOST_MS + RING_OUTAGE_LOOK_MS, 1000);
	sight.acked++;
	assert_false(look());
	pass(LOST_MS + RING_OUTAGE_LOOK_MS, 1000);
}

static void progress_is_life(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 100; i++) {
		pass(LOST_MS - 1000, 1000);
		sight.acked++;
		assert_false(look());
	}
	sight.under_way = false;
	pass(10 * LOST_MS, 0);
	sight.under_way = true;
	pass(LOST_MS, 1000);
}

/* A rank that was stopped, or computed for long, was taken for dead: its kernel answers for it. */
static void shut_window_is_life(void **state)
{
	(void)state;
	begin();
	sight.shut = true;
	for (int i = 0; i < 100; i++) {
		sight.heard_ms = 0; /* the answer to a probe, as seldom as an older kernel sends one */
		assert_false(look());
		for (int ms = 0; ms < 60000; ms += RING_OUTAGE_LOOK_MS) {
			sight.heard_ms += RING_OUTAGE_LOOK_MS + 1;
			assert_false(look());
		}
		sight.tries++; /* one was lost */
		sight.heard_ms += RING_OUTAGE_LOOK_MS + 1;
		assert_false(look());
		assert_false(look());
	}
}

static void unanswered_probes_are_loss(void **state)
{
	(void)state;
	begin();
	sight.shut = true;
	sight.heard_ms = 100000;
	assert_in_range(time_to_loss(1000), LOST_MS, LOST_MS + 3000);
}

/* It opens: what was not answered before, as nobody asked, does not count. */
static void window_that_opens_begins_anew(void **state)
{
	(void)state;
	begin();
	sight.shut = true;
	sight.heard_ms = 100000;
	pass(10 * LOST_MS, 0);
	sight.shut = false;
	pass(LOST_MS, 1000);
}

/* A program that was stopped itself, or a machine, finds much time gone between two looks. */
static void time_away_is_no_loss(void **state)
{
	(void)state;
	begin();
	pass(1000, 0);
	now_ms += 3600000;
	assert_false(look());
	sight.acked++;
	assert_false(look());
}

static void lost_time_may_be_any(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 100; i++) {
		now_ms += 3600000;
		assert_false(ring_outage_judge(&outage, &sight, INT32_MAX, now_ms));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silence_is_loss),
		cmocka_unit_test(last_try_is_waited_for),
		cmocka_unit_test(progress_is_life),
		cmocka_unit_test(shut_window_is_life),
		cmocka_unit_test(unanswered_probes_are_loss),
		cmocka_unit_test(window_that_opens_begins_anew),
		cmocka_unit_test(time_away_is_no_loss),
		cmocka_unit_test(lost_time_may_be_any),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
