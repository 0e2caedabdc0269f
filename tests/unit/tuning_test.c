/* SPDX-License-Identifier: MIT */
/* What carries a call: rows, tables as text with a sentence for each mistake, and which row decides. */
#include "choose/tuning.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "choose/tuning_file.h"

static int read_text(const char *text, struct ring_tuning_table *table, struct ring_failure *failure)
{
	char *copy = strdup(text);
	int err = ring_tuning_text_read("my.table", copy, strlen(copy), table, failure);
	free(copy);
	return err;
}

static struct ring_tuning_table table_of(const char *text)
{
	struct ring_tuning_table table;
	struct ring_failure failure = {0};
	if (read_text(text, &table, &failure))
		fail_msg("refused: %s", failure.text);
	return table;
}

static void rows_are_read(void **state)
{
	(void)state;
	struct ring_tuning_table table = table_of(
		"# kind path memory ranks bytes algorithm\n"
		"\n"
		"all_reduce memory private 2 8K oneshot # fast\n"
		"any\tany any any any ring\r\n"
		"  broadcast socket shared 3-64 1500 oneshot 64K\n"
		"barrier network any 9- 0 oneshot");
	assert_int_equal(table.count, 4);
	const struct ring_tuning_row *row = table.rows;
	assert_int_equal(row->kind, RING_KIND_ALL_REDUCE);
	assert_int_equal(row->path, RING_PATH_MEMORY);
	assert_int_equal(row->memory, RING_MEMORY_PRIVATE);
	assert_int_equal(row->ranks_from, 2);
	assert_int_equal(row->ranks_to, 2);
	assert_int_equal(row->bytes, 8 << 10);
	assert_int_equal(row->algorithm, RING_ALGORITHM_ONE_SHOT);
	assert_int_equal(row->chunk_bytes, 0);
	assert_int_equal(row->line, 3);
	row++;
	assert_int_equal(row->kind, RING_TUNING_ANY);
	assert_int_equal(row->path, RING_TUNING_ANY);
	assert_int_equal(row->memory, RING_TUNING_ANY);
	assert_int_equal(row->ranks_from, 1);
	assert_int_equal(row->ranks_to, INT_MAX);
	assert_true(row->bytes == UINT64_MAX);
	row++;
	assert_int_equal(row->ranks_from, 3);
	assert_int_equal(row->ranks_to, 64);
	assert_int_equal(row->chunk_bytes, 64 << 10);
	assert_int_equal(row->line, 5);
	row++;
	assert_int_equal(row->ranks_from, 9);
	assert_int_equal(row->ranks_to, INT_MAX);
	assert_int_equal(row->bytes, 0);
}

static void rows_are_written_as_they_are_read(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"all_reduce memory private 2 8K oneshot",
		"any any any any any ring",
		"broadcast network shared 3-64 1500 oneshot 64K",
		"all_to_all mixed any 9- 3M oneshot 12",
		"all_reduce socket any 4 0 twoshot 1G",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct ring_tuning_table table = table_of(texts[i]);
		char text[RING_TUNING_ROW_TEXT];
		assert_string_equal(ring_tuning_row_format(table.rows, text), texts[i]);
	}
}

static void mistakes_are_named(void **state)
{
	(void)state;
	static const char *const bad[][4] = {
		{"any any any any any ring\nall_red any any any any ring", "line 2", "all_red",
		 "all_reduce"},
		{"send any any any any ring", "kind is \"send\"", "barrier", "line 1"},
		{"any tcp any any any ring", "path", "tcp", "socket"},
		{"any any mine any any ring", "memory", "mine", "private"},
		{"any any any 0 any ring", "ranks", "\"0\"", "3-64"},
		{"any any any -4 any ring", "ranks", "-4", "3-64"},
		{"any any any 5-4 any ring", "ranks", "5-4", "3-64"},
		{"any any any 2-x any ring", "ranks", "2-x", "3-64"},
		{"any any any 2K any ring", "ranks", "2K", "3-64"},
		{"any any any 99999999999 any ring", "ranks", "99999999999", "3-64"},
		{"any any any any -1 ring", "bytes", "-1", "64K"},
		{"any any any any 8k8 ring", "bytes", "8k8", "64K"},
		{"any any any any any tree_shot", "algorithm", "tree_shot", "twoshot"},
		{"any any any any any pair", "algorithm", "pair", "oneshot"},
		{"broadcast any any any any twoshot", "algorithm", "twoshot", "that kind"},
		{"all_reduce any any 65- any oneshot", "algorithm", "oneshot", "that many ranks"},
		{"any any any any any ring 4", "chunk", "\"4\"", "8 to 1G"},
		{"any any any any any ring 2G", "chunk", "\"2G\"", "8 to 1G"},
		{"any any any any ring", "5 words", "expected kind, path", "line 1"},
		{"any", "is 1 word", "expected kind, path", "line 1"},
		{"any any any any any ring 64K 3", "8 words", "perhaps chunk", "line 1"},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ring_tuning_table table;
		struct ring_failure failure = {0};
		assert_int_equal(read_text(bad[i][0], &table, &failure), RING_EINVAL);
		for (int word = 1; word < 4; word++)
			if (!strstr(failure.text, bad[i][word]))
				fail_msg("no \"%s\" in: %s", bad[i][word], failure.text);
		assert_non_null(strstr(failure.text, "my.table"));
	}
}

