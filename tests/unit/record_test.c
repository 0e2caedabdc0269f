/* SPDX-License-Identifier: MIT */
/* Entry records: equal for equal calls only, refused if they are none, and said as a sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/record.h"

static void equal_calls_have_equal_records(void **state)
{
	(void)state;
	struct ring_record a, b;
	memset(&a, 0xff, sizeof(a)); /* what lay there before does not show */
	memset(&b, 0x00, sizeof(b));
	a = ring_record_make(RING_KIND_ALL_REDUCE, 7, 1000, RING_FLOAT32, RING_SUM, -1);
	b = ring_record_make(RING_KIND_ALL_REDUCE, 7, 1000, RING_FLOAT32, RING_SUM, -1);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_true(ring_record_is_valid(&a));
}

static struct ring_record sum_in(uint64_t sequence, int memory)
{
	struct ring_record record = ring_record_make(RING_KIND_ALL_REDUCE, sequence, 1000,
						     RING_FLOAT32, RING_SUM, -1);
	record.memory = (int16_t)memory;
	return record;
}

static bool contradict(struct ring_record theirs, struct ring_record mine)
{
	return ring_record_contradicts(&theirs, &mine);
}

static void neighbours_know_that_they_are_mixed(void **state)
{
	(void)state;
	const int mixed = 1 | RING_RECORD_MIXED;
	assert_true(contradict(sum_in(7, 1), sum_in(7, 0)));
	assert_false(contradict(sum_in(7, 1), sum_in(8, 0)));
	for (int memory = 0; memory < 2; memory++) {
		assert_true(contradict(sum_in(7, mixed), sum_in(7, memory)));
		assert_true(contradict(sum_in(7, mixed), sum_in(9, memory)));
		assert_false(contradict(sum_in(7, mixed), sum_in(6, memory)));
		assert_false(contradict(sum_in(7, memory), sum_in(7, mixed)));
	}
	assert_false(contradict(sum_in(7, mixed), sum_in(7, mixed)));
	struct ring_record other = sum_in(7, mixed);
	other.count--;
	assert_true(contradict(other, sum_in(7, mixed)));
	assert_true(contradict(sum_in(7, 1 | RING_RECORD_KERNEL), sum_in(7, mixed)));
	assert_false(contradict(sum_in(7, 1 | RING_RECORD_KERNEL),
				sum_in(7, mixed | RING_RECORD_KERNEL)));
	assert_true(contradict(sum_in(7, 1 | RING_RECORD_LINKS), sum_in(7, mixed)));
}

static void every_difference_shows(void **state)
{
	(void)state;
	struct ring_record elsewhere = ring_record_make(RING_KIND_ALL_REDUCE, 7, 1000, RING_FLOAT32,
							RING_SUM, -1);
	elsewhere.memory = 1;
	const struct ring_record records[] = {
		elsewhere,
		ring_record_make(RING_KIND_ALL_REDUCE, 7, 1000, RING_FLOAT32, RING_SUM, -1),
		ring_record_make(RING_KIND_REDUCE_SCATTER, 7, 1000, RING_FLOAT32, RING_SUM, -1),
		ring_record_make(RING_KIND_ALL_REDUCE, 8, 1000, RING_FLOAT32, RING_SUM, -1),
		ring_record_make(RING_KIND_ALL_REDUCE, 7, 1001, RING_FLOAT32, RING_SUM, -1),
		ring_record_make(RING_KIND_ALL_REDUCE, 7, 1000, RING_INT32, RING_SUM, -1),
		ring_record_make(RING_KIND_ALL_REDUCE, 7, 1000, RING_FLOAT32, RING_AVG, -1),
		ring_record_make(RING_KIND_ALL_REDUCE, 7, 1000, RING_FLOAT32, RING_SUM, 0),
	};
	const size_t count = sizeof(records) / sizeof(records[0]);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			assert_memory_not_equal(&records[i], &records[k], sizeof(records[0]));
}

static void what_is_no_record_is_refused(void **state)
{
	(void)state;
	struct ring_record record = {0};
	assert_false(ring_record_is_valid(&record));
	record = ring_record_make(RING_KIND_BARRIER, 1, 0, -1, -1, -1);
	assert_true(ring_record_is_valid(&record));
	record.kind = RING_KIND_ALL_TO_ALLV + 1;
	assert_false(ring_record_is_valid(&record));
	record.kind = -1;
	assert_false(ring_record_is_valid(&record));
	record.kind = RING_KIND_BARRIER;
	record.memory = RING_RECORD_DEVICE | RING_RECORD_MIXED;
	assert_true(ring_record_is_valid(&record));
	record.memory = -1;
	assert_false(ring_record_is_valid(&record));
	record.memory = 0x10; /* no device has such a number */
	assert_false(ring_record_is_valid(&record));
	record.memory = 0;
	record.magic++;
	assert_false(ring_record_is_valid(&record));
}

