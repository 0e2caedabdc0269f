/* SPDX-License-Identifier: MIT */
/* ring_model's fits, against samples of known speeds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tools/model_machine.h"
#include "tools/model_fit.h"

#define CHUNK 65536
#define SAMPLES_MAX 256

struct sampling {
	struct model_sample at[SAMPLES_MAX];
	size_t count;
};

/* Sizes 1 KiB .. 64 MiB of a machine with these speeds. */
static void sample(struct sampling *sampling, const struct model_machine *machine,
		   enum ring_kind kind, int ranks, double chunk)
{
	for (double bytes = 1024; bytes <= 64 << 20; bytes *= 4) {
		struct model_work work = model_work_of(kind, ranks, bytes, chunk);
		sampling->at[sampling->count++] =
			(struct model_sample){.kind = kind,
					      .transport = "tcp",
					      .ranks = ranks,
					      .bytes = bytes,
					      .chunk = chunk,
					      .seconds = model_time(machine, ranks, &work)};
	}
}

static enum model_fit_result fit_all(const struct sampling *sampling, double reduce_rate,
				     struct model_fit *fit)
{
	size_t where;
	struct model_known known = {.reduce_rate = reduce_rate};
	return model_fit(sampling->at, sampling->count, &known, fit, &where);
}

static void fits_find_all_four_speeds(void **state)
{
	(void)state;
	struct model_machine machine = link_machine(1.2e9, 15e-6);
	machine.reduce_rate = 3e9;
	machine.overhead = 40e-6;
	struct sampling sampling = {.count = 0};
	for (int ranks = 2; ranks <= 8; ranks *= 2) {
		sample(&sampling, &machine, RING_KIND_ALL_REDUCE, ranks, INFINITY);
		sample(&sampling, &machine, RING_KIND_ALL_GATHER, ranks, INFINITY);
	}
	struct model_fit fit;
	assert_int_equal(fit_all(&sampling, 9e9, &fit), MODEL_FIT_OK);
	assert_int_equal(fit.overhead_from, MODEL_FITTED);
	assert_int_equal(fit.reduce_from, MODEL_FITTED);
	assert_int_equal(fit.ranks, 0);
	assert_near(fit.machine.link.latency / 15e-6, 1, 1e-3);
	assert_near(fit.machine.link.bandwidth / 1.2e9, 1, 1e-3);
	assert_near(fit.machine.reduce_rate / 3e9, 1, 1e-3);
	assert_near(fit.machine.overhead / 40e-6, 1, 1e-3);
	assert_true(fit.worst < 1e-3);
}

/* Blocks of many chunks hide latency and reducing; that is known of them, and so no surprise. */
static void fits_know_of_chunks(void **state)
{
	(void)state;
	struct model_machine machine = link_machine(1e9, 20e-6);
	machine.reduce_rate = 4e9;
	struct sampling sampling = {.count = 0};
	for (int ranks = 2; ranks <= 4; ranks *= 2) {
		sample(&sampling, &machine, RING_KIND_ALL_REDUCE, ranks, CHUNK);
		sample(&sampling, &machine, RING_KIND_REDUCE_SCATTER, ranks, CHUNK);
		sample(&sampling, &machine, RING_KIND_ALL_GATHER, ranks, CHUNK);
	}
	struct model_fit fit;
	assert_int_equal(fit_all(&sampling, 0, &fit), MODEL_FIT_OK);
	assert_near(fit.machine.link.latency / 20e-6, 1, 1e-2);
	assert_near(fit.machine.link.bandwidth / 1e9, 1, 1e-2);
	assert_near(fit.machine.reduce_rate / 4e9, 1, 5e-2);
	assert_near(fit.machine.chunk, CHUNK, 0);
}

