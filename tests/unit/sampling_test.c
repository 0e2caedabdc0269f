/* SPDX-License-Identifier: MIT */
/*
 * How times come about, on a clock that the test moves: it advances by 10 ns at a time, and reading it takes 22.5 ns,
 * so a single call of 87.3 ns seems to take 100 to 120.
 */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define perf_now the_real_clock
#include "perf/limits/samples.c"
#undef perf_now
#include "perf/limits/sampling.h"

#define STEP_S 10e-9
#define READING_S 22.5e-9
#define BARRIER_S 613.7e-9
#define SAMPLES 40

#define ROOMY 0 /* ranks, for any machine */
#define CROWDED INT_MAX
#define LATE_S 5e-6
#define ANOTHER_CLOCK_S 1e-3

static double now_s, call_s;
static double later_s; /* by which another rank's clock is ahead when it agrees to something */
static double waited_s; /* most of a run's beginning, since ranks agreed on something or the last run's end */
static double since_s;    /* when that was */
static int calls_at_once; /* most of one run */
static int barriers, refreshes;

double perf_now(void);
double perf_now(void)
{
	now_s += READING_S;
	return floor((now_s - READING_S / 2) / STEP_S) * STEP_S;
}

static int run(void *context, int calls)
{
	(void)context;
	waited_s = fmax(waited_s, now_s - since_s);
	now_s += calls * call_s;
	since_s = now_s;
	if (calls > calls_at_once)
		calls_at_once = calls;
	return 0;
}

static int refresh(void *context)
{
	(void)context;
	refreshes++;
	return 0;
}

static int barrier(void *context)
{
	(void)context;
	now_s += BARRIER_S;
	barriers++;
	return 0;
}

static int max(void *context, double *values, int count)
{
	(void)context;
	if (count == 1)
		values[0] += later_s;
	since_s = now_s;
	return 0;
}

static void measure(int ranks, double seconds, struct perf_times times[PERF_BUFFERS])
{
	static double us[SAMPLES * PERF_TIMES];
	struct perf_subject subject = {
		.ranks = ranks,
		.run = run,
		.refresh = refresh,
		.barrier = barrier,
		.max = max,
		.us = us,
	};
	struct perf_effort effort = {.wanted = {true, true}, .warmup = 1, .samples = SAMPLES};
	now_s = waited_s = since_s = 0;
	call_s = seconds;
	calls_at_once = barriers = refreshes = 0;
	assert_int_equal(perf_sample(&subject, &effort, times), 0);
}

static void assert_near(double us, double expected, double tolerance)
{
	if (!(fabs(us - expected) <= tolerance * expected))
		fail_msg("%.5f us, not %.5f", us, expected);
}

static void test_short_calls(void **state)
{
	(void)state;
	struct perf_times times[PERF_BUFFERS];
	measure(CROWDED, 87.3e-9, times);
	assert_near(times[PERF_HOT].median, 0.0873, 0.002);
	assert_near(times[PERF_FRESH].median, 0.0873, 0.02);
	assert_int_equal(times[PERF_HOT].calls_per_sample, calls_at_once);
	assert_int_equal(times[PERF_FRESH].calls_per_sample, PERF_TIMES);
	assert_int_equal(refreshes, SAMPLES * PERF_TIMES);
	assert_int_equal(barriers, SAMPLES * (1 + 2 * PERF_TIMES));
}

static void test_long_calls(void **state)
{
	(void)state;
	struct perf_times times[PERF_BUFFERS];
	measure(CROWDED, 4e-3, times);
	for (int kind = 0; kind < PERF_BUFFERS; kind++) {
		assert_near(times[kind].median, 4000, 1e-5);
		assert_int_equal(times[kind].calls_per_sample, 1);
		assert_int_equal(times[kind].samples, SAMPLES);
	}
	assert_int_equal(calls_at_once, 1);
	assert_int_equal(refreshes, SAMPLES);
}

static void test_nothing_takes_no_time(void **state)
{
	(void)state;
	struct perf_times times[PERF_BUFFERS];
	measure(CROWDED, 0.1e-9, times);
	for (int kind = 0; kind < PERF_BUFFERS; kind++)
		assert_true(times[kind].min > 0);
}

/* Behind a barrier one may come later than the other; so they also wait for the clock where they can. */
static void test_all_begin_at_once(void **state)
{
	(void)state;
	struct perf_times times[PERF_BUFFERS];
	later_s = 0;
	measure(ROOMY, 4e-3, times);
	assert_int_equal(barriers, 3 * SAMPLES); /* and before inputs are rewritten */
	double lead_s = waited_s;
	assert_true(lead_s > LATE_S);
	later_s = -LATE_S; /* this rank is late, by the clock that they share */
	measure(ROOMY, 4e-3, times);
	assert_near(waited_s * 1e6, (lead_s - LATE_S) * 1e6, 0.01);
	assert_near(times[PERF_FRESH].median, 4000, 1e-5);
}

static void test_nobody_waits_for_another_clock(void **state)
{
	(void)state;
	struct perf_times times[PERF_BUFFERS];
	later_s = ANOTHER_CLOCK_S;
	measure(ROOMY, 4e-3, times);
	later_s = 0;
	assert_true(waited_s < LATE_S);
	assert_near(times[PERF_FRESH].median, 4000, 1e-5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_calls),
		cmocka_unit_test(test_long_calls),
		cmocka_unit_test(test_nothing_takes_no_time),
		cmocka_unit_test(test_all_begin_at_once),
		cmocka_unit_test(test_nobody_waits_for_another_clock),
	};
	return cmocka_run_group_tests_name("sampling", tests, NULL, NULL);
}
