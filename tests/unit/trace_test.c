/* SPDX-License-Identifier: MIT */
/* Traces: valid JSON, one slice per entry, a whole file or none. RING_TEST_LONG overfills one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "engine/trace.h"
#include "tests/listen.h"

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/trace_test.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder); /* fails if a test left something behind */
}

static const char *in_folder(const char *name, char *path, size_t room)
{
	snprintf(path, room, "%s/%s", folder, name);
	return path;
}

static bool exists(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0;
}

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	char *text = calloc(1, 1 << 20);
	assert_non_null(text);
	assert_in_range(fread(text, 1, (1 << 20) - 1, file), 1, (1 << 20) - 2);
	fclose(file);
	return text;
}

static int count_of(const char *text, const char *part)
{
	int count = 0;
	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

/* Braces and brackets match outside strings, and nothing follows the first value. */
static void check_structure(const char *text)
{
	char open[16];
	size_t depth = 0;
	bool in_string = false, ended = false;
	for (; *text; text++) {
		if (*text == '"' && text[-1] != '\\')
			in_string = !in_string;
		if (in_string)
			continue;
		assert_true(!ended || *text == '\n');
		if (*text == '{' || *text == '[') {
			assert_true(depth < sizeof(open));
			open[depth++] = *text;
		} else if (*text == '}' || *text == ']') {
			assert_true(depth > 0);
			assert_int_equal(open[--depth], *text == '}' ? '{' : '[');
			ended = depth == 0;
		}
	}
	assert_true(ended && !in_string);
}

/* By a real parser, where there is one. */
static void parse(const char *path)
{
	char command[256];
	if (system("python3 -c 'import json' 2>/dev/null") != 0)
		return;
	snprintf(command, sizeof(command), "python3 -m json.tool '%s' >/dev/null", path);
	assert_int_equal(system(command), 0);
}

/* A call of two entries each way on channel 1, with peers 4 and 2. */
static void add_call(struct ring_trace *trace, uint64_t call)
{
	struct ring_trace_record record = {.time_ns = 1000000 * call + 1,
					   .call = call,
					   .index = 4096,
					   .channel = -1,
					   .peer = -1,
					   .step = RING_KIND_ALL_REDUCE,
					   .counter = RING_CALLED};
	ring_trace_add(trace, &record);
	for (uint64_t i = 0; i < 2; i++) {
		const enum ring_trace_counter counters[] = {RING_POSTED, RING_SENT, RING_STARTED,
							    RING_REDUCED};
		for (int k = 0; k < 4; k++) {
			struct ring_trace_record entry = {.time_ns = record.time_ns + 100 * i + k,
							  .call = call,
							  .index = i,
							  .channel = 1,
							  .peer = k < 2 ? 4 : 2,
							  .step = (int)i - 1,
							  .counter = counters[k],
							  .block = 3,
							  .action = k < 2 ? RING_SEND : RING_REDUCE,
							  .bytes = 512};
			ring_trace_add(trace, &entry);
		}
	}
	record.time_ns += 5000;
	record.counter = RING_RETURNED;
	ring_trace_add(trace, &record);
}

static void every_entry_is_a_slice(void **state)
{
	(void)state;
	char path[128];
	struct ring_trace *trace;
	struct ring_failure failure = {0};
	in_folder("rank-%r-of-%r.json", path, sizeof(path));
	assert_int_equal(ring_trace_open(&trace, path, 3, 5, &failure), 0);
	add_call(trace, 1);
	add_call(trace, 2);
	in_folder("rank-3-of-3.json", path, sizeof(path));
	assert_false(exists(path));
	ring_trace_close(trace);

	char *text = read_file(path);
	check_structure(text);
	parse(path);
	assert_int_equal(count_of(text, "\"ph\":\"b\""), 2 * 5);
	assert_int_equal(count_of(text, "\"ph\":\"e\""), 2 * 5);
	assert_int_equal(count_of(text, "\"all_reduce\""), 2 * 2);
	assert_int_equal(count_of(text, "\"channel 1 to rank 4\""), 2 * 4);
	assert_int_equal(count_of(text, "\"channel 1 from rank 2\""), 2 * 4);
	assert_int_equal(count_of(text, "\"ts\":1000.001,"), 1 + 1); /* CALLED and the first POSTED */
	assert_int_equal(count_of(text, "\"dropped\":0"), 1);
	assert_int_equal(count_of(text, "\"does\":\"send\",\"block\":3,\"bytes\":512}"), 2 * 4);
	assert_int_equal(count_of(text, "\"does\":\"add\",\"block\":3,\"bytes\":512}"), 2 * 4);
	free(text);
	unlink(path);
}

/* What an entry's block is called, its place in the vector says, too. */
static void blocks_are_named_by_where_they_lie(void **state)
{
	(void)state;
	static const int order[] = {0, 2, 1, 3};
	int checked = 0;
	for (int position = 0; position < 4; position++) {
		const struct ring_plan_params params = {.kind = RING_KIND_ALL_REDUCE,
							.algorithm = RING_ALGORITHM_RING,
							.size = 4,
							.position = position,
							.order = order,
							.count = 1003,
							.element_bytes = 4,
							.chunk_bytes = 256,
							.chunks_per_round = 2,
							.channels = 1};
		struct ring_plan plan = ring_plan_make(&params);
		for (uint64_t j = 0; j < plan.incoming; j++) {
			struct ring_transfer in = ring_plan_incoming(&plan, j);
			if (in.bytes == 0 || in.result.buffer != RING_OUTPUT)
				continue;
			assert_int_equal(ring_plan_block_of(&plan, &in, false),
					 ring_plan_block_at(&plan, in.result.offset));
			checked++;
		}
		for (uint64_t i = 0; i < plan.outgoing; i++) {
			struct ring_transfer out = ring_plan_outgoing(&plan, i);
			if (out.bytes == 0 || out.source.buffer == RING_SCRATCH)
				continue;
			assert_int_equal(ring_plan_block_of(&plan, &out, true),
					 ring_plan_block_at(&plan, out.source.offset));
			checked++;
		}
	}
	assert_true(checked > 4 * 4 * 4);
}

static void an_empty_trace_is_valid(void **state)
{
	(void)state;
	char path[128];
	struct ring_trace *trace;
	in_folder("empty.json", path, sizeof(path));
	assert_int_equal(ring_trace_open(&trace, path, 0, 1, NULL), 0);
	ring_trace_close(trace);
	char *text = read_file(path);
	check_structure(text);
	parse(path);
	free(text);
	unlink(path);
	ring_trace_close(NULL);
}

/* A user who mistyped the folder hears of it at once and without RING_LOG, not never. */
static void what_cannot_be_written_is_told_at_creation(void **state)
{
	(void)state;
	char path[128];
	struct ring_trace *trace = (void *)1;
	in_folder("missing/trace.json", path, sizeof(path));
	listen_begin();
	int err = ring_trace_open(&trace, path, 0, 1, NULL);
	char *said = listen_end();
	assert_int_equal(err, 0);
	assert_null(trace);
	assert_non_null(strstr(said, "warn: rank 0: no trace will be written: "));
	assert_non_null(strstr(said, "missing/trace.json: No such file or directory"));
	assert_non_null(strstr(ring_failure_remembered(), "no trace will be written"));
	free(said);
}

/* Likewise at the end, when the folder is gone. */
static void what_was_not_written_is_told_at_the_end(void **state)
{
	(void)state;
	char path[128], inner[128];
	struct ring_trace *trace;
	in_folder("gone", inner, sizeof(inner));
	in_folder("gone/trace.json", path, sizeof(path));
	assert_int_equal(mkdir(inner, 0700), 0);
	assert_int_equal(ring_trace_open(&trace, path, 0, 1, NULL), 0);
	assert_int_equal(rmdir(inner), 0);
	listen_begin();
	ring_trace_close(trace);
	char *said = listen_end();
	assert_non_null(strstr(said, "warn: rank 0: the trace is lost: "));
	free(said);
}

/* Of two ranks' traces under one name, and of two communicators', a user would find only the last. */
static void traces_do_not_take_one_anothers_place(void **state)
{
	(void)state;
	static const char *const names[] = {"two.0.json", "two.1.json", "two.1-2.json"};
	char path[128];
	for (int i = 0; i < 3; i++) {
		struct ring_trace *trace;
		in_folder("two.json", path, sizeof(path));
		assert_int_equal(ring_trace_open(&trace, path, i > 0, 2, NULL), 0);
		ring_trace_close(trace);
	}
	assert_false(exists(path));
	for (int i = 0; i < 3; i++) {
		in_folder(names[i], path, sizeof(path));
		assert_int_equal(unlink(path), 0);
	}
}

static void too_long_a_path_is_refused(void **state)
{
	(void)state;
	struct ring_trace *trace = NULL;
	struct ring_failure failure = {0};
	char path[2000];
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(ring_trace_open(&trace, path, 0, 1, &failure), RING_EINVAL);
	assert_int_equal(failure.err, RING_EINVAL);
	assert_null(trace);
	for (size_t i = 0; i < 600; i += 2) /* short, but not once expanded */
		memcpy(path + i, "%r", 2);
	path[600] = '\0';
	assert_int_equal(ring_trace_open(&trace, path, 65535, 65536, &failure), RING_EINVAL);
}

/* Memory is bounded: the rest is counted. */
static void too_many_records_are_counted(void **state)
{
	(void)state;
	char path[128], command[256];
	struct ring_trace *trace;
	in_folder("full.json", path, sizeof(path));
	assert_int_equal(ring_trace_open(&trace, path, 0, 1, NULL), 0);
	for (int i = 0; i < 1500000; i++)
		ring_trace_add(trace, &(struct ring_trace_record){.index = (uint64_t)i});
	ring_trace_close(trace);
	snprintf(command, sizeof(command), "head -c 200 '%s' | grep -q '\"dropped\":[45]'", path);
	assert_int_equal(system(command), 0);
	unlink(path);
}

int main(void)
{
	const char *asked = getenv("RING_TEST_LONG");
	bool is_long = asked && *asked;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_entry_is_a_slice),
		cmocka_unit_test(blocks_are_named_by_where_they_lie),
		cmocka_unit_test(an_empty_trace_is_valid),
		cmocka_unit_test(what_cannot_be_written_is_told_at_creation),
		cmocka_unit_test(what_was_not_written_is_told_at_the_end),
		cmocka_unit_test(traces_do_not_take_one_anothers_place),
		cmocka_unit_test(too_long_a_path_is_refused),
		{.name = "too_many_records_are_counted", /* left out without a function */
		 .test_func = is_long ? too_many_records_are_counted : NULL},
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