/* One number of ranks, one collective: only sums of two are to be seen. */
static void fits_do_not_make_up_what_is_not_there(void **state)
{
	(void)state;
	struct model_machine machine = link_machine(1e9, 10e-6);
	machine.reduce_rate = 4e9;
	machine.overhead = 60e-6;
	struct sampling sampling = {.count = 0};
	sample(&sampling, &machine, RING_KIND_ALL_REDUCE, 4, INFINITY);

	struct model_fit fit;
	assert_int_equal(fit_all(&sampling, 0, &fit), MODEL_FIT_OK);
	assert_int_equal(fit.overhead_from, MODEL_WITHIN);
	assert_int_equal(fit.reduce_from, MODEL_WITHIN);
	assert_int_equal(fit.ranks, 4);
	assert_near(fit.machine.link.latency, 10e-6 + 60e-6 / 6, 1e-8);
	assert_near(1e9 / fit.machine.link.bandwidth, 1 + 0.5 / 4, 1e-3);
	assert_true(isinf(fit.machine.reduce_rate));

	assert_int_equal(fit_all(&sampling, 4e9, &fit), MODEL_FIT_OK);
	assert_int_equal(fit.reduce_from, MODEL_MEASURED);
	assert_near(fit.machine.link.bandwidth / 1e9, 1, 1e-3);

	/* A rate that would explain more time than there was is not believed. */
	assert_int_equal(fit_all(&sampling, 1e8, &fit), MODEL_FIT_OK);
	assert_int_equal(fit.reduce_from, MODEL_WITHIN);
}

/* Noise of 10 % either way moves the speeds by less than that, at both ends. */
static void fits_survive_noise(void **state)
{
	(void)state;
	struct model_machine machine = link_machine(1e9, 20e-6);
	struct sampling sampling = {.count = 0};
	for (int ranks = 2; ranks <= 4; ranks++)
		sample(&sampling, &machine, RING_KIND_ALL_REDUCE, ranks, INFINITY);
	for (size_t i = 0; i < sampling.count; i++)
		sampling.at[i].seconds *= i % 2 ? 1.1 : 1 / 1.1;
	struct model_fit fit;
	assert_int_equal(fit_all(&sampling, 0, &fit), MODEL_FIT_OK);
	assert_near(fit.machine.link.bandwidth / 1e9, 1, 0.1);
	assert_true(fit.worst < 0.25);
	assert_true(fit.median > 0.01);
}

static void fits_below_limits_are_refused(void **state)
{
	(void)state;
	struct model_machine machine = link_machine(1e9, 20e-6);
	struct sampling sampling = {.count = 0};
	sample(&sampling, &machine, RING_KIND_ALL_REDUCE, 2, INFINITY);
	/* Three samples are slow, and the limits say that they had to be. */
	for (int i = 3; i < 6; i++) {
		sampling.at[i].seconds *= 3;
		sampling.at[i].limit = 0.9 * sampling.at[i].seconds;
	}
	struct model_fit fit;
	struct model_known known = {.widest = 2e9};
	size_t where = 0;
	assert_int_equal(model_fit(sampling.at, sampling.count, &known, &fit, &where),
			 MODEL_FIT_TOO_FAST);
	assert_in_range(where, 3, 5);
	/* A limit above what was measured is none. */
	for (int i = 3; i < 6; i++)
		sampling.at[i].seconds /= 3;
	assert_int_equal(model_fit(sampling.at, sampling.count, &known, &fit, &where), MODEL_FIT_OK);
	known.widest = 0.5e9;
	assert_int_equal(model_fit(sampling.at, sampling.count, &known, &fit, &where),
			 MODEL_FIT_TOO_WIDE);
	assert_int_equal(model_fit(sampling.at, 2, &known, &fit, &where), MODEL_FIT_TOO_FEW);
}

/* Times that no line explains, as of a machine that did something else. */
static void fits_that_are_far_off_are_refused(void **state)
{
	(void)state;
	struct model_machine machine = link_machine(1e9, 20e-6);
	struct sampling sampling = {.count = 0};
	sample(&sampling, &machine, RING_KIND_ALL_REDUCE, 2, INFINITY);
	for (size_t i = 0; i < sampling.count; i++)
		sampling.at[i].seconds *= i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 1.0 / 3;
	struct model_fit fit;
	assert_int_equal(fit_all(&sampling, 0, &fit), MODEL_FIT_OFF);
	assert_true(fit.median > MODEL_FIT_MEDIAN_MOST);
}

