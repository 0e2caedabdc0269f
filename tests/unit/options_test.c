/* SPDX-License-Identifier: MIT */
/* Settings: defaults, RING_* variables, the program's fields, and the sentence for each that is wrong. */
#include "choose/agreement.h"
#include "choose/option_rows.h"
#include "choose/options.h"
#include "choose/unknown.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern char **environ;

static int forget_environment(void **state)
{
	(void)state;
	char **entry = environ;
	while (*entry) {
		if (strncmp(*entry, "RING_", 5)) {
			entry++;
			continue;
		}
		char *name = strndup(*entry, strcspn(*entry, "="));
		unsetenv(name);
		free(name);
		entry = environ;
	}
	return 0;
}

/* Resolving fails with a sentence that holds every word. */
static void assert_refused(const struct ring_options *options, const char *words[3])
{
	struct ring_config config;
	struct ring_failure failure = {0};
	assert_int_equal(ring_config_resolve(&config, options, &failure), RING_EINVAL);
	assert_int_equal(failure.err, RING_EINVAL);
	for (int i = 0; i < 3; i++) {
		if (!strstr(failure.text, words[i]))
			fail_msg("no \"%s\" in: %s", words[i], failure.text);
	}
}

static struct ring_config resolved(const struct ring_options *options)
{
	struct ring_config config;
	struct ring_failure failure = {0};
	int err = ring_config_resolve(&config, options, &failure);
	if (err)
		fail_msg("refused: %s", failure.text);
	return config;
}

static void defaults(void **state)
{
	(void)state;
	struct ring_options options;
	ring_options_init(&options);
	assert_int_equal(options.size, sizeof(options));
	assert_null(options.transport);
	assert_int_equal(options.call_timeout_ms, 600000);
	assert_int_equal(options.spins, -1);

	struct ring_config config = resolved(NULL), same = resolved(&options);
	assert_memory_equal(&config, &same, sizeof(config));
	assert_string_equal(config.transport, "");
	assert_int_equal(config.create_timeout_ms, 60000);
	assert_int_equal(config.peer_lost_ms, 5000);
	assert_int_equal(config.port_first, 0);
	assert_int_equal(config.chunk_bytes, 0);
}

static void variables(void **state)
{
	(void)state;
	setenv("RING_TRANSPORT", "shm,tcp", 1);
	setenv("RING_PORT_RANGE", "5000-5010", 1);
	setenv("RING_CHUNK_BYTES", "64k", 1);
	setenv("RING_SPINS", "0", 1);
	setenv("RING_DEPTH", "", 1);
	setenv("RING_LINK", "1GB/s,20us", 1);
	struct ring_config config = resolved(NULL);
	assert_string_equal(config.transport, "shm,tcp");
	assert_int_equal(config.port_first, 5000);
	assert_int_equal(config.port_last, 5010);
	assert_int_equal(config.chunk_bytes, 64 << 10);
	assert_int_equal(config.spins, 0);
	assert_int_equal(config.depth, 0);
	assert_string_equal(config.link, "1GB/s,20us");
}

static void program_wins(void **state)
{
	(void)state;
	setenv("RING_DEPTH", "2", 1);
	setenv("RING_HOST", "there", 1);
	setenv("RING_TRACE", "t.json", 1);
	struct ring_options options;
	ring_options_init(&options);
	options.depth = 3;
	options.host = "here";
	options.trace = NULL;
	struct ring_config config = resolved(&options);
	assert_int_equal(config.depth, 3);
	assert_string_equal(config.host, "here");
	assert_string_equal(config.trace, "");
}

