/* SPDX-License-Identifier: MIT */
/*
 * The CPU's reductions: every type, operation and shape of every family against the slow reference,
 * the promises of ringccl.h by hand, and the device around them. RING_TEST_SEED repeats a failure.
 */
#include "kernels/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/datatype.h"
#include "kernels/arithmetic.h"
#include "kernels/cpu/cpu.h"
#include "tests/kernels/jobs.h"
#include "tests/kernels/reference.h"
#include "tests/transport/dice.h"

static unsigned long seed;

/* The family of kernels that is being tested; every one must give the same bits. */
static const struct ring_cpu_family *family;

static void submit(const struct ring_reduction *reduction)
{
	assert_int_equal(ring_cpu_reduce(family, reduction), 0);
}

/* ---- against the reference ------------------------------------------------------------------- */

static void all_kernels(void **state)
{
	(void)state;
	const struct reducer reducer = reducer_of(family);
	const char *wrong = jobs_check_all(&reducer);
	if (wrong)
		fail_msg("%s; RING_TEST_SEED=%lu", wrong, seed);
}

static void second_result_in_place(void **state)
{
	(void)state;
	float a[3] = {1, 2, 3}, b[3] = {10, 20, 30};
	struct ring_reduction swap = {.sources = {a, b},
				      .nsources = 2,
				      .results = {b, a},
				      .nresults = 2,
				      .count = 3,
				      .type = RING_FLOAT32,
				      .op = RING_SUM};
	submit(&swap);
	assert_memory_equal(a, b, sizeof(a));
	assert_true(a[0] == 11 && a[1] == 22 && a[2] == 33);

	struct ring_reduction twice = swap;
	twice.sources[1] = twice.results[0] = a;
	twice.nresults = 1;
	submit(&twice);
	assert_true(a[0] == 22 && a[1] == 44 && a[2] == 66);
}

#define TOGETHER_MOST 8
#define TOGETHER_ELEMENTS 1009 /* several vectors and a rest */

/* Sums of so many that take the place of all of them have the bits that one elsewhere has, and end where they are to. */
static void check_together(int ranks, enum ring_datatype type, enum ring_op op, uint64_t *dice)
{
	static uint64_t words[TOGETHER_MOST + 1][TOGETHER_ELEMENTS + 1];
	unsigned char *memory[TOGETHER_MOST + 1], behind[TOGETHER_MOST][8];
	const size_t bytes = TOGETHER_ELEMENTS * ring_datatype_bytes(type);
	for (int i = 0; i <= ranks; i++) {
		memory[i] = (unsigned char *)words[i];
		for (size_t k = 0; k <= TOGETHER_ELEMENTS; k++)
			words[i][k] = dice_roll(dice);
	}
	unsigned char *elsewhere = memory[ranks];
	struct ring_reduction job = {.nsources = ranks,
				     .results = {elsewhere},
				     .nresults = 1,
				     .count = TOGETHER_ELEMENTS,
				     .type = type,
				     .op = op};
	for (int i = 0; i < ranks; i++) {
		job.sources[i] = memory[i];
		memcpy(behind[i], memory[i] + bytes, sizeof(behind[i]));
	}
	submit(&job);
	for (int i = 0; i < ranks; i++)
		job.results[i] = memory[(i + 1) % ranks]; /* as a rank writes to its own first */
	job.nresults = ranks;
	submit(&job);
	for (int i = 0; i < ranks; i++) {
		if (memcmp(memory[i], elsewhere, bytes) != 0 ||
		    memcmp(memory[i] + bytes, behind[i], sizeof(behind[i])) != 0)
			fail_msg("%s %s %s of %d, result %d; RING_TEST_SEED=%lu", family->name,
				 ring_datatype_name(type), ring_op_name(op), ranks, i, seed);
	}
}

static void all_results_in_place(void **state)
{
	(void)state;
	uint64_t dice = seed;
	for (int ranks = 2; ranks <= TOGETHER_MOST; ranks *= 2)
		for (int type = 0; type < REFERENCE_TYPES; type++)
			for (int op = 0; op < REFERENCE_OPS; op++)
				if (ring_op_takes((enum ring_op)op, (enum ring_datatype)type))
					check_together(ranks, (enum ring_datatype)type,
						       (enum ring_op)op, &dice);
}