static void files_are_checked(void **state)
{
	(void)state;
	struct ring_tuning_table table;
	struct ring_failure failure = {0};
	assert_int_equal(ring_tuning_file_read("/nowhere/at/all", &table, &failure), RING_ESYSTEM);
	assert_non_null(strstr(failure.text, "/nowhere/at/all"));
	failure.err = 0;
	assert_int_equal(ring_tuning_file_read("/", &table, &failure), RING_ESYSTEM);
	failure.err = 0;
	assert_int_equal(ring_tuning_file_read("/dev/zero", &table, &failure), RING_EINVAL);
	assert_non_null(strstr(failure.text, "1048576"));

	char zero[] = "any any any any any\0ring";
	failure.err = 0;
	assert_int_equal(ring_tuning_text_read("zero", zero, sizeof(zero) - 1, &table, &failure),
			 RING_EINVAL);

	char text[(RING_TUNING_ROWS + 1) * 32] = "";
	for (int i = 0; i < RING_TUNING_ROWS; i++)
		strcat(text, "any any any any any ring\n");
	assert_int_equal(table_of(text).count, RING_TUNING_ROWS);
	strcat(text, "any any any any any ring\n");
	failure.err = 0;
	assert_int_equal(read_text(text, &table, &failure), RING_EINVAL);
	assert_non_null(strstr(failure.text, "line 129"));
}

static void hashes_are_of_rows(void **state)
{
	(void)state;
	struct ring_tuning_table a = table_of("all_reduce memory any 2 8K oneshot");
	struct ring_tuning_table b = table_of("# same\n\nall_reduce  memory any 2-2 8192 oneshot");
	struct ring_tuning_table c = table_of("all_reduce memory any 2 8K oneshot 64K");
	struct ring_tuning_table none = table_of("");
	assert_true(ring_tuning_hash(&a) == ring_tuning_hash(&b));
	assert_true(ring_tuning_hash(&a) != ring_tuning_hash(&c));
	assert_true(ring_tuning_hash(&none) != 0);
}

/* ---- which row decides ---- */

static const int order[] = {0, 1, 2, 3};

static const struct ring_question small_all_reduce = {.kind = RING_KIND_ALL_REDUCE,
						      .ranks = 4,
						      .order = order,
						      .bytes = 100,
						      .path = RING_PATH_NETWORK};

static const struct ring_tuning any_tuning = {
	.chunk_bytes = 64 << 10, .depth = 4, .chunks_per_round = 2, .channels = 1, .algorithm = -1};

static struct ring_choice choose(const char *text, int forced, const struct ring_question *question,
				 char reason[RING_REASON_TEXT])
{
	static struct ring_tuning_table table;
	table = table_of(text);
	struct ring_tuning tuning = any_tuning;
	tuning.algorithm = forced;
	tuning.table = &table;
	tuning.model = ring_model_built_in[question->path];
	struct ring_choice choice = ring_tuning_choose(&tuning, question);
	ring_choice_reason(&choice, reason);
	return choice;
}

