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
		{"all_reduce any any 65- any oneshot", "algorithm", "oneshot", "so many ranks"},
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
	assert_non_null(strstr(failure.text, "65536"));

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

static const struct ring_question small_all_reduce = {
	.kind = RING_KIND_ALL_REDUCE, .ranks = 4, .bytes = 100, .path = RING_PATH_NETWORK};

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
	assert_string_equal(reason, "no row fits");
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

/* The built-in rows are such that their text would be accepted. */
static void built_in_rows_are_sound(void **state)
{
	(void)state;
	for (int which = 0; which < 2 * RING_CPUS; which++) {
		const struct ring_tuning_table *table =
			which < RING_CPUS ? &ring_tuning_built_in[which]
					  : &ring_tuning_roomy[which - RING_CPUS];
		for (int i = 0; i < table->count; i++) {
			char text[RING_TUNING_ROW_TEXT];
			ring_tuning_row_format(&table->rows[i], text);
			assert_int_equal(table_of(text).count, 1);
		}
	}
}

/* A few calls whose rows are worth most. */
static const struct {
	enum ring_path path;
	enum ring_memory memory;
	int ranks;
	uint64_t kib;
	enum ring_algorithm algorithms[RING_CPUS]; /* where there are stages */
	uint64_t chunk_kib, chunk_kib_amd;         /* 0: any */
} built_in_calls[] = {
#define CALL(path, memory, ranks, kib, any, xeon6, amd, zen4, ...)                                 \
	{                                                                                          \
		RING_PATH_##path, RING_MEMORY_##memory, ranks, kib,                                \
			{[RING_CPU_ANY] = RING_ALGORITHM_##any,                                    \
			 [RING_CPU_XEON6] = RING_ALGORITHM_##xeon6,                                \
			 [RING_CPU_AMD] = RING_ALGORITHM_##amd,                                    \
			 [RING_CPU_ZEN4] = RING_ALGORITHM_##zen4},                                 \
			__VA_ARGS__                                                                \
	}
	CALL(MEMORY, SHARED, 4, 64, DIRECT, DIRECT, DIRECT, DIRECT, 128, 128),
	CALL(MEMORY, REACHABLE, 2, 32, ONE_SHOT, ONE_SHOT, ONE_SHOT, ONE_SHOT, 64, 64),
	CALL(MEMORY, REACHABLE, 2, 1024, DIRECT, DIRECT, RING, RING, 0, 0),
	CALL(MEMORY, REACHABLE, 4, 64, DIRECT, STAGED, STAGED, TWO_SHOT, 0, 0),
	CALL(MEMORY, REACHABLE, 4, 48, STAGED, TWO_SHOT, STAGED, TWO_SHOT, 0, 0),
	CALL(MEMORY, REACHABLE, 4, 129, DIRECT, DIRECT, STAGED, TWO_SHOT, 0, 0),
	CALL(MEMORY, REACHABLE, 8, 32, TWO_SHOT, STAGED, STAGED, STAGED, 0, 0),
	CALL(MEMORY, REACHABLE, 3, 64, STAGED, TWO_SHOT, STAGED, TWO_SHOT, 0, 0),
	CALL(MEMORY, REACHABLE, 8, 512, STAGED, STAGED, STAGED, STAGED, 0, 0),
	CALL(MEMORY, REACHABLE, 4, 256, DIRECT, DIRECT, STAGED, TWO_SHOT, 0, 0),
	CALL(MEMORY, REACHABLE, 4, 1024, DIRECT, DIRECT, TWO_SHOT, TWO_SHOT, 0, 0),
	CALL(MEMORY, PRIVATE, 8, 1024, STAGED, STAGED, STAGED, STAGED, 0, 0),
	CALL(MEMORY, REACHABLE, 8, 65536, DIRECT, DIRECT, RING, RING, 64, 64),
	CALL(SOCKET, PRIVATE, 4, 2048, RING, RING, STRIDE, STRIDE, 256, 256),
	CALL(SOCKET, PRIVATE, 4, 128, RING, RING, STRIDE, STRIDE, 256, 256),
	CALL(SOCKET, PRIVATE, 4, 64, STRIDE, STRIDE, STRIDE, STRIDE, 0, 0),
	CALL(SOCKET, PRIVATE, 2, 2049, RING, RING, RING, RING, 512, 512),
	CALL(SOCKET, PRIVATE, 8, 2048, RING, RING, RING, RING, 256, 256),
	CALL(SOCKET, PRIVATE, 8, 2049, RING, RING, RING, RING, 128, 192),
#undef CALL
};

static void built_in_rows_choose(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(built_in_calls) / sizeof(built_in_calls[0]) * RING_CPUS; i++) {
		size_t which = i / RING_CPUS, cpu = i % RING_CPUS;
		struct ring_tuning tuning = any_tuning;
		uint64_t few = built_in_calls[which].ranks == 2 ? 512 << 10 : 256 << 10;
		tuning.chunk_bytes = built_in_calls[which].path == RING_PATH_MEMORY ? 64 << 10 : few;
		tuning.cpu = (int)cpu;
		struct ring_question question = {.kind = RING_KIND_ALL_REDUCE,
						 .ranks = built_in_calls[which].ranks,
						 .bytes = built_in_calls[which].kib << 10,
						 .path = built_in_calls[which].path,
						 .memory = built_in_calls[which].memory,
						 .staged = true};
		struct ring_choice choice = ring_tuning_choose(&tuning, &question);
		assert_int_equal(choice.algorithm, built_in_calls[which].algorithms[cpu]);
		uint64_t chunk_kib = ring_cpu_is_amd((int)cpu) ? built_in_calls[which].chunk_kib_amd
							       : built_in_calls[which].chunk_kib;
		if (chunk_kib)
			assert_int_equal(choice.chunk_bytes, chunk_kib << 10);
	}
}