/* A source that is added twice leaves a result that is no source, and one more that is written twice a source that stays. */
static void not_all_results_in_place(void **state)
{
	(void)state;
	float a = 1, b = 10, c = 100, d = 1000;
	struct ring_reduction job = {.sources = {&a, &a, &b, &c},
				     .nsources = 4,
				     .results = {&a, &b, &c, &d},
				     .nresults = 4,
				     .count = 1,
				     .type = RING_FLOAT32,
				     .op = RING_SUM};
	submit(&job);
	assert_true(a == 112 && b == 112 && c == 112 && d == 112);
	d = 1000;
	const void *sources[] = {&a, &b, &c, &d};
	memcpy(job.sources, sources, sizeof(sources));
	job.results[3] = &c;
	submit(&job);
	assert_true(a == 1336 && b == 1336 && c == 1336 && d == 1000);
}

/* A result so large that it goes past the caches is the one that replaces a source, and no byte more. */
static void large_results(void **state)
{
	(void)state;
	const size_t bytes = (33 << 20) + 3;
	unsigned char *a = malloc(bytes), *b = malloc(bytes), *memory = malloc(bytes + 128);
	assert_true(a && b && memory);
	for (size_t i = 0; i < bytes; i++) {
		a[i] = (unsigned char)(i * 7 % 251);
		b[i] = (unsigned char)(i * 5 % 241);
	}
	unsigned char *result = memory + 64 - (uintptr_t)memory % 64;
	result[bytes] = 0xa5;
	struct ring_reduction reduction = {.sources = {a, b},
					   .nsources = 2,
					   .results = {result},
					   .nresults = 1,
					   .count = bytes,
					   .type = RING_UINT8};
	submit(&reduction);
	reduction.results[0] = a;
	submit(&reduction);
	assert_int_equal(memcmp(result, a, bytes), 0);
	assert_int_equal(result[bytes], 0xa5);
	free(a);
	free(b);
	free(memory);
}

/* ---- copies that may go past the caches ------------------------------------------------------- */

#define COPY_MOST (((size_t)2 << 20) + 4321)
#define COPY_MARGIN 128

struct copied {
	unsigned char source[COPY_MARGIN + COPY_MOST];
	unsigned char results[2][2 * COPY_MARGIN + COPY_MOST];
};

static void assert_copied(const unsigned char *result, size_t at, const unsigned char *source,
			  size_t bytes)
{
	const unsigned char *to = result + at;
	assert_int_equal(memcmp(to, source, bytes), 0);
	for (size_t i = 0; i < COPY_MARGIN; i++) {
		assert_true(i >= at || result[i] == 0xa5);
		assert_int_equal(to[bytes + i], 0xa5);
	}
}

/* To two places, and to where it comes from, wherever lines begin; and no byte more. */
static void copy_past(struct copied *copied, size_t bytes, size_t from, size_t to)
{
	const unsigned char *source = copied->source + from;
	struct ring_reduction job = {.sources = {source},
				     .nsources = 1,
				     .results = {copied->results[0] + to, (void *)source,
						 copied->results[1] + 64 - to},
				     .nresults = 3,
				     .count = bytes,
				     .type = RING_UINT8,
				     .past = true};
	memset(copied->results, 0xa5, sizeof(copied->results));
	submit(&job);
	assert_copied(copied->results[0], to, source, bytes);
	assert_copied(copied->results[1], 64 - to, source, bytes);
}

static void copies_past(void **state)
{
	(void)state;
	struct ring_device_queue *queue;
	const size_t sizes[] = {0, 1, 63, 64, 32767, 32768, 32769, 100000, COPY_MOST};
	struct copied *copied = malloc(sizeof(*copied));
	assert_non_null(copied);
	for (size_t i = 0; i < sizeof(copied->source); i++)
		copied->source[i] = (unsigned char)(i * 7 % 251);
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
		for (size_t to = 0; to < 64; to += 21)
			copy_past(copied, sizes[k], (to + k) % 64, to);
	assert_int_equal(ring_device_cpu.queue_open(0, &queue), 0);
	memset(copied->results, 0xa5, sizeof(copied->results));
	assert_int_equal(ring_device_cpu.copy(queue, copied->results[0] + 5, copied->source + 3,
					      COPY_MOST, true),
			 0);
	assert_copied(copied->results[0], 5, copied->source + 3, COPY_MOST);
	ring_device_cpu.queue_close(queue);
	free(copied);
}