static void the_first_row_that_fits_decides(void **state)
{
	(void)state;
	char reason[RING_REASON_TEXT];
	static const char text[] = "broadcast any any any any oneshot\n"
				   "all_reduce socket any any any twoshot\n"
				   "all_reduce any any 5- any twoshot\n"
				   "all_reduce any any any 99 twoshot\n"
				   "all_reduce any any any 100 oneshot 4K\n"
				   "any any any any any ring\n";
	struct ring_question question = small_all_reduce;
	struct ring_choice choice = choose(text, -1, &question, reason);
	assert_int_equal(choice.algorithm, RING_ALGORITHM_ONE_SHOT);
	assert_int_equal(choice.chunk_bytes, 4 << 10);
	assert_string_equal(reason, "my.table, line 5: all_reduce any any any 100 oneshot 4K");

	question.bytes = 101;
	choice = choose(text, -1, &question, reason);
	assert_int_equal(choice.algorithm, RING_ALGORITHM_RING);
	assert_string_equal(reason, "my.table, line 6: any any any any any ring");

	question.bytes = 99;
	assert_int_equal(choose(text, -1, &question, reason).algorithm, RING_ALGORITHM_TWO_SHOT);
}

static void rows_without_a_plan_are_passed_over(void **state)
{
	(void)state;
	char reason[RING_REASON_TEXT];
	struct ring_question question = small_all_reduce;
	question.scaled = true;
	struct ring_choice choice = choose("any any any any any oneshot", -1, &question, reason);
	assert_int_equal(choice.algorithm, RING_ALGORITHM_RING);
	assert_memory_equal(reason, "predicted: ring ", 16);
}

static void the_option_comes_first(void **state)
{
	(void)state;
	char reason[RING_REASON_TEXT];
	struct ring_question question = small_all_reduce;
	struct ring_choice choice = choose("any any any any any oneshot", RING_ALGORITHM_TWO_SHOT,
					   &question, reason);
	assert_int_equal(choice.algorithm, RING_ALGORITHM_TWO_SHOT);
	assert_string_equal(reason, "RING_ALGORITHM");

	question.kind = RING_KIND_BROADCAST; /* which it has no plan for */
	choice = choose("any any any any any oneshot", RING_ALGORITHM_TWO_SHOT, &question, reason);
	assert_int_equal(choice.algorithm, RING_ALGORITHM_RING);
}

/* Neither rows nor the model, and what is forced only where it can; two ranks have one order. */
static void sums_in_order_have_their_plans(void **state)
{
	(void)state;
	char reason[RING_REASON_TEXT];
	struct ring_question question = small_all_reduce;
	question.in_order = true;
	for (question.bytes = 4; question.bytes < 1 << 28; question.bytes *= 2) {
		struct ring_choice choice = choose("any any any any any ring\n"
						   "any any any any any stride",
						   -1, &question, reason);
		assert_true(ring_algorithm_has(choice.algorithm, RING_ADDS_ALL));
		choice = choose("", RING_ALGORITHM_BRUCK, &question, reason);
		assert_true(ring_algorithm_has(choice.algorithm, RING_ADDS_ALL));
		assert_int_equal(choice.algorithm == RING_ALGORITHM_BRUCK, question.bytes <= 64);
	}
	question.kind = RING_KIND_REDUCE;
	assert_int_equal(choose("", RING_ALGORITHM_TWO_SHOT, &question, reason).algorithm,
			 RING_ALGORITHM_ONE_SHOT);
	question.ranks = 2;
	assert_int_equal(choose("any any any any any ring", -1, &question, reason).algorithm,
			 RING_ALGORITHM_RING);
}

/* Forced or by a row: only ranks that can reach one another's memory do it. */
static void memory_is_reached_where_it_can_be(void **state)
{
	(void)state;
	char reason[RING_REASON_TEXT];
	const char *rows = "any any any any any direct";
	struct ring_question question = small_all_reduce;
	question.path = RING_PATH_MEMORY;
	question.memory = RING_MEMORY_PRIVATE;
	assert_int_not_equal(choose(rows, -1, &question, reason).algorithm, RING_ALGORITHM_DIRECT);
	assert_int_equal(choose("", RING_ALGORITHM_DIRECT, &question, reason).algorithm,
			 RING_ALGORITHM_RING);
	question.memory = RING_MEMORY_REACHABLE;
	assert_int_equal(choose(rows, -1, &question, reason).algorithm, RING_ALGORITHM_DIRECT);
	question.path = RING_PATH_SOCKET;
	assert_int_not_equal(choose(rows, -1, &question, reason).algorithm, RING_ALGORITHM_DIRECT);
}