/* What takes fewer turns is not what takes least time where nobody waits for a turn. */
static void ranks_with_a_cpu_each_have_rows_before(void **state)
{
	(void)state;
	struct ring_tuning roomy = any_tuning;
	roomy.roomy = true;
	struct ring_question question = {.kind = RING_KIND_ALL_REDUCE,
					 .ranks = 4,
					 .bytes = 8 << 10,
					 .path = RING_PATH_MEMORY,
					 .memory = RING_MEMORY_PRIVATE,
					 .staged = true};
	assert_int_equal(ring_tuning_choose(&any_tuning, &question).algorithm,
			 RING_ALGORITHM_TWO_SHOT);
	struct ring_choice choice = ring_tuning_choose(&roomy, &question);
	assert_int_equal(choice.algorithm, RING_ALGORITHM_STAGED);
	char reason[RING_REASON_TEXT];
	assert_string_equal(ring_choice_reason(&choice, reason),
			    "built-in, a CPU each, row 17: all_reduce memory any 4-16 16K staged");
	question.staged = false;
	assert_int_equal(ring_tuning_choose(&roomy, &question).algorithm, RING_ALGORITHM_TWO_SHOT);
	question.bytes = 8;
	assert_int_equal(ring_tuning_choose(&roomy, &question).algorithm, RING_ALGORITHM_ONE_SHOT);

	question.bytes = 256 << 10; /* no row of theirs */
	question.staged = true;
	assert_int_equal(ring_tuning_choose(&roomy, &question).algorithm,
			 ring_tuning_choose(&any_tuning, &question).algorithm);

	struct ring_tuning_table table = table_of("all_reduce any any any any ring");
	roomy.table = &table;
	question.bytes = 8 << 10;
	assert_int_equal(ring_tuning_choose(&roomy, &question).algorithm, RING_ALGORITHM_RING);
}

/* Where ranks take turns and where they do not, on a CPU without a table of its own; and there on one that was not measured so. */
static void ranks_with_a_cpu_each_choose(void **state)
{
	(void)state;
	static const struct {
		enum ring_kind kind;
		enum ring_path path;
		enum ring_memory memory;
		int ranks;
		uint64_t bytes;
		enum ring_algorithm crowded, roomy, zen4;
	} calls[] = {
#define CALL(kind, path, memory, ranks, bytes, crowded, roomy, zen4)                               \
	{RING_KIND_##kind,         RING_PATH_##path,       RING_MEMORY_##memory, ranks, bytes,     \
	 RING_ALGORITHM_##crowded, RING_ALGORITHM_##roomy, RING_ALGORITHM_##zen4}
		CALL(ALL_REDUCE, MEMORY, PRIVATE, 16, 8, TWO_SHOT, ONE_SHOT, ONE_SHOT),
		CALL(ALL_REDUCE, MEMORY, REACHABLE, 8, 129, ONE_SHOT, STAGED, ONE_SHOT),
		CALL(ALL_GATHER, MEMORY, REACHABLE, 16, 64 << 10, RING, DIRECT, ONE_SHOT),
		CALL(ALL_GATHER, MEMORY, PRIVATE, 16, 64 << 10, RING, RING, ONE_SHOT),
		CALL(BROADCAST, MEMORY, REACHABLE, 16, 1 << 20, DIRECT, DIRECT, TREE),
		CALL(REDUCE_SCATTER, MEMORY, PRIVATE, 2, 32 << 10, RING, ONE_SHOT, ONE_SHOT),
		CALL(REDUCE_SCATTER, MEMORY, PRIVATE, 2, 33 << 10, RING, RING, ONE_SHOT),
		CALL(SCATTER, MEMORY, REACHABLE, 16, 64 << 10, ONE_SHOT, DIRECT, ONE_SHOT),
		CALL(GATHER, MEMORY, REACHABLE, 16, 512 << 10, ONE_SHOT, DIRECT, ONE_SHOT),
		CALL(ALL_REDUCE, SOCKET, PRIVATE, 4, 8, TREE, BRUCK, BRUCK),
		CALL(ALL_REDUCE, SOCKET, PRIVATE, 2, 8, ONE_SHOT, ONE_SHOT, ONE_SHOT),
		CALL(ALL_REDUCE, SOCKET, PRIVATE, 16, 64 << 10, RING, STRIDE, STRIDE),
		CALL(ALL_REDUCE, NETWORK, PRIVATE, 16, 64 << 10, STRIDE, STRIDE, STRIDE),
		CALL(BROADCAST, SOCKET, PRIVATE, 4, 8, TREE, TREE, TREE),
		CALL(BROADCAST, SOCKET, PRIVATE, 4, 1 << 20, TREE, RING, RING),
		CALL(BROADCAST, SOCKET, PRIVATE, 8, 16 << 20, RING, RING, RING),
		CALL(BROADCAST, SOCKET, PRIVATE, 16, 16 << 20, TREE, RING, RING),
		CALL(BROADCAST, NETWORK, PRIVATE, 4, 128 << 10, TREE, TREE, TREE),
		CALL(BARRIER, SOCKET, PRIVATE, 8, 0, TREE, BRUCK, BRUCK),
#undef CALL
	};
	struct ring_tuning roomy = any_tuning, zen4 = any_tuning;
	roomy.roomy = zen4.roomy = true;
	zen4.cpu = RING_CPU_ZEN4;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct ring_question question = {.kind = calls[i].kind,
						 .ranks = calls[i].ranks,
						 .bytes = calls[i].bytes,
						 .path = calls[i].path,
						 .memory = calls[i].memory,
						 .staged = true};
		assert_int_equal(ring_tuning_choose(&any_tuning, &question).algorithm,
				 calls[i].crowded);
		assert_int_equal(ring_tuning_choose(&roomy, &question).algorithm, calls[i].roomy);
		assert_int_equal(ring_tuning_choose(&zen4, &question).algorithm, calls[i].zen4);
	}
}

