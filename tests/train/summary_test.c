/* SPDX-License-Identifier: MIT */
/* Metrics of made-up steps, comparisons of runs, and records that can be read again. */
#include "train/report/summary.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "train/report/record.h"

#define STEPS 6

static struct train_facts make_facts(int ranks, int batch)
{
	struct train_facts facts = {
		.preset = "lab",
		.mode = "overlap",
		.scaling = "weak",
		.optimizer = "adamw",
		.ranks = ranks,
		.cpus = 2,
		.host_cpus = 2,
		.other_cpus = 0.1,
		.slow_rank = -1,
		.batch = batch,
		.accumulate = 1,
		.global_batch = ranks * batch,
		.syncs = 1,
		.buckets = 3,
		.parameters = 100,
		.gradient_bytes = 400,
		.promised_bytes = 2 * (uint64_t)(ranks - 1) * 400,
		.alone_ms = 10,
		.held_out_loss = NAN,
		.own_loss = NAN,
		.own_error = NAN,
	};
	return facts;
}

/* Step i of rank r takes 100 + 10 i + r ms. The first two are far longer. */
static void make_steps(const struct train_facts *facts, struct train_step *steps)
{
	for (int rank = 0; rank < facts->ranks; rank++) {
		for (int i = 0; i < STEPS; i++) {
			steps[rank * STEPS + i] = (struct train_step){
				.step = (uint64_t)i + 1,
				.total = i < 2 ? 9 : 0.1 + 0.01 * i + 0.001 * rank,
				.data = 0.001,
				.blocked = 0.006,
				.waiting = 0.002,
				.exposed = 0.004,
				.busy = 0.02,
				.hidden = 0.015,
				.payload_bytes = 2 * (uint64_t)(facts->ranks - 1) * 400 /
						 (uint64_t)facts->ranks,
				.calls = 3,
				.examples = (uint64_t)facts->batch,
				.tokens = (uint64_t)(facts->batch * (rank + 1)),
				.computed = (uint64_t)(facts->batch * 2 * (rank + 1)),
				.loss = 3 - 0.1 * i,
			};
		}
	}
}

static struct train_summary summarize(int ranks, int batch)
{
	static struct train_step steps[8 * STEPS];
	struct train_facts facts = make_facts(ranks, batch);
	struct train_summary summary;
	make_steps(&facts, steps);
	train_summary_make(&summary, &facts, steps, STEPS);
	return summary;
}