/* Nor is there a plan that puts data behind records, or reaches for them, where hosts cannot. */
static void memory_apart_has_its_plans(void **state)
{
	(void)state;
	char reason[RING_REASON_TEXT];
	struct ring_question question = small_all_reduce;
	question.bytes = 8;
	question.path = RING_PATH_MEMORY;
	question.memory = RING_MEMORY_REACHABLE;
	question.staged = true;
	for (int algorithm = 0; algorithm < RING_ALGORITHM_PAIR; algorithm++) {
		bool keeps = algorithm == RING_ALGORITHM_RING ||
			     algorithm == RING_ALGORITHM_ONE_SHOT ||
			     algorithm == RING_ALGORITHM_STRIDE ||
			     algorithm == RING_ALGORITHM_TWO_SHOT;
		question.apart = false;
		assert_int_equal(choose("", algorithm, &question, reason).algorithm, algorithm);
		question.apart = true;
		assert_int_equal(choose("", algorithm, &question, reason).algorithm,
				 keeps ? algorithm : (int)RING_ALGORITHM_RING);
	}
	question.kind = RING_KIND_BROADCAST;
	assert_int_equal(choose("", RING_ALGORITHM_TREE, &question, reason).algorithm,
			 RING_ALGORITHM_TREE);
	struct ring_tuning tuning = any_tuning;
	tuning.model = ring_model_built_in[RING_PATH_MEMORY];
	assert_true(ring_tuning_reaches(&tuning, &question)); /* if devices reach one another */
	question.memory = RING_MEMORY_SHARED;
	assert_int_equal(choose("", RING_ALGORITHM_DIRECT, &question, reason).algorithm,
			 RING_ALGORITHM_DIRECT);
}

/* What was answered once is answered again only if nothing differs. */
static void questions_differ_by_each_member(void **state)
{
	(void)state;
	static const int other_order[] = {0, 2, 1, 3};
	struct ring_question others[11];
	for (int i = 0; i < 11; i++)
		others[i] = small_all_reduce;
	assert_true(ring_question_equals(&small_all_reduce, &others[0]));
	others[0].kind = RING_KIND_BROADCAST;
	others[1].ranks = 3;
	others[2].order = other_order;
	others[3].bytes++;
	others[4].path = RING_PATH_MEMORY;
	others[5].memory = RING_MEMORY_SHARED;
	others[6].scaled = true;
	others[7].staged = true;
	others[8].apart = true;
	others[9].workers = 1;
	others[10].in_order = true;
	for (int i = 0; i < 11; i++)
		assert_false(ring_question_equals(&small_all_reduce, &others[i]));
}

/* ---- numbers of the model ---- */

#define NUMBERS_TEXT 1024

/* All of them, of one section. */
static const char *write_numbers(const char *section, const char *each, char text[NUMBERS_TEXT])
{
	size_t length = 0;
	for (int number = 0; number < RING_MODEL_COUNT; number++)
		length += (size_t)snprintf(text + length, NUMBERS_TEXT - length, "model %s %s %s\n",
					   section, ring_model_numbers[number].name,
					   ring_model_numbers[number].unit == RING_EACH
						   ? each
						   : "12.5GB/s");
	return text;
}

static const char *numbers_of(const char *section, char text[NUMBERS_TEXT])
{
	return write_numbers(section, "0.25us", text);
}

static const char *slow_numbers_of(const char *section, char text[NUMBERS_TEXT])
{
	return write_numbers(section, "250000us", text);
}

static const char *memory_numbers(char text[NUMBERS_TEXT])
{
	return numbers_of("memory", text);
}

static void numbers_are_read(void **state)
{
	(void)state;
	char text[NUMBERS_TEXT];
	struct ring_tuning_table table = table_of(memory_numbers(text));
	struct ring_tuning_table none = table_of("");
	assert_int_equal(table.count, 0);
	assert_true(table.has_model[RING_PATH_MEMORY]);
	assert_false(table.has_model[RING_PATH_SOCKET]);
	assert_int_equal(table.models[RING_PATH_MEMORY].hop, 250000);
	assert_int_equal(table.models[RING_PATH_MEMORY].touch, 81920);
	assert_true(ring_tuning_hash(&table) != ring_tuning_hash(&none));
}