/* Where memcpy would be slow (copy.h), where it just would not be, and sizes around the least. */
static void copies_just_behind(void **state)
{
	(void)state;
	enum { PAGE = 4096, MOST = 70000 };
	static _Alignas(4096) unsigned char source[MOST], result[MOST + 2 * PAGE];
	const size_t sizes[] = {2047, 2048, 2111, 2112, MOST};
	const size_t behind[] = {0, 1, 8, 15, 16, PAGE - 1};
	struct ring_device_queue *queue;
	assert_int_equal(ring_device_cpu.queue_open(0, &queue), 0);
	for (size_t i = 0; i < MOST; i++)
		source[i] = (unsigned char)(i * 7 % 251);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) * 6; i++) {
		size_t bytes = sizes[i / 6], at = PAGE + behind[i % 6];
		memset(result, 0xa5, sizeof(result));
		assert_int_equal(ring_device_cpu.copy(queue, result + at, source, bytes, false), 0);
		assert_memory_equal(result + at, source, bytes);
		assert_int_equal(result[at - 1], 0xa5);
		assert_int_equal(result[at + bytes], 0xa5);
	}
	ring_device_cpu.queue_close(queue);
}

/* ---- by hand, in case the reference shares a mistake with the kernels ------------------------- */

/* As a pair, onto a source, and by tiles. */
static void assert_pair(enum ring_datatype type, enum ring_op op, uint64_t a, uint64_t b,
			uint64_t want)
{
	uint64_t left = a, right = b, result = 0;
	struct ring_reduction reduction = {.sources = {&left, &right}, /* little endian */
					   .nsources = 2,
					   .results = {&result},
					   .nresults = 1,
					   .count = 1,
					   .type = type,
					   .op = op};
	submit(&reduction);
	if (result != want)
		fail_msg("%s %s %s: %llx, %llx become %llx, want %llx", family->name,
			 ring_datatype_name(type), ring_op_name(op), (unsigned long long)a,
			 (unsigned long long)b, (unsigned long long)result,
			 (unsigned long long)want);
	reduction.results[0] = &right;
	reduction.results[1] = &left;
	reduction.nresults = 2;
	submit(&reduction);
	assert_int_equal(right, want);
	assert_int_equal(left, want);
}