#define CHECK(summary, metric, expected)                                                           \
	assert_float_equal((summary).values[TRAIN_##metric], expected, 1e-9)

static void test_metrics(void **state)
{
	(void)state;
	struct train_summary summary = summarize(2, 8);
	CHECK(summary, STEP, 136); /* 100 + mean(20..50) + 1: the slowest rank's, from the third on */
	CHECK(summary, MEDIAN, 131);
	CHECK(summary, P95, 151);
	CHECK(summary, SPREAD, 1);
	CHECK(summary, SAMPLES, 16 / 0.136);
	CHECK(summary, TOKENS, 24 / 0.136);
	CHECK(summary, IMBALANCE, 2 / 1.5);
	CHECK(summary, PADDING, 50);
	CHECK(summary, DATA, 1);
	CHECK(summary, EXPOSED, 4);
	CHECK(summary, WAITING, 2);
	CHECK(summary, OVERHEAD, 4 / 1.36);
	CHECK(summary, HIDDEN, 75);
	CHECK(summary, FORMULA, 800);
	CHECK(summary, PAYLOAD, 800);
	CHECK(summary, BUS, 400 / 0.010 * 1e-9);
	CHECK(summary, LOSS, 2.5);
	assert_true(summary.payload_is_exact);
	assert_true(isnan(summary.values[TRAIN_WEAK]));
	assert_true(isnan(summary.values[TRAIN_HELD_OUT]));
}

/* Half a CPU of two is somebody else's; or the last of four steps takes far longer. */
static void test_busy(void **state)
{
	static struct train_step steps[2 * STEPS];
	struct train_facts facts = make_facts(2, 8);
	struct train_summary summary;
	(void)state;
	make_steps(&facts, steps);
	train_summary_make(&summary, &facts, steps, STEPS);
	assert_false(summary.busy);
	facts.other_cpus = 0.5;
	train_summary_make(&summary, &facts, steps, STEPS);
	assert_true(summary.busy);
	facts.other_cpus = NAN;
	train_summary_make(&summary, &facts, steps, STEPS);
	assert_false(summary.busy);
	steps[STEPS - 1].total = 0.2;
	train_summary_make(&summary, &facts, steps, STEPS);
	assert_true(summary.busy);
}

/* One byte in one step of one rank shows. */
static void test_payload(void **state)
{
	static struct train_step steps[3 * STEPS];
	struct train_facts facts = make_facts(3, 8);
	struct train_summary summary;
	(void)state;
	facts.promised_bytes = 3 * 400;
	make_steps(&facts, steps);
	for (int i = 0; i < 3 * STEPS; i++)
		steps[i].payload_bytes = 400;
	train_summary_make(&summary, &facts, steps, STEPS);
	assert_true(summary.payload_is_exact);
	steps[STEPS + 1].payload_bytes++;
	train_summary_make(&summary, &facts, steps, STEPS);
	assert_false(summary.payload_is_exact);
}

/* Weak and strong efficiency need another reference each, and are never mixed. */
static void test_efficiency(void **state)
{
	(void)state;
	struct train_summary four = summarize(4, 8);
	struct train_summary weak = summarize(1, 8), strong = summarize(1, 32);
	weak.values[TRAIN_SAMPLES] = four.values[TRAIN_SAMPLES] / 3;
	strong.values[TRAIN_SAMPLES] = four.values[TRAIN_SAMPLES] / 2;

	train_summary_compare(&four, &weak, 1);
	CHECK(four, WEAK, 0.75);
	CHECK(four, CORES, 1.5); /* 2 CPUs */
	assert_true(isnan(four.values[TRAIN_STRONG]));
	train_summary_compare(&four, &strong, 1);
	CHECK(four, STRONG, 0.5);
	CHECK(four, CORES, 1.5);

	four = summarize(4, 8);
	strcpy(four.facts.scaling, "strong");
	train_summary_compare(&four, &strong, 1);
	CHECK(four, CORES, 1);
}

/* Runs of another model, and of another number of ranks, are no references. */
static void test_unlike(void **state)
{
	(void)state;
	struct train_summary two = summarize(2, 8);
	struct train_summary others[2] = {summarize(1, 8), summarize(3, 8)};
	others[0].facts.parameters++;
	train_summary_compare(&two, others, 2);
	assert_true(isnan(two.values[TRAIN_WEAK]));
	assert_true(isnan(two.values[TRAIN_CONTROL]));
	struct train_summary control = summarize(2, 8);
	strcpy(control.facts.mode, "off");
	control.values[TRAIN_STEP] = 130;
	train_summary_compare(&two, &control, 1);
	CHECK(two, CONTROL, 6);
}

static void test_record(void **state)
{
	static struct train_step steps[2 * STEPS];
	char path[] = "/tmp/ring_record.XXXXXX";
	struct train_summary summary = summarize(2, 8), read;
	(void)state;
	make_steps(&summary.facts, steps);
	close(mkstemp(path));
	char *text = NULL;
	struct train_record record = {
		.summary = &summary, .steps = steps, .each = STEPS, .end = {143, 8, "asked to"}};
	assert_int_equal(train_record_write(path, &record), 0);
	assert_int_equal(train_record_read(path, &read), 0);
	/* Behind a run that ended in its first step: the last one counts. */
	struct train_summary other = summary;
	other.facts.ranks = 1;
	FILE *all = open_memstream(&text, &record.earlier_bytes);
	train_record_put_run(all, &other.facts);
	fclose(all);
	record.earlier = text;
	assert_int_equal(train_record_write(path, &record), 0);
	free(text);
	assert_int_equal(train_record_read(path, &read), 0);
	assert_int_equal(read.facts.ranks, 2);
	FILE *more = fopen(path, "ae");
	train_record_put_run(more, &summary.facts);
	fclose(more);
	assert_int_equal(train_record_read(path, &read), -1); /* its last run is not whole */
	record.earlier_bytes = 0;
	assert_int_equal(train_record_write(path, &record), 0);
	assert_int_equal(train_record_read(path, &read), 0);
	assert_string_equal(read.facts.preset, "lab");
	assert_int_equal(read.facts.gradient_bytes, 400);
	assert_true(read.payload_is_exact);
	for (int i = 0; i < TRAIN_METRICS; i++) {
		if (isnan(summary.values[i]))
			assert_true(isnan(read.values[i]));
		else
			assert_float_equal(read.values[i], summary.values[i], 1e-6);
	}
	unlink(path);
}

static void test_predictions(void **state)
{
	char path[] = "/tmp/ring_record.XXXXXX";
	struct train_summary read;
	double predicted[TRAIN_METRICS];
	(void)state;
	FILE *file = fdopen(mkstemp(path), "w");
	fputs("{\"predicted\": {\"step_ms\": 12.5, \"of_something_else\": 1}}", file);
	fclose(file);
	assert_int_equal(train_record_read_predictions(path, predicted), 0);
	assert_float_equal(predicted[TRAIN_STEP], 12.5, 0);
	assert_true(isnan(predicted[TRAIN_EXPOSED]));
	assert_int_equal(train_record_read(path, &read), -1);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(train_record_read_predictions(path, predicted), -1);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_metrics),     cmocka_unit_test(test_busy),
		cmocka_unit_test(test_payload),     cmocka_unit_test(test_efficiency),
		cmocka_unit_test(test_unlike),      cmocka_unit_test(test_record),
		cmocka_unit_test(test_predictions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