static void mistakes_in_numbers_are_named(void **state)
{
	(void)state;
	static const char *const mistakes[][2] = {
		{"model memory hop", "my.table, line 1: expected model, section, name and number, "
				     "but there are 3 words"},
		{"model air hop 1us",
		 "my.table, line 1: section is \"air\", but must be one of memory socket network "
		 "verbs mixed memory-apart socket-apart network-apart verbs-apart mixed-apart "
		 "bus-reached link-reached chip-reached"},
		{"model memory leap 1us",
		 "my.table, line 1: the model has no leap of memory; was this written by another "
		 "version? Measure again: ring_perf --tune"},
		{"model memory hop 1GB/s",
		 "my.table, line 1: hop is \"1GB/s\", but must be 0 or like \"0.25us\""},
		{"model memory touch 1us",
		 "my.table, line 1: touch is \"1us\", but must be 0 or like \"12.5GB/s\""},
		{"model memory hop -1us",
		 "my.table, line 1: hop is \"-1us\", but must be 0 or like \"0.25us\""},
		{"model memory hop 1us\nmodel memory hop 2us",
		 "my.table, line 2: hop of memory is there twice"},
		{"model memory hop 1us",
		 "my.table, line 1: it ends without the model's call of memory; measure again: "
		 "ring_perf --tune"},
		{"model bus-reached call 1us",
		 "my.table, line 1: it ends without the model's queue of bus-reached; measure "
		 "again: ring_perf --tune"},
	};
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		struct ring_tuning_table table;
		struct ring_failure failure = {0};
		assert_int_equal(read_text(mistakes[i][0], &table, &failure), RING_EINVAL);
		assert_string_equal(failure.text, mistakes[i][1]);
	}
}

static void numbers_are_of_the_ranks_path(void **state)
{
	(void)state;
	char text[NUMBERS_TEXT];
	struct ring_tuning_table table = table_of(memory_numbers(text));
	struct ring_tuning tuning = any_tuning;
	struct ring_failure failure = {0};
	assert_int_equal(ring_tuning_load(&tuning, NULL, RING_PATH_SOCKET, &failure), 0);
	assert_int_equal(tuning.model.move, ring_model_built_in[RING_PATH_SOCKET].move);
	assert_int_equal(ring_tuning_load(&tuning, &table, RING_PATH_MEMORY, &failure), 0);
	assert_int_equal(tuning.model.hop, 250000);
	assert_int_equal(ring_tuning_load(&tuning, &table, RING_PATH_NETWORK, &failure),
			 RING_EINVAL);
	assert_string_equal(failure.text,
			    "my.table has numbers, but none of network, by which these ranks are "
			    "linked; measure them with ring_perf --tune");
}

/* Sections of devices leave the host's numbers as they are, and count for the ranks' path. */
static void numbers_of_devices_are_sections_of_their_own(void **state)
{
	(void)state;
	char text[NUMBERS_TEXT];
	struct ring_tuning tuning = any_tuning;
	struct ring_failure failure = {0};
	for (int section = RING_SECTION_APART; section < RING_SECTIONS; section++) {
		const enum ring_path path = ring_section_path(section);
		struct ring_tuning_table table = table_of(
			numbers_of(ring_section_name(section), text));
		assert_true(table.has_model[section]);
		assert_int_equal(table.models[section].hop, 250000);
		assert_int_equal(ring_tuning_load(&tuning, &table, path, &failure), 0);
		assert_memory_equal(&tuning.model, &ring_model_built_in[path], sizeof(tuning.model));
	}
	struct ring_tuning_table apart = table_of(numbers_of("memory-apart", text));
	struct ring_tuning_table bus = table_of(numbers_of("bus-reached", text));
	assert_true(ring_tuning_hash(&apart) != ring_tuning_hash(&bus));
	assert_int_equal(ring_tuning_load(&tuning, &apart, RING_PATH_SOCKET, &failure), RING_EINVAL);
}

