/* SPDX-License-Identifier: MIT */
/*
 * ring_steps --trace: of traces as the library writes them it finds the plan, the order of the ranks and the times; what is
 * damaged, incomplete or something else is refused by file and line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/trace.h"
#include "tools/steps/trace.h"

#define RANKS 4
#define CALL 7

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/steps_trace_test.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder); /* fails if a test left something behind */
}

/* ---- traces as the library writes them ------------------------------------------------------- */

static struct steps_choice choice_of(enum ring_kind kind, enum ring_algorithm algorithm)
{
	struct steps_choice choice = {.kind = kind,
				      .algorithm = algorithm,
				      .ranks = RANKS,
				      .chunks_per_round = 2,
				      .depth = 4,
				      .order = {0, 2, 1, 3}};
	steps_choice_complete(&choice);
	return choice;
}

/* A call and how it ended. */
static void record_call(struct ring_trace *trace, const struct steps_choice *choice, uint64_t call,
			int channel, int err)
{
	struct ring_trace_record record = {.time_ns = 1000000 * (call - CALL + 1),
					   .call = call,
					   .index = choice->count,
					   .channel = channel,
					   .peer = -1,
					   .step = (int32_t)choice->kind,
					   .counter = RING_CALLED,
					   .bytes = choice->count * steps_element_bytes(choice)};
	ring_trace_add(trace, &record);
	record.time_ns += 500000;
	record.counter = RING_RETURNED;
	record.block = err;
	record.action = (int32_t)choice->algorithm;
	ring_trace_add(trace, &record);
}

static void record(struct ring_trace *trace, enum ring_trace_counter counter, uint64_t index,
		   const struct ring_transfer *entry, uint64_t time_ns)
{
	ring_trace_add(trace, &(struct ring_trace_record){.time_ns = time_ns,
							  .call = CALL,
							  .index = index,
							  .peer = entry->peer,
							  .step = entry->step,
							  .counter = (int32_t)counter,
							  .bytes = entry->bytes});
}

/* Entry i of a rank takes from i + 0.1 us to i + 0.5 us, and the rank begins after 1000 us. */
static void record_plan(struct ring_trace *trace, const struct ring_plan *plan)
{
	for (uint64_t i = 0; i < plan->outgoing; i++) {
		struct ring_transfer out = ring_plan_outgoing(plan, i);
		record(trace, RING_POSTED, i, &out, 1000100 + i * 1000);
		record(trace, RING_SENT, i, &out, 1000500 + i * 1000);
	}
	for (uint64_t j = 0; j < plan->incoming; j++) {
		struct ring_transfer in = ring_plan_incoming(plan, j);
		record(trace, RING_STARTED, j, &in, 1000100 + j * 1000);
		record(trace, RING_REDUCED, j, &in, 1000500 + j * 1000);
	}
}

/* Before ranks reach into memory they tell one another where it lies, by a plan of its own. */
static void record_whereabouts(struct ring_trace *trace, int rank)
{
	for (int distance = 1; distance < RANKS; distance++) {
		struct ring_transfer signal = {.peer = (rank + distance) % RANKS, .step = -1};
		uint64_t index = (uint64_t)distance - 1, time_ns = 1000000 + index;
		record(trace, RING_POSTED, index, &signal, time_ns);
		record(trace, RING_SENT, index, &signal, time_ns);
		record(trace, RING_STARTED, index, &signal, time_ns);
		record(trace, RING_REDUCED, index, &signal, time_ns);
	}
}

static void record_whole(struct ring_trace *trace, const struct steps_choice *choice, int rank)
{
	struct ring_plan plan = steps_plan(choice, rank, false);
	record_call(trace, choice, CALL, RING_TRACE_CALL, 0);
	if (choice->algorithm == RING_ALGORITHM_DIRECT)
		record_whereabouts(trace, rank);
	record_plan(trace, &plan);
}

/* A call of the library's own follows, and one that failed. */
static void record_failure(struct ring_trace *trace, const struct steps_choice *choice, int rank)
{
	record_whole(trace, choice, rank);
	record_call(trace, choice, CALL + 1, RING_TRACE_OWN, 0);
	record_call(trace, choice, CALL + 2, RING_TRACE_CALL, RING_EPEER);
}

/* As many entries as nobody has, all open at once, or one after the other. */
#define MANY 100000
static void record_many(struct ring_trace *trace, bool at_once)
{
	const struct ring_transfer entry = {.peer = 1};
	for (uint64_t i = 0; i < MANY; i++) {
		record(trace, RING_POSTED, i, &entry, i);
		if (!at_once)
			record(trace, RING_SENT, i, &entry, i);
	}
	for (uint64_t i = 0; at_once && i < MANY; i++)
		record(trace, RING_SENT, i, &entry, MANY + i);
}