static void promises(void **state)
{
	(void)state;
	static const struct {
		enum ring_datatype type;
		enum ring_op op;
		uint64_t a, b, want;
	} cases[] = {
		{RING_INT8, RING_SUM, 0x7f, 1, 0x80},
		{RING_INT8, RING_PROD, 0x80, 0xff, 0x80},
		{RING_INT8, RING_MAX, 0x80, 1, 1},
		{RING_UINT8, RING_MAX, 0x80, 1, 0x80},
		{RING_INT32, RING_SUM, 0x7fffffff, 1, 0x80000000},
		{RING_INT32, RING_SUM, 0x80000000, 0xffffffff, 0x7fffffff},
		{RING_INT32, RING_PROD, 0x80000000, 0xffffffff, 0x80000000},
		{RING_INT32, RING_MAX, 0x80000000, 1, 1},
		{RING_INT32, RING_MIN, 0x80000000, 1, 0x80000000},
		{RING_UINT32, RING_MIN, 0x80000000, 1, 1},
		{RING_INT64, RING_SUM, 0x7fffffffffffffff, 1, 0x8000000000000000},
		{RING_INT64, RING_MIN, 0x8000000000000000, 1, 0x8000000000000000},
		{RING_UINT64, RING_MIN, 0x8000000000000000, 1, 1},
		{RING_UINT64, RING_PROD, 0x8000000000000001, 0x8000000000000001, 1},
		{RING_INT8, RING_BAND, 0xf3, 0x55, 0x51},
		{RING_UINT8, RING_BXOR, 0xff, 0xff, 0},
		{RING_INT32, RING_BOR, 0x80000000, 1, 0x80000001},
		{RING_UINT32, RING_BXOR, 0xffff0000, 0xff00ff00, 0x00ffff00},
		{RING_INT64, RING_BAND, 0x8000000000000001, 0xffffffff00000000, 0x8000000000000000},
		{RING_UINT64, RING_BOR, 0x0123000000000000, 0x000000000000cdef, 0x012300000000cdef},
		{RING_FLOAT32, RING_MAX, 0x80000000, 0, 0},
		{RING_FLOAT32, RING_MAX, 0, 0x80000000, 0},
		{RING_FLOAT32, RING_MIN, 0, 0x80000000, 0x80000000},
		{RING_FLOAT32, RING_MIN, 0x80000000, 0, 0x80000000},
		{RING_FLOAT32, RING_MAX, 0x3f800000, 0xffc12345, 0x7fc00000},
		{RING_FLOAT32, RING_MIN, 0x7f800001, 0xff800000, 0x7fc00000},
		{RING_FLOAT32, RING_SUM, 0x7f800000, 0xff800000, 0x7fc00000},
		{RING_FLOAT32, RING_PROD, 0x7f800000, 0, 0x7fc00000},
		{RING_FLOAT32, RING_SUM, 0x00000001, 0x00000001, 0x00000002},
		{RING_FLOAT64, RING_MAX, 0, 0x8000000000000000, 0},
		{RING_FLOAT64, RING_MAX, 0x7ff0000000000000, 0xfff8000000000001, 0x7ff8000000000000},
		{RING_BFLOAT16, RING_SUM, 0x3f80, 0x3b80, 0x3f80}, /* 1 + 2^-8: tie, down to even */
		{RING_BFLOAT16, RING_SUM, 0x3f81, 0x3b80, 0x3f82}, /* tie, up to even             */
		{RING_BFLOAT16, RING_SUM, 0x7f7f, 0x7f7f, 0x7f80},
		{RING_BFLOAT16, RING_SUM, 0x7f7f, 0xff80, 0xff80},
		{RING_BFLOAT16, RING_MIN, 0x0000, 0x8000, 0x8000},
		{RING_BFLOAT16, RING_MAX, 0xffff, 0x3f80, 0x7fc0},
		{RING_FLOAT16, RING_SUM, 0x3c00, 0x1000, 0x3c00}, /* 1 + 2^-11: tie, down to even */
		{RING_FLOAT16, RING_SUM, 0x3c01, 0x1000, 0x3c02}, /* tie, up to even             */
		{RING_FLOAT16, RING_SUM, 0x7bff, 0x4c00, 0x7c00}, /* 65504 + 16: infinite         */
		{RING_FLOAT16, RING_SUM, 0x0001, 0x0001, 0x0002},
		{RING_FLOAT16, RING_MAX, 0xffff, 0x3c00, 0x7e00},
		{RING_FLOAT8_E4M3, RING_SUM, 0x7e, 0x7e, 0x7e}, /* 448 + 448 saturates          */
		{RING_FLOAT8_E4M3, RING_SUM, 0xfe, 0xfe, 0xfe},
		{RING_FLOAT8_E4M3, RING_SUM, 0x38, 0x18, 0x38}, /* 1 + 2^-4: tie, down to even   */
		{RING_FLOAT8_E4M3, RING_SUM, 0x39, 0x18, 0x3a}, /* tie, up to even             */
		{RING_FLOAT8_E4M3, RING_MIN, 0xff, 0x38, 0x7f},
		{RING_FLOAT8_E5M2, RING_SUM, 0x7b, 0x7b, 0x7b}, /* 57344 + 57344 saturates      */
		{RING_FLOAT8_E5M2, RING_MAX, 0x7c, 0x3c, 0x7b}, /* so does infinity             */
		{RING_FLOAT8_E5M2, RING_SUM, 0x7c, 0xfc, 0x7f},
		{RING_FLOAT8_E5M2, RING_MAX, 0xfd, 0x3c, 0x7f},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_pair(cases[i].type, cases[i].op, cases[i].a, cases[i].b, cases[i].want);
}

/* Averages of one source, so that nothing but the division is seen. */
static void assert_average(enum ring_datatype type, uint64_t bits, uint64_t divisor, uint64_t want)
{
	uint64_t result = 0;
	struct ring_reduction reduction = {.sources = {&bits}, /* little endian */
					   .nsources = 1,
					   .results = {&result},
					   .nresults = 1,
					   .count = 1,
					   .type = type,
					   .op = RING_AVG,
					   .divisor = divisor};
	submit(&reduction);
	assert_int_equal(result, want);
}

static void averages(void **state)
{
	(void)state;
	assert_average(RING_INT8, 0x80, 3, 0xd6); /* -128 / 3 = -42 */
	assert_average(RING_UINT8, 0xff, 2, 0x7f);
	assert_average(RING_INT32, 7, 2, 3);
	assert_average(RING_INT32, 0xfffffff9, 2, 0xfffffffd); /* -7 / 2 = -3 */
	assert_average(RING_INT32, 0x80000000, 3, 0xd5555556);
	assert_average(RING_INT32, 0x80000000, INT32_MAX, 0xffffffff);
	assert_average(RING_UINT32, 0x80000000, INT32_MAX, 1);
	assert_average(RING_INT64, 0x8000000000000000, 3, 0xd555555555555556);
	assert_average(RING_UINT64, UINT64_MAX, 3, 0x5555555555555555);
	assert_average(RING_FLOAT16, 0x3c00, 3, 0x3555);
	assert_average(RING_FLOAT32, 0x3f800000, 3, 0x3eaaaaab);
	assert_average(RING_FLOAT32, 0xffc00001, 3, 0x7fc00000);
	assert_average(RING_FLOAT64, 0x3ff0000000000000, 3, 0x3fd5555555555555);
	assert_average(RING_BFLOAT16, 0x3f80, 3, 0x3eab);
	assert_average(RING_FLOAT8_E4M3, 0x38, 3, 0x2b);
	assert_average(RING_FLOAT8_E5M2, 0x3c, 3, 0x35);
}

/* Any number, or one beside a multiple of the divisor, where a quotient could slip. */
static uint64_t dividend(uint64_t divisor, int turn)
{
	uint64_t x = jobs_random() >> jobs_random() % 64;
	return turn % 2 ? x - x % divisor + jobs_random() % 3 - 1 : x;
}

static void quotients(void **state)
{
	(void)state;
	for (int i = 0; i < 2000000; i++) {
		uint64_t divisor = 2 + jobs_random() % (i % 3 ? 70000 : INT32_MAX - 2);
		uint64_t x = dividend(divisor, i);
		struct ring_divisor by = ring_divisor(divisor);
		bool right = ring_uint64_divide(x, by) == x / divisor &&
			     (int64_t)ring_int64_divide(x, by) == (int64_t)x / (int64_t)divisor &&
			     ring_uint32_divide((uint32_t)x, by) == (uint32_t)x / divisor &&
			     (int32_t)ring_int32_divide((uint32_t)x, by) ==
				     (int32_t)x / (int64_t)divisor &&
			     (int8_t)ring_int8_divide((uint8_t)x, by) ==
				     (int8_t)x / (int64_t)divisor;
		if (!right)
			fail_msg("%llx / %llu; RING_TEST_SEED=%lu", (unsigned long long)x,
				 (unsigned long long)divisor, seed);
	}
}

/* All sources are added and divided before anything is rounded: 1 + 2^-8 + 2^-8 is not 1. */
static void narrow_types_round_once(void **state)
{
	(void)state;
	static const struct {
		enum ring_datatype type;
		uint16_t one, small, sum, half_of_sum;
	} cases[] = {
		{RING_BFLOAT16, 0x3f80, 0x3b80, 0x3f81, 0x3f01},
		{RING_FLOAT16, 0x3c00, 0x1000, 0x3c01, 0x3801},
		{RING_FLOAT8_E4M3, 0x38, 0x18, 0x39, 0x31},
		{RING_FLOAT8_E5M2, 0x3c, 0x30, 0x3d, 0x39},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint16_t one = cases[i].one, small = cases[i].small, result = 0;
		struct ring_reduction reduction = {.sources = {&one, &small, &small},
						   .nsources = 3,
						   .results = {&result},
						   .nresults = 1,
						   .count = 1,
						   .type = cases[i].type,
						   .op = RING_SUM};
		submit(&reduction);
		assert_int_equal(result, cases[i].sum);
		reduction.divisor = 2;
		submit(&reduction);
		assert_int_equal(result, cases[i].half_of_sum);
	}
}

static uint64_t first_bytes(const void *element, size_t bytes)
{
	uint64_t bits = 0;
	memcpy(&bits, element, bytes);
	return bits;
}

/* Scalars multiply their sources alone, and the products are not rounded before a sum. */
static void scalars(void **state)
{
	(void)state;
	const float two = 2, three = 3;
	const uint64_t factors[] = {first_bytes(&two, 4), first_bytes(&three, 4)};
	float a = 3, b = 10, result = 0;
	struct ring_reduction floats = {.sources = {&a, &b},
					.nsources = 2,
					.nscalars = 1,
					.scalars = factors,
					.results = {&result},
					.nresults = 1,
					.count = 1,
					.type = RING_FLOAT32,
					.op = RING_SUM};
	submit(&floats);
	assert_true(result == 16);
	floats.nscalars = 2;
	submit(&floats);
	assert_true(result == 36);
	floats.nsources = floats.nscalars = 1;
	submit(&floats);
	assert_true(result == 6);
}

static void scalars_wrap(void **state)
{
	(void)state;
	const int32_t minus_two = -2, big = INT32_MAX;
	const uint64_t factor = first_bytes(&minus_two, 4);
	int32_t wrapped = 0;
	submit(&(struct ring_reduction){.sources = {&big},
					.nsources = 1,
					.nscalars = 1,
					.scalars = &factor,
					.results = {&wrapped},
					.nresults = 1,
					.count = 1,
					.type = RING_INT32,
					.op = RING_SUM});
	assert_int_equal(wrapped, 2);
}

static void scalars_do_not_round_first(void **state)
{
	(void)state;
	/* (1 + 3/128)^2 - 1: the product has 9 * 2^-14 that bfloat16 cannot hold beside the 1. */
	const uint16_t root = 0x3f83, minus_one = 0xbf80;
	const uint64_t scalar = first_bytes(&root, 2);
	uint16_t difference = 0;
	submit(&(struct ring_reduction){.sources = {&root, &minus_one},
					.nsources = 2,
					.nscalars = 1,
					.scalars = &scalar,
					.results = {&difference},
					.nresults = 1,
					.count = 1,
					.type = RING_BFLOAT16,
					.op = RING_SUM});
	assert_int_equal(difference, 0x3d42);
}

/* ---- the device ------------------------------------------------------------------------------ */

static void queue_counts_jobs(void **state)
{
	(void)state;
	struct ring_device_queue *queue;
	uint64_t jobs;
	char from[3] = "ab", to[3] = "";
	struct ring_reduction unknown = {.sources = {from},
					 .nsources = 1,
					 .results = {to},
					 .nresults = 1,
					 .count = 1,
					 .type = (enum ring_datatype)REFERENCE_TYPES,
					 .op = RING_SUM};
	assert_int_equal(ring_device_cpu.queue_open(0, &queue), 0);
	assert_int_equal(ring_device_cpu.reduce(queue, &unknown), RING_ENOTSUP);
	unknown.type = RING_INT8;
	unknown.op = (enum ring_op)REFERENCE_OPS;
	assert_int_equal(ring_device_cpu.reduce(queue, &unknown), RING_ENOTSUP);
	assert_int_equal(ring_device_cpu.copy(queue, to, from, sizeof(to), false), 0);
	assert_int_equal(ring_device_cpu.copy(queue, NULL, NULL, 0, true), 0);
	assert_int_equal(ring_device_cpu.finished(queue, &jobs), 0);
	assert_int_equal(jobs, 2);
	assert_string_equal(to, "ab");
	ring_device_cpu.queue_close(queue);

	void *memory;
	assert_int_equal(ring_device_cpu.alloc(0, 100, &memory), 0);
	assert_int_equal((uintptr_t)memory % 64, 0);
	assert_true(ring_device_cpu.owns(memory));
	ring_device_cpu.free(memory);
}

/* The kernels of every family that this CPU runs; then what there is once. */
int main(void)
{
	const struct CMUnitTest family_tests[] = {
		cmocka_unit_test(all_kernels),
		cmocka_unit_test(second_result_in_place),
		cmocka_unit_test(all_results_in_place),
		cmocka_unit_test(not_all_results_in_place),
		cmocka_unit_test(large_results),
		cmocka_unit_test(copies_past),
		cmocka_unit_test(copies_just_behind),
		cmocka_unit_test(promises),
		cmocka_unit_test(averages),
		cmocka_unit_test(narrow_types_round_once),
		cmocka_unit_test(scalars),
		cmocka_unit_test(scalars_wrap),
		cmocka_unit_test(scalars_do_not_round_first),
	};
	int failures = 0;
	seed = jobs_seed_as_told();
	for (int i = 0; (family = ring_cpu_family(i)) != NULL; i++)
		failures += cmocka_run_group_tests_name(family->name, family_tests, NULL, NULL);
	const struct CMUnitTest device_tests[] = {
		cmocka_unit_test(quotients),
		cmocka_unit_test(queue_counts_jobs),
	};
	return failures + cmocka_run_group_tests_name("the device", device_tests, NULL, NULL);
}