static void sentences(void **state)
{
	(void)state;
	char text[RING_RECORD_TEXT];
	struct ring_record record = ring_record_make(RING_KIND_ALL_REDUCE, 17, 1024, RING_FLOAT32,
						     RING_SUM, -1);
	assert_string_equal(ring_record_format(&record, text),
			    "call 17: all_reduce of 1024 float, sum");
	record = ring_record_make(RING_KIND_BROADCAST, 1, 3, RING_BFLOAT16, -1, 2);
	assert_string_equal(ring_record_format(&record, text),
			    "call 1: broadcast of 3 bfloat16, root 2");
	record = ring_record_make(RING_KIND_BARRIER, 2, 0, -1, -1, -1);
	assert_string_equal(ring_record_format(&record, text), "call 2: barrier");
	record = ring_record_make(RING_KIND_REDUCE, 3, 9, RING_INT8, RING_OP_PREMUL_SUM, 1);
	assert_string_equal(ring_record_format(&record, text),
			    "call 3: reduce of 9 int8, pre-multiplied sum, root 1");
	record = ring_record_make(RING_KIND_SEND, 4, 9, RING_INT8, -1, 1);
	assert_string_equal(ring_record_format(&record, text), "send of 9 int8 to rank 1");
	record.kind = RING_KIND_RECV;
	assert_string_equal(ring_record_format(&record, text), "recv of 9 int8 from rank 1");
	record.memory = 1;
	assert_string_equal(ring_record_format(&record, text),
			    "recv of 9 int8 from rank 1, in memory of a device");
	record = ring_record_make(RING_KIND_BROADCAST, 1, 3, RING_BFLOAT16, -1, 2);
	record.memory = 1;
	assert_string_equal(ring_record_format(&record, text),
			    "call 1: broadcast of 3 bfloat16, root 2, in memory of a device");
}

/* All counts in one number, or those of one link alone. */
static void uneven_parts(void **state)
{
	(void)state;
	char text[RING_RECORD_TEXT];
	const uint64_t counts[] = {3, 0, 4}, others[] = {0, 3, 4}, fewer[] = {3, 0};
	const int32_t parts = ring_record_parts(counts, 3);
	struct ring_record record = ring_record_make(RING_KIND_ALL_GATHERV, 5, 7, RING_FLOAT32, -1,
						     0x1234);
	assert_true(parts >= 0 && parts == ring_record_parts(counts, 3));
	assert_int_not_equal(parts, ring_record_parts(others, 3));
	assert_int_not_equal(parts, ring_record_parts(fewer, 2));
	assert_string_equal(ring_record_format(&record, text),
			    "call 5: all_gatherv of 7 float, in parts #1234");
	record = ring_record_make(RING_KIND_SCATTERV, 6, 9, RING_INT8, -1, 2);
	assert_string_equal(ring_record_format(&record, text), "call 6: scatterv of int8, root 2");
	ring_record_add_parts(&record, 4, text);
	assert_string_equal(text, "call 6: scatterv of int8, root 2, 9 elements with rank 4");
}

/* A neighbour's record may hold anything; the longest sentence still fits. */
static void any_record_can_be_said(void **state)
{
	(void)state;
	char text[RING_RECORD_TEXT + 1];
	text[RING_RECORD_TEXT] = 'x';
	struct ring_record record = ring_record_make(RING_KIND_REDUCE_SCATTER, UINT64_MAX,
						     UINT64_MAX, INT16_MAX, INT16_MAX, INT32_MAX);
	assert_string_equal(ring_record_format(&record, text),
			    "call 18446744073709551615: reduce_scatter of 18446744073709551615 ?, "
			    "?, root 2147483647");
	record.kind = INT16_MIN;
	assert_non_null(strstr(ring_record_format(&record, text), ": ? of"));
	assert_int_equal(text[RING_RECORD_TEXT], 'x');
	assert_string_equal(ring_kind_name((enum ring_kind)(RING_KIND_ALL_TO_ALLV + 1)), "?");
	assert_string_equal(ring_kind_name(RING_KIND_ALL_GATHER), "all_gather");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_calls_have_equal_records),
		cmocka_unit_test(every_difference_shows),
		cmocka_unit_test(neighbours_know_that_they_are_mixed),
		cmocka_unit_test(what_is_no_record_is_refused),
		cmocka_unit_test(sentences),
		cmocka_unit_test(uneven_parts),
		cmocka_unit_test(any_record_can_be_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