/* On a CPU without a table of its own: what is worth reaching for depends on who has to add, or to copy. */
static void built_in_rows_choose_for_other_calls(void **state)
{
	(void)state;
	static const struct {
		enum ring_kind kind;
		int ranks;
		uint64_t kib;
		enum ring_algorithm reachable, otherwise;
	} calls[] = {
#define CALL(kind, ranks, kib, reachable, otherwise)                                               \
	{RING_KIND_##kind, ranks, kib, RING_ALGORITHM_##reachable, RING_ALGORITHM_##otherwise}
		CALL(REDUCE, 2, 16, ONE_SHOT, ONE_SHOT),
		CALL(REDUCE, 2, 1 << 20, DIRECT, RING),
		CALL(REDUCE, 4, 64, ONE_SHOT, ONE_SHOT),
		CALL(REDUCE, 3, 128, RING, ONE_SHOT),
		CALL(REDUCE, 4, 128, DIRECT, ONE_SHOT),
		CALL(REDUCE, 8, 16384, DIRECT, RING),
		CALL(REDUCE, 8, 16385, RING, RING),
		CALL(REDUCE_SCATTER, 2, 64, RING, RING),
		CALL(REDUCE_SCATTER, 2, 65, DIRECT, RING),
		CALL(REDUCE_SCATTER, 4, 32, RING, RING),
		CALL(REDUCE_SCATTER, 4, 4096, DIRECT, RING),
		CALL(REDUCE_SCATTER, 8, 64, RING, RING),
		CALL(REDUCE_SCATTER, 8, 128, DIRECT, RING),
		CALL(REDUCE_SCATTER, 8, 4097, RING, RING),
		CALL(BROADCAST, 4, 48, ONE_SHOT, ONE_SHOT),
		CALL(BROADCAST, 4, 64, DIRECT, ONE_SHOT),
		CALL(BROADCAST, 3, 64, DIRECT, ONE_SHOT),
		CALL(BROADCAST, 16, 48, ONE_SHOT, ONE_SHOT),
		CALL(BROADCAST, 16, 64, DIRECT, ONE_SHOT),
		CALL(BROADCAST, 17, 64, RING, RING),
	};
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct ring_question question = {.kind = calls[i].kind,
						 .ranks = calls[i].ranks,
						 .bytes = calls[i].kib << 10,
						 .path = RING_PATH_MEMORY,
						 .memory = RING_MEMORY_REACHABLE,
						 .staged = true};
		assert_int_equal(ring_tuning_choose(&any_tuning, &question).algorithm,
				 calls[i].reachable);
		question.memory = RING_MEMORY_PRIVATE;
		assert_int_equal(ring_tuning_choose(&any_tuning, &question).algorithm,
				 calls[i].otherwise);
	}
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
		cmocka_unit_test(memory_is_reached_where_it_can_be),
		cmocka_unit_test(built_in_rows_are_sound),
		cmocka_unit_test(built_in_rows_choose),
		cmocka_unit_test(built_in_rows_choose_for_other_calls),
		cmocka_unit_test(ranks_with_a_cpu_each_have_rows_before),
		cmocka_unit_test(ranks_with_a_cpu_each_choose),
	};
	return cmocka_run_group_tests_name("tuning", tests, NULL, NULL);
}