/* Devices' calls on the path of memory: the time of an algorithm by a file, or the library's numbers. */
static uint64_t time_of(const char *text, enum ring_algorithm algorithm,
			enum ring_distance distance, int ranks)
{
	struct ring_tuning_table table = table_of(text);
	struct ring_tuning tuning = any_tuning;
	struct ring_question question = small_all_reduce;
	question.path = RING_PATH_MEMORY;
	question.apart = true;
	question.memory = RING_MEMORY_SHARED;
	question.bytes = 1 << 20;
	question.distance = distance;
	question.ranks = ranks;
	tuning.turns = RING_TURNS_NONE;
	tuning.algorithm = (int)algorithm;
	assert_int_equal(ring_tuning_load(&tuning, &table, RING_PATH_MEMORY, NULL), 0);
	struct ring_choice choice = ring_tuning_choose(&tuning, &question);
	assert_int_equal(choice.algorithm, algorithm);
	return ring_tuning_predict(&tuning, &question, &choice);
}

/* Each section counts for its calls alone. */
static void calls_on_devices_are_predicted_by_their_sections(void **state)
{
	(void)state;
	static const enum ring_algorithm ring = RING_ALGORITHM_RING, direct = RING_ALGORITHM_DIRECT;
	char apart[NUMBERS_TEXT], chip[NUMBERS_TEXT], host[NUMBERS_TEXT];
	numbers_of("memory-apart", apart);
	numbers_of("chip-reached", chip);
	memory_numbers(host);
	for (int distance = 0; distance < RING_DISTANCES; distance++) {
		const enum ring_distance far = (enum ring_distance)distance;
		const bool same = far == RING_DISTANCE_NONE;
		assert_true(time_of(apart, ring, far, 4) < time_of("", ring, far, 4));
		assert_true(time_of(apart, direct, far, 4) == time_of("", direct, far, 4));
		assert_true(time_of(chip, ring, far, 4) == time_of("", ring, far, 4));
		assert_int_equal(time_of(chip, direct, far, 4) > time_of("", direct, far, 4), same);
		assert_true(time_of(host, ring, far, 4) != time_of("", ring, far, 4));
	}
	const uint64_t two = time_of(chip, direct, RING_DISTANCE_NONE, 2);
	const uint64_t four = time_of(chip, direct, RING_DISTANCE_NONE, 4);
	assert_true(four > two * 3 / 2); /* they share its memory */
}

/* How far others' buffers are is told later: ranks tell where they lie if it could matter. */
static void any_distance_may_be_worth_telling(void **state)
{
	(void)state;
	char text[3 * NUMBERS_TEXT] = "";
	struct ring_question question = small_all_reduce;
	question.path = RING_PATH_MEMORY;
	question.bytes = 1 << 20;
	question.apart = true;
	for (int distance = 0; distance < RING_DISTANCES; distance++) {
		struct ring_tuning_table table = table_of(text);
		struct ring_tuning tuning = any_tuning;
		ring_tuning_load(&tuning, &table, RING_PATH_MEMORY, NULL);
		assert_true(ring_tuning_reaches(&tuning, &question));
		slow_numbers_of(ring_section_name(RING_SECTION_REACHED + distance),
				text + strlen(text));
	}
	struct ring_tuning_table table = table_of(text);
	struct ring_tuning tuning = any_tuning;
	ring_tuning_load(&tuning, &table, RING_PATH_MEMORY, NULL);
	assert_false(ring_tuning_reaches(&tuning, &question));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_read),
		cmocka_unit_test(rows_are_written_as_they_are_read),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(files_are_checked),
		cmocka_unit_test(hashes_are_of_rows),
		cmocka_unit_test(the_first_row_that_fits_decides),
		cmocka_unit_test(rows_without_a_plan_are_passed_over),
		cmocka_unit_test(the_option_comes_first),
		cmocka_unit_test(sums_in_order_have_their_plans),
		cmocka_unit_test(memory_is_reached_where_it_can_be),
		cmocka_unit_test(memory_apart_has_its_plans),
		cmocka_unit_test(questions_differ_by_each_member),
		cmocka_unit_test(numbers_are_read),
		cmocka_unit_test(mistakes_in_numbers_are_named),
		cmocka_unit_test(numbers_are_of_the_ranks_path),
		cmocka_unit_test(numbers_of_devices_are_sections_of_their_own),
		cmocka_unit_test(calls_on_devices_are_predicted_by_their_sections),
		cmocka_unit_test(any_distance_may_be_worth_telling),
	};
	return cmocka_run_group_tests_name("tuning", tests, NULL, NULL);
}
