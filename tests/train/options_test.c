/* SPDX-License-Identifier: MIT */
/* The trainer's command line. */
#include "train/step/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 24

/* Parses a line of words. returns whether to go on; *status as the program would end */
static bool parse(const char *line, struct train_options *options, int *status)
{
	static char words[256];
	char *argv[MOST + 2] = {"ring_train"};
	int argc = 1;
	snprintf(words, sizeof(words), "%s", line);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	assert_true(argc <= MOST);
	return train_options_parse(options, argc, argv, status);
}

static struct train_options accept(const char *line)
{
	struct train_options options;
	int status;
	assert_true(parse(line, &options, &status));
	return options;
}

static void test_defaults(void **state)
{
	(void)state;
	struct train_options options = accept("");
	assert_string_equal(options.preset, "seed000");
	assert_int_equal(options.shape.width, 128);
	assert_int_equal(options.steps, 200);
	assert_int_equal(options.ddp.mode, TRAIN_DDP_OVERLAP);
	assert_int_equal(options.ddp.bucket_bytes, 25 << 20);
	assert_int_equal(options.ddp.first_bucket_bytes, 1 << 20);
	assert_true(options.drop_last);
}

/* What is said besides the preset wins, wherever it stands. */
static void test_preset(void **state)
{
	(void)state;
	const char *const lines[] = {"--preset lab --width 64 --lr 0.5",
				     "--width 64 --lr 0.5 --preset lab"};
	for (int i = 0; i < 2; i++) {
		struct train_options options = accept(lines[i]);
		assert_int_equal(options.shape.kind, TRAIN_MLP);
		assert_int_equal(options.shape.width, 64);
		assert_int_equal(options.shape.inputs, 1024);
		assert_float_equal(options.optimizer.rate, 0.5, 0);
		assert_int_equal(options.usual_batch, 128);
	}
}

static void test_values(void **state)
{
	(void)state;
	struct train_options options = accept(
		"--mode naive --bucket-mb 0.5 --first-bucket-mb 0 --seed 0x10 "
		"--keep-last --compress -n 3 --optimizer sgd");
	assert_int_equal(options.ddp.mode, TRAIN_DDP_NAIVE);
	assert_int_equal(options.ddp.bucket_bytes, 512 << 10);
	assert_int_equal(options.ddp.first_bucket_bytes, 0);
	assert_int_equal(options.seed, 16);
	assert_false(options.drop_last);
	assert_true(options.ddp.compressed);
	assert_int_equal(options.ranks, 3);
	assert_int_equal(options.optimizer.kind, TRAIN_SGD);
	assert_int_equal(accept("--epochs 2").steps, 0);
	assert_int_equal(accept("--reference a --reference b").reference_count, 2);
}

static void test_refusals(void **state)
{
	static const char *const lines[] = {
		"--preset nothing",
		"--mode over",
		"--mode overlapping",
		"--steps 0",
		"--steps 1.5",
		"--steps 5x",
		"--lr -1",
		"--width 129",
		"--batching tokens",
		"--lengths uniform:1:9 --preset lab",
		"--lengths uniform:1:9 --batching tokens --token-budget 63",
		"--lengths uniform:1:9 --batching buckets --token-budget 640",
		"--lengths uniform:1:9 --batching packed --keep-last",
		"--lengths uniform:1:9 --export a",
		"--sampler none --export a",
		"--slow-rank 1:40",
		"--link 1GB",
		"--extra-fresh",
		"--batch 4 --global-batch 8",
		"--scaling strong --batch 4",
		"--resume",
		"--preset lab --text a",
		"--uneven 1 --keep-last",
		"--profile a --uneven 1",
		"--profile a --sync-every-micro",
		"--unknown",
		"word",
		"--steps",
	};
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct train_options options;
		int status = 0;
		print_message("# %s\n", lines[i]);
		assert_false(parse(lines[i], &options, &status));
		assert_int_equal(status, STATUS_USAGE);
	}
}

static void test_help(void **state)
{
	struct train_options options;
	int status = -1;
	(void)state;
	assert_false(parse("--help", &options, &status));
	assert_int_equal(status, STATUS_OK);
	assert_false(parse("--version", &options, &status));
	assert_int_equal(status, STATUS_OK);
}

static void test_batches(void **state)
{
	(void)state;
	struct train_options weak = accept("--batch 6 --accumulate 2");
	assert_true(train_options_settle(&weak, 3));
	assert_int_equal(weak.global_batch, 36);
	struct train_options strong = accept("--global-batch 36 --accumulate 2");
	assert_int_equal(strong.scaling, TRAIN_STRONG_SCALING);
	assert_true(train_options_settle(&strong, 3));
	assert_int_equal(strong.batch, 6);
	struct train_options odd = accept("--global-batch 35");
	assert_false(train_options_settle(&odd, 3));
	struct train_options usual = accept("--scaling strong");
	assert_true(train_options_settle(&usual, 4));
	assert_int_equal(usual.batch, 8);
}

/* A profile is of steps without communication, if only every other one. */
static void test_profile(void **state)
{
	(void)state;
	struct train_options naive = accept("--profile a --mode naive");
	assert_true(train_options_settle(&naive, 1));
	assert_false(train_options_settle(&naive, 2));
	struct train_options overlap = accept("--profile a");
	assert_true(train_options_settle(&overlap, 2));
	struct train_options off = accept("--profile a --mode off");
	assert_true(train_options_settle(&off, 2));
}

/* The run that --with-reference starts keeps no files of the other's. */
static void test_as_reference(void **state)
{
	(void)state;
	struct train_options options = accept(
		"--with-reference --json a --trace b --plot c --checkpoint d --resume "
		"--reference f -n 4 --as-reference e");
	assert_string_equal(options.json, "e");
	assert_null(options.trace);
	assert_null(options.plot);
	assert_null(options.checkpoint);
	assert_false(options.resume);
	assert_false(options.with_reference);
	assert_int_equal(options.reference_count, 0);
	assert_int_equal(options.ranks, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_preset),
		cmocka_unit_test(test_values),   cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_help),     cmocka_unit_test(test_batches),
		cmocka_unit_test(test_profile),  cmocka_unit_test(test_as_reference),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