static void record_open(struct ring_trace *trace, const struct steps_choice *choice, int rank)
{
	(void)choice, (void)rank;
	record_many(trace, true);
}

static void record_closed(struct ring_trace *trace, const struct steps_choice *choice, int rank)
{
	(void)choice, (void)rank;
	record_many(trace, false);
}

typedef void recorder(struct ring_trace *trace, const struct steps_choice *choice, int rank);

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	char *text = NULL;
	size_t room = 0;
	assert_true(getdelim(&text, &room, '\0', file) > 0);
	fclose(file);
	return text;
}

/* returns what stands in the file */
static char *write_as(recorder *records, const struct steps_choice *choice, int rank)
{
	static int written;
	char path[128];
	struct ring_trace *trace;
	struct ring_failure failure;
	snprintf(path, sizeof(path), "%s/%d-%%r.json", folder, ++written);
	assert_int_equal(ring_trace_open(&trace, path, rank, RANKS, &failure), 0);
	records(trace, choice, rank);
	ring_trace_close(trace);

	snprintf(path, sizeof(path), "%s/%d-%d.json", folder, written, rank);
	char *text = read_file(path);
	assert_int_equal(unlink(path), 0);
	return text;
}

static char *write_trace(const struct steps_choice *choice, int rank)
{
	return write_as(record_whole, choice, rank);
}

static bool read_text(const char *text, size_t length, struct steps_trace *trace, char *sentence)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, length, "r");
	assert_non_null(in);
	bool good = steps_trace_read(in, "trace", trace, sentence, 512);
	fclose(in);
	return good;
}

/* ---- what is found --------------------------------------------------------------------------- */

static void check_times(struct steps_trace *trace, const struct steps_choice *found)
{
	struct steps_walk walk;
	assert_int_equal(steps_walk_make(found, &walk), 0);
	steps_trace_time(trace, CALL, &walk);
	for (size_t e = 0; e < walk.event_count; e++) {
		double wanted = (double)walk.events[e].index + 0.5;
		assert_true(walk.events[e].us > wanted - 1e-6 && walk.events[e].us < wanted + 1e-6);
	}
	steps_walk_free(&walk);
}

static void find_plan(const struct steps_choice *choice)
{
	struct steps_trace trace = {0};
	struct steps_choice found = {.algorithm = STEPS_ANY_ALGORITHM,
				     .chunks_per_round = 2,
				     .depth = 4};
	char sentence[512] = "";
	uint64_t call = 0;
	for (int rank = 0; rank < RANKS; rank++) {
		char *text = write_trace(choice, rank);
		if (!read_text(text, strlen(text), &trace, sentence))
			fail_msg("rank %d: %s", rank, sentence);
		free(text);
	}
	if (!steps_trace_find(&trace, &call, &found, sentence, sizeof(sentence)))
		fail_msg("%s by %s: %s", steps_kind_name(choice->kind),
			 ring_algorithm_name(choice->algorithm), sentence);
	assert_int_equal(call, CALL);
	assert_int_equal(found.kind, choice->kind);
	assert_int_equal(found.count, choice->count);
	if (found.algorithm != choice->algorithm) /* some plans are the same */
		assert_true(choice->kind != RING_KIND_ALL_REDUCE);
	check_times(&trace, &found);
	steps_trace_free(&trace);
}

/* A recorded call would be shown as another one, or not at all, although nothing is wrong with its trace. */
static void recorded_plans_are_found(void **state)
{
	(void)state;
	for (int kind = 0; kind < RING_KIND_SEND; kind++)
		for (int algorithm = 0; algorithm < RING_ALGORITHMS; algorithm++) {
			struct steps_choice choice = choice_of((enum ring_kind)kind,
							       (enum ring_algorithm)algorithm);
			char sentence[512];
			if (!steps_choice_refuse(&choice, sentence, sizeof(sentence)))
				find_plan(&choice);
		}
}