/* One row that something else slowed down does not bend all others. */
static void fits_survive_a_wild_row(void **state)
{
	(void)state;
	struct model_machine machine = link_machine(1e9, 20e-6);
	struct sampling sampling = {.count = 0};
	sample(&sampling, &machine, RING_KIND_ALL_REDUCE, 2, INFINITY);
	sampling.at[3].seconds *= 200;
	struct model_fit fit;
	assert_int_equal(fit_all(&sampling, 0, &fit), MODEL_FIT_OK);
	assert_near(fit.machine.link.bandwidth / 1e9, 1, 0.1);
	assert_near(fit.machine.link.latency / 20e-6, 1, 0.2);
}

/* All calls are long, or all are short: the other speed could be anything. */
static void fits_name_what_is_missing(void **state)
{
	(void)state;
	struct model_machine machine = link_machine(1e9, 20e-6);
	struct sampling sampling = {.count = 0};
	struct model_fit fit;
	sample(&sampling, &machine, RING_KIND_ALL_REDUCE, 2, INFINITY);
	for (size_t i = 0; i < sampling.count; i++) /* noise that a second unknown can hide in */
		sampling.at[i].seconds *= i % 2 ? 1.03 : 1 / 1.03;
	size_t count = sampling.count;
	sampling.count = 3;
	for (size_t i = 0; i < 3; i++)
		sampling.at[i].seconds = 40e-6 * (i % 2 ? 1.03 : 1 / 1.03);
	assert_int_equal(fit_all(&sampling, 0, &fit), MODEL_FIT_NO_BANDWIDTH);
	memmove(sampling.at, sampling.at + count - 3, 3 * sizeof(sampling.at[0]));
	assert_int_equal(fit_all(&sampling, 0, &fit), MODEL_FIT_NO_LATENCY);
}

/*
 * Paced links of 100 MB/s and 200 us, all-reduces on 3 ranks, whose blocks are not whole bytes in small
 * sizes: a reduction rate of half the link's would explain them as well.
 */
static void fits_invent_no_reduction_rate(void **state)
{
	(void)state;
	struct model_machine machine = link_machine(100e6, 200e-6);
	struct sampling sampling = {.count = 0};
	for (double bytes = 8; bytes <= 4 << 20; bytes *= 4) {
		struct model_work work = model_work_of(RING_KIND_ALL_REDUCE, 3, bytes, CHUNK);
		double noise = 1 + 0.01 * sin(bytes);
		sampling.at[sampling.count++] =
			(struct model_sample){.kind = RING_KIND_ALL_REDUCE,
					      .transport = "shm",
					      .ranks = 3,
					      .bytes = bytes,
					      .chunk = CHUNK,
					      .seconds = noise * model_time(&machine, 3, &work)};
	}
	struct model_fit fit;
	assert_int_equal(fit_all(&sampling, 0, &fit), MODEL_FIT_OK);
	assert_int_equal(fit.reduce_from, MODEL_WITHIN);
	assert_true(isinf(fit.machine.reduce_rate));
	assert_near(fit.machine.link.bandwidth / 100e6, 1, 0.05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fits_find_all_four_speeds),
		cmocka_unit_test(fits_know_of_chunks),
		cmocka_unit_test(fits_do_not_make_up_what_is_not_there),
		cmocka_unit_test(fits_survive_noise),
		cmocka_unit_test(fits_below_limits_are_refused),
		cmocka_unit_test(fits_that_are_far_off_are_refused),
		cmocka_unit_test(fits_survive_a_wild_row),
		cmocka_unit_test(fits_name_what_is_missing),
		cmocka_unit_test(fits_invent_no_reduction_rate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