static void bad_variables(void **state)
{
	(void)state;
	static const char *const bad[][3] = {
		{"RING_TRANSPORT", "smh", "shm"},
		{"RING_TRANSPORT", "shm,,tcp", "shm"},
		{"RING_PORT_RANGE", "5000", "lo-hi"},
		{"RING_PORT_RANGE", "0-5", "lo-hi"},
		{"RING_PORT_RANGE", "10-9", "lo-hi"},
		{"RING_PORT_RANGE", "1--2", "lo-hi"},
		{"RING_PORT_RANGE", "60000-65536", "lo-hi"},
		{"RING_PORT_RANGE", "1-123456", "lo-hi"},
		{"RING_CONGESTION", "longer_than_any_is", "15 characters"},
		{"RING_DEPTH", "9", "1 to 8, or 0"},
		{"RING_DEPTH", "-1", "1 to 8, or 0"},
		{"RING_DEPTH", "two", "1 to 8, or 0"},
		{"RING_DEPTH", "2K", "1 to 8, or 0"},
		{"RING_DEPTH", "99999999999999999999", "1 to 8, or 0"},
		{"RING_CHUNK_BYTES", "7", "8 to 1073741824"},
		{"RING_CHUNK_BYTES", "2G", "8 to 1073741824"},
		{"RING_CHUNK_BYTES", "64KB", "8 to 1073741824"},
		{"RING_CHUNK_BYTES", "9223372036854775807G", "8 to 1073741824"},
		{"RING_CHUNK_BYTES", "K", "8 to 1073741824"},
		{"RING_CREATE_TIMEOUT_MS", "0", "1 to 2147483647"},
		{"RING_CALL_TIMEOUT_MS", "2147483648", "0 to 2147483647"},
		{"RING_SPINS", "-2", "or -1"},
		{"RING_LINK", "fast", "1GB/s,20us"},
		{"RING_ALGORITHM", "tree_shot", "oneshot"},
		{"RING_ALGORITHM", "pair", "oneshot"},
		{"RING_ORDER", "ring", "must be rank"},
		{"RING_VERBS_DEVICE", "mlx5_0:x", "mlx5_0:1"},
		{"RING_VERBS_DEVICE", ":1", "mlx5_0:1"},
		{"RING_VERBS_GID", "first", "0 to 255, or -1 to choose"},
		{"RING_VERBS_GID", "256", "0 to 255, or -1 to choose"},
		{"RING_VERBS_MTU", "8192", "256 to 4096"},
		{"RING_VERBS_MTU", "1500", "256, 512, 1024, 2048 or 4096"},
		{"RING_VERBS_TC", "256", "0 to 255"},
		{"RING_VERBS_SL", "16", "0 to 15"},
		{"RING_VERBS_PKEY", "-1", "0 to 65535"},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setenv(bad[i][0], bad[i][1], 1);
		assert_refused(NULL, (const char **)bad[i]);

		/* The default stands meanwhile, and the mistake is not forgotten. */
		struct ring_options options, clean;
		ring_options_init(&options);
		assert_refused(&options, (const char **)bad[i]);
		unsetenv(bad[i][0]);
		ring_options_init(&clean);
		assert_memory_equal(&options, &clean, sizeof(options));
	}
}

static void bad_fields(void **state)
{
	(void)state;
	struct ring_options options;
	ring_options_init(&options);
	options.chunk_bytes = 7;
	assert_refused(&options, (const char *[]){"options.chunk_bytes", "7", "8 to"});
	ring_options_init(&options);
	options.channels = -1;
	assert_refused(&options, (const char *[]){"options.channels", "-1", "1 to 8"});
	ring_options_init(&options);
	options.transport = "pigeon";
	assert_refused(&options, (const char *[]){"options.transport", "pigeon", "shm"});
}

/* Variable or field, whichever names the algorithm. */
static void what_is_forced_must_add_in_order(void **state)
{
	(void)state;
	static const char *const algorithms[] = {"ring",  "stride", "oneshot", "twoshot",
						 "bruck", "staged", "direct",  "tree"};
	struct ring_options options;
	setenv("RING_ORDER", "rank", 1);
	for (int i = 0; i < 8; i++) {
		ring_options_init(&options);
		options.algorithm = algorithms[i];
		setenv("RING_ALGORITHM", algorithms[i], 1);
		if (i >= 2) {
			assert_string_equal(resolved(&options).order, "rank");
			assert_string_equal(resolved(NULL).order, "rank");
			continue;
		}
		assert_refused(&options,
			       (const char *[]){algorithms[i], "RING_ORDER=rank",
						"oneshot, twoshot, bruck, staged, direct, tree"});
		assert_refused(NULL,
			       (const char *[]){algorithms[i], "RING_ALGORITHM", "RING_ORDER"});
	}
}

static void older_and_impossible_sizes(void **state)
{
	(void)state;
	struct ring_options options;
	setenv("RING_SPINS", "5", 1);
	ring_options_init(&options);
	options.call_timeout_ms = 7;
	options.spins = 6; /* behind the end of the older struct */
	options.size = offsetof(struct ring_options, chunk_bytes);
	struct ring_config config = resolved(&options);
	assert_int_equal(config.call_timeout_ms, 7);
	assert_int_equal(config.spins, 5);

	const size_t impossible[] = {0, sizeof(size_t), sizeof(options) - 1, sizeof(options) + 8,
				     SIZE_MAX};
	for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++) {
		options.size = impossible[i];
		assert_refused(&options,
			       (const char *[]){"options.size", "at most", "ring_options_init"});
	}
}