/* All ranks' traces in one file, as ring_perf writes them, are the same as in several. */
static void one_file_may_be_of_all(void **state)
{
	(void)state;
	struct steps_choice choice = choice_of(RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING);
	struct steps_trace trace = {0};
	char sentence[512] = "", *all = calloc(RANKS, 1 << 16);
	assert_non_null(all);
	for (int rank = 0; rank < RANKS; rank++) {
		char *text = write_trace(&choice, rank), *end = strstr(text, "\n]}\n");
		assert_non_null(end);
		*end = '\0';
		strcat(all, rank == 0 ? text : strchr(text, '\n') + 1);
		strcat(all, rank + 1 < RANKS ? ",\n" : "\n]}\n");
		free(text);
	}
	if (!read_text(all, strlen(all), &trace, sentence))
		fail_msg("%s", sentence);
	assert_int_equal(trace.ranks, RANKS);
	struct steps_choice found = {.algorithm = STEPS_ANY_ALGORITHM,
				     .chunks_per_round = 2,
				     .depth = 4};
	uint64_t call = 0;
	if (!steps_trace_find(&trace, &call, &found, sentence, sizeof(sentence)))
		fail_msg("%s", sentence);
	steps_trace_free(&trace);
	free(all);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void refuse_text(const char *text, size_t length, const char *wanted)
{
	struct steps_trace trace = {0};
	char sentence[512] = "";
	bool good = read_text(text, length, &trace, sentence);
	if (good || !strstr(sentence, wanted))
		fail_msg("not \"%s\" but \"%s\"", wanted, good ? "no complaint" : sentence);
	steps_trace_free(&trace);
}

/* A trace that was cut off would be shown as if it were whole. */
static void what_is_cut_off_is_refused(void **state)
{
	(void)state;
	struct steps_choice choice = choice_of(RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING);
	char *text = write_trace(&choice, 1);
	size_t length = strlen(text) - strlen("\n]}\n");
	for (size_t cut = 1; cut <= length; cut++)
		refuse_text(text, cut, "trace, line ");
	refuse_text(text, length, "ends in the middle");
	free(text);
}

/* A damaged letter would end the program, or pass for another record. */
static void what_is_damaged_is_refused(void **state)
{
	(void)state;
	struct steps_choice choice = choice_of(RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING);
	char *text = write_trace(&choice, 1);
	size_t length = strlen(text);
	for (size_t i = 0; i < length; i++) {
		char was = text[i];
		text[i] = '~';
		refuse_text(text, length, "trace, line ");
		text[i] = was;
	}
	free(text);
}

/* Who gives another file would see nothing of why it is not shown. */
static void what_is_no_trace_is_refused(void **state)
{
	(void)state;
	struct steps_choice choice = choice_of(RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING);
	char *text = write_trace(&choice, 1), sentence[512];
	struct steps_trace trace = {0};
	refuse_text("{\"ranks\": 4}\n", 13, "trace, line 1: this is not a trace of RING_TRACE");
	refuse_text("\n", 1, "trace, line 1: this is not a trace of RING_TRACE");
	assert_true(read_text(text, strlen(text), &trace, sentence));
	assert_false(read_text(text, strlen(text), &trace, sentence));
	assert_string_equal(sentence, "trace, line 2: the trace of this rank is there twice");
	steps_trace_free(&trace);
	char *pid = strstr(strstr(text, "to rank"), "\"pid\":1");
	assert_non_null(pid);
	pid[6] = '2';
	refuse_text(text, strlen(text),
		    "line 5: this record is of another rank than those before it");
	free(text);
}

static void find_nothing(struct steps_trace *trace, uint64_t call, const char *wanted)
{
	struct steps_choice found = {.algorithm = STEPS_ANY_ALGORITHM,
				     .chunks_per_round = 2,
				     .depth = 4};
	char sentence[512] = "";
	if (steps_trace_find(trace, &call, &found, sentence, sizeof(sentence)) ||
	    !strstr(sentence, wanted))
		fail_msg("not \"%s\" but \"%s\"", wanted, sentence);
}

/* Who forgets a rank, or names a call that is none, would see a picture with holes. */
static void what_is_missing_is_named(void **state)
{
	(void)state;
	struct steps_choice choice = choice_of(RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING);
	struct steps_trace trace = {0};
	char sentence[512];
	for (int rank = 0; rank < RANKS; rank++) {
		char *text = write_trace(&choice, rank);
		assert_true(read_text(text, strlen(text), &trace, sentence));
		if (rank == 2)
			find_nothing(&trace, CALL, "the trace of rank 3 is missing");
		free(text);
	}
	find_nothing(&trace, CALL + 1, "no call 8 was recorded; there are 7 to 7, and --list");
	trace.record_count -= 2;
	find_nothing(&trace, CALL,
		     "call 7, all_reduce of 4 by ring, follows no plan that was tried");
	trace.records[0].channel = 3;
	find_nothing(&trace, CALL, "ran on 4 channels: record it with RING_CHANNELS=1");
	steps_trace_free(&trace);
}

static void read_all(recorder *records, const struct steps_choice *choice, struct steps_trace *trace)
{
	char sentence[512];
	for (int rank = 0; rank < RANKS; rank++) {
		char *text = write_as(records, choice, rank);
		if (!read_text(text, strlen(text), trace, sentence))
			fail_msg("%s", sentence);
		free(text);
	}
}

/* Without a number people want the last call that their program made, and that went well. */
static void calls_of_the_program_come_first(void **state)
{
	(void)state;
	struct steps_choice choice = choice_of(RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING);
	struct steps_choice found = {.algorithm = STEPS_ANY_ALGORITHM,
				     .chunks_per_round = 2,
				     .depth = 4};
	struct steps_trace trace = {0};
	char sentence[512] = "", *table = NULL;
	size_t length = 0;
	uint64_t call = 0;
	read_all(record_failure, &choice, &trace);
	if (!steps_trace_find(&trace, &call, &found, sentence, sizeof(sentence)))
		fail_msg("%s", sentence);
	assert_int_equal(call, CALL);
	assert_true(steps_trace_failed(&trace, sentence, sizeof(sentence)));
	assert_string_equal(sentence, "the job failed in call 9: another rank was lost");
	find_nothing(&trace, CALL + 2, "call 9 failed on rank 0: another rank was lost");
	find_nothing(&trace, 1, "there are 7 to 9, and --list shows them; the job failed in call 9");
	FILE *out = open_memstream(&table, &length);
	assert_true(out && steps_trace_list(&trace, out));
	fclose(out);
	assert_string_equal(
		table,
		"call  collective  elements  bytes  by    us     made by\n"
		"7     all_reduce  4         16     ring  500.0  program\n"
		"8     all_reduce  4         16     ring  500.0  library\n"
		"9     all_reduce  4         0      -     500.0  program  failed: another rank "
		"was lost\n");
	free(table);
	steps_trace_free(&trace);
}

/* Chunks need be no powers of two, nor elements 4 bytes. */
static void odd_chunks_and_elements_are_found(void **state)
{
	(void)state;
	struct steps_choice choice = {.kind = RING_KIND_ALL_REDUCE,
				      .algorithm = RING_ALGORITHM_DIRECT,
				      .ranks = RANKS,
				      .count = 5000,
				      .element_bytes = 8,
				      .chunk_bytes = 2504,
				      .chunks_per_round = 2,
				      .depth = 4,
				      .order = {0, 2, 1, 3}};
	struct steps_choice found = {.algorithm = STEPS_ANY_ALGORITHM,
				     .chunks_per_round = 2,
				     .depth = 4};
	struct steps_trace trace = {0};
	char sentence[512] = "";
	uint64_t call = 0;
	read_all(record_whole, &choice, &trace);
	if (!steps_trace_find(&trace, &call, &found, sentence, sizeof(sentence)))
		fail_msg("%s", sentence);
	assert_int_equal(found.element_bytes, 8);
	assert_int_equal(found.chunk_bytes, 2504);
	steps_trace_free(&trace);
}

static double seconds_to_read(recorder *records)
{
	struct steps_trace trace = {0};
	char sentence[512], *text = write_as(records, NULL, 0);
	size_t length = strlen(text);
	clock_t begin = clock();
	if (!read_text(text, length, &trace, sentence))
		fail_msg("%s", sentence);
	double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
	steps_trace_free(&trace);
	free(text);
	return seconds;
}

/* A trace of many entries that are open at once took time with their square. */
static void entries_may_all_be_open_at_once(void **state)
{
	(void)state;
	double closed = seconds_to_read(record_closed), open = seconds_to_read(record_open);
	if (open > 8 * closed + 0.1)
		fail_msg("%.2f s of CPU where one after the other takes %.2f s", open, closed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_plans_are_found),
		cmocka_unit_test(one_file_may_be_of_all),
		cmocka_unit_test(what_is_cut_off_is_refused),
		cmocka_unit_test(what_is_damaged_is_refused),
		cmocka_unit_test(what_is_no_trace_is_refused),
		cmocka_unit_test(what_is_missing_is_named),
		cmocka_unit_test(calls_of_the_program_come_first),
		cmocka_unit_test(odd_chunks_and_elements_are_found),
		cmocka_unit_test(entries_may_all_be_open_at_once),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
