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
#include <unistd.h>

#include <cmocka.h>

#include "engine/trace.h"
#include "tools/steps_trace.h"

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

static void record(struct ring_trace *trace, enum ring_trace_counter counter, uint64_t index,
		   int peer, int step, uint64_t time_ns)
{
	bool is_call = counter == RING_CALLED || counter == RING_RETURNED;
	ring_trace_add(trace, &(struct ring_trace_record){.time_ns = time_ns,
							  .call = CALL,
							  .index = index,
							  .channel = is_call ? -1 : 0,
							  .peer = peer,
							  .step = step,
							  .counter = (int32_t)counter});
}

/* Entry i of a rank takes from i + 0.1 us to i + 0.5 us, and the rank begins after 1000 us. */
static void record_plan(struct ring_trace *trace, const struct ring_plan *plan)
{
	for (uint64_t i = 0; i < plan->outgoing; i++) {
		struct ring_transfer out = ring_plan_outgoing(plan, i);
		record(trace, RING_POSTED, i, out.peer, out.step, 1000100 + i * 1000);
		record(trace, RING_SENT, i, out.peer, out.step, 1000500 + i * 1000);
	}
	for (uint64_t j = 0; j < plan->incoming; j++) {
		struct ring_transfer in = ring_plan_incoming(plan, j);
		record(trace, RING_STARTED, j, in.peer, in.step, 1000100 + j * 1000);
		record(trace, RING_REDUCED, j, in.peer, in.step, 1000500 + j * 1000);
	}
}

/* Before ranks reach into memory they tell one another where it lies, by a plan of its own. */
static void record_whereabouts(struct ring_trace *trace, int rank)
{
	for (int distance = 1; distance < RANKS; distance++) {
		int peer = (rank + distance) % RANKS;
		uint64_t index = (uint64_t)distance - 1, time_ns = 1000000 + index;
		record(trace, RING_POSTED, index, peer, -1, time_ns);
		record(trace, RING_SENT, index, peer, -1, time_ns);
		record(trace, RING_STARTED, index, peer, -1, time_ns);
		record(trace, RING_REDUCED, index, peer, -1, time_ns);
	}
}

/* returns what stands in the file */
static char *write_trace(const struct steps_choice *choice, int rank)
{
	static int written;
	char path[128];
	struct ring_trace *trace;
	struct ring_failure failure;
	struct ring_plan plan = steps_plan(choice, rank, false);
	snprintf(path, sizeof(path), "%s/%d-%%r.json", folder, ++written);
	assert_int_equal(ring_trace_open(&trace, path, rank, RANKS, &failure), 0);
	record(trace, RING_CALLED, choice->count, -1, choice->kind, 1000000);
	if (choice->algorithm == RING_ALGORITHM_DIRECT)
		record_whereabouts(trace, rank);
	record_plan(trace, &plan);
	record(trace, RING_RETURNED, choice->count, -1, choice->kind, 2000000);
	ring_trace_close(trace);

	snprintf(path, sizeof(path), "%s/%d-%d.json", folder, written, rank);
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 16);
	assert_non_null(file);
	assert_non_null(text);
	assert_in_range(fread(text, 1, (1 << 16) - 1, file), 1, (1 << 16) - 2);
	fclose(file);
	assert_int_equal(unlink(path), 0);
	return text;
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
			 steps_algorithm_name(choice->algorithm), sentence);
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
	refuse_text("{\"ranks\": 4}\n", 13, "trace, line 1: this is no trace of RING_TRACE");
	refuse_text("\n", 1, "trace, line 1: this is no trace of RING_TRACE");
	assert_true(read_text(text, strlen(text), &trace, sentence));
	assert_false(read_text(text, strlen(text), &trace, sentence));
	assert_string_equal(sentence, "trace, line 2: the trace of this rank is there twice");
	steps_trace_free(&trace);
	char *pid = strstr(strstr(text, "to rank"), "\"pid\":1");
	assert_non_null(pid);
	pid[6] = '2';
	refuse_text(text, strlen(text),
		    "line 4: this record is of another rank than those before it");
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
			find_nothing(&trace, CALL, "follows no plan");
		free(text);
	}
	find_nothing(&trace, CALL + 1, "rank 0 recorded no call 8");
	trace.record_count -= 2;
	find_nothing(&trace, CALL, "call 7, all_reduce of 4, follows no plan");
	steps_trace_free(&trace);
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
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