static void filling_ends_where_the_struct_does(void **state)
{
	(void)state;
	struct ring_options options;
	memset(&options, 'x', sizeof(options));
	setenv("RING_CALL_TIMEOUT_MS", "7", 1);
	size_t size = offsetof(struct ring_options, chunk_bytes);
	ring_options_init_size(&options, size);
	assert_int_equal(options.size, size);
	assert_int_equal(options.call_timeout_ms, 7);
	for (size_t i = size; i < sizeof(options); i++)
		assert_int_equal(((char *)&options)[i], 'x');
}

/* A rank whose value of this row is another one. */
static struct ring_config other_than(const struct ring_option_row *row)
{
	struct ring_config config = resolved(NULL);
	void *field = (char *)&config + row->config_offset;
	if (row->agreement == RING_ALIKE_INSIDE)
		config.tuning_hash = 7;
	else if (row->setting.kind == RING_SETTING_TEXT)
		strcpy(field, "tcp");
	else if (row->setting.kind == RING_SETTING_NUMBER)
		*(int *)field = 7;
	else
		*(size_t *)field = 7;
	return config;
}

/* As the root learns of it. */
static struct ring_config told(struct ring_config *config)
{
	unsigned char bytes[512];
	struct ring_config read = resolved(NULL);
	struct ring_wire writer = ring_wire_writer(bytes, sizeof(bytes));
	ring_config_wire(&writer, config);
	struct ring_wire reader = ring_wire_reader(bytes, writer.at);
	ring_config_wire(&reader, &read);
	assert_true(writer.ok && ring_wire_done(&reader));
	return read;
}

static void ranks_agree_row_by_row(void **state)
{
	(void)state;
	struct ring_config usual = resolved(NULL), first = told(&usual);
	for (int i = 0; i < ring_option_row_count; i++) {
		const struct ring_option_row *row = &ring_option_rows[i];
		struct ring_config other = other_than(row), there = told(&other);
		struct ring_failure failure = {0};
		char words[64];
		snprintf(words, sizeof(words), "%s is ", row->setting.variable);
		int err = ring_config_compare(&there, 3, &first, &failure);
		assert_int_equal(err, row->agreement == RING_OWN ? 0 : RING_EMISMATCH);
		if (err && (!strstr(failure.text, words) ||
			    !strstr(failure.text, " on rank 3 but unset on rank 0")))
			fail_msg("%s: %s", row->setting.variable, failure.text);
	}
}

/* What split makes of a communicator's options is the same again. */
static void a_config_becomes_options_again(void **state)
{
	(void)state;
	setenv("RING_TRANSPORT", "shm,tcp", 1);
	setenv("RING_PORT_RANGE", "5000-5010", 1);
	setenv("RING_CHUNK_BYTES", "64k", 1);
	setenv("RING_YIELDS", "3", 1);
	struct ring_config config = resolved(NULL);
	forget_environment(NULL);
	struct ring_options options;
	ring_config_options(&config, &options);
	struct ring_config same = resolved(&options);
	assert_memory_equal(&config, &same, sizeof(config));
}

static void unknown_variables(void **state)
{
	(void)state;
	static const char *const sentences[][2] = {
		{"RING_TRANPORT", "the variable RING_TRANPORT is not known; did you mean "
				  "RING_TRANSPORT?"},
		{"RING_VERBS_GIT", "the variable RING_VERBS_GIT is not known; did you mean "
				   "RING_VERBS_GID?"},
		{"RING_LOCAL_RNK", "the variable RING_LOCAL_RNK is not known; did you mean "
				   "RING_LOCAL_RANK?"},
		{"RING_OF_FIRE", "the variable RING_OF_FIRE is not known"},
	};
	char sentence[RING_UNKNOWN_TEXT];
	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
		assert_true(ring_variable_is_unknown(sentences[i][0], sentence));
		assert_string_equal(sentence, sentences[i][1]);
	}
	for (int i = 0; i < ring_option_row_count; i++)
		assert_false(
			ring_variable_is_unknown(ring_option_rows[i].setting.variable, sentence));
	assert_false(ring_variable_is_unknown("RING_VERBS_SL", sentence));
	assert_false(ring_variable_is_unknown("RING_LOG", sentence));
	assert_false(ring_variable_is_unknown("RING_TEST_LONG", sentence));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, forget_environment, forget_environment)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(defaults),
		CASE(variables),
		CASE(program_wins),
		CASE(bad_variables),
		CASE(bad_fields),
		CASE(ranks_agree_row_by_row),
		CASE(a_config_becomes_options_again),
		CASE(unknown_variables),
		CASE(what_is_forced_must_add_in_order),
		CASE(older_and_impossible_sizes),
		CASE(filling_ends_where_the_struct_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
