/* SPDX-License-Identifier: MIT */
/*
 * The CPU's reductions, bit for bit against a slow loop that computes in wider types, with tables
 * of the values that go wrong. RING_TEST_SEED repeats a failure.
 */
#include "kernels/device.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "datatype.h"
#include "kernels/arithmetic.h"
#include "kernels/cpu.h"

static const enum ring_datatype types[] = {RING_INT32, RING_FLOAT32, RING_FLOAT64, RING_BFLOAT16};
static const enum ring_op ops[] = {RING_SUM, RING_PROD, RING_MAX, RING_MIN, RING_AVG};
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static unsigned long seed;
static uint64_t random_state;

static uint64_t random_bits(void)
{
	/* Knuth's linear congruential generator; its upper half is random enough. */
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	uint64_t high = random_state >> 32;
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return high << 32 | random_state >> 32;
}

/* ---- what is expected ------------------------------------------------------------------------ */

/* Elements are their bits; floats are computed with as doubles, of which float32 is a subset. */
static double value_of(enum ring_datatype type, uint64_t bits)
{
	switch (type) {
	case RING_FLOAT64: {
		double x;
		memcpy(&x, &bits, sizeof(x));
		return x;
	}
	case RING_BFLOAT16:
		bits <<= 16; /* fall through */
	default: {
		uint32_t half = (uint32_t)bits;
		float x;
		memcpy(&x, &half, sizeof(x));
		return x;
	}
	}
}

/* The nearer of the two bfloat16 beside x, the even one if it lies in the middle. */
static uint16_t nearest_bfloat16(float x)
{
	if (isnan(x))
		return 0x7fc0;
	uint32_t bits;
	memcpy(&bits, &x, sizeof(bits));
	uint16_t towards_zero = (uint16_t)(bits >> 16);
	if (isinf(x))
		return towards_zero;
	double below = fabs(value_of(RING_BFLOAT16, towards_zero));
	double above = fabs(value_of(RING_BFLOAT16, towards_zero + 1u));
	if (isinf(above))
		above = ldexp(1, 128); /* where the next number would be */
	double to_below = fabs((double)x) - below, to_above = above - fabs((double)x);
	bool up = to_above < to_below || (to_above == to_below && towards_zero % 2 == 1);
	return (uint16_t)(towards_zero + up);
}

static uint64_t bits_of(enum ring_datatype type, double x)
{
	if (type == RING_BFLOAT16)
		return nearest_bfloat16((float)x);
	if (type == RING_FLOAT32) {
		float narrow = (float)x;
		uint32_t bits;
		memcpy(&bits, &narrow, sizeof(bits));
		return isnan(x) ? 0x7fc00000 : bits;
	}
	uint64_t bits;
	memcpy(&bits, &x, sizeof(bits));
	return isnan(x) ? 0x7ff8000000000000 : bits;
}

static double choose(double a, double b, bool larger)
{
	if (isnan(a) || isnan(b))
		return NAN;
	bool a_is_less = a < b || (a == b && signbit(a) && !signbit(b));
	return a_is_less == larger ? b : a;
}

static double float_op(enum ring_op op, double a, double b)
{
	switch (op) {
	case RING_PROD:
		return a * b;
	case RING_MAX:
	case RING_MIN:
		return choose(a, b, op == RING_MAX);
	default:
		return a + b;
	}
}

static int64_t int_op(enum ring_op op, int64_t a, int64_t b)
{
	switch (op) {
	case RING_PROD:
		return a * b;
	case RING_MAX:
		return a > b ? a : b;
	case RING_MIN:
		return a < b ? a : b;
	default:
		return a + b;
	}
}

static int64_t wrap(int64_t x)
{
	int64_t low = x & 0xffffffff;
	return low >= INT64_C(1) << 31 ? low - (INT64_C(1) << 32) : low;
}

static uint64_t expected_int(enum ring_op op, const uint64_t *bits, int n, uint64_t divisor)
{
	int64_t x = wrap((int64_t)bits[0]);
	for (int i = 1; i < n; i++)
		x = wrap(int_op(op, x, wrap((int64_t)bits[i])));
	return (uint64_t)(divisor > 1 ? x / (int64_t)divisor : x) & 0xffffffff;
}

/* One element of n sources. A double rounded to float32 is what float32 arithmetic gives. */
static uint64_t expected(enum ring_datatype type, enum ring_op op, const uint64_t *bits, int n,
			 uint64_t divisor)
{
	if (n == 1 && divisor <= 1)
		return bits[0];
	if (type == RING_INT32)
		return expected_int(op, bits, n, divisor);
	double x = value_of(type, bits[0]);
	for (int i = 1; i < n; i++) {
		x = float_op(op, x, value_of(type, bits[i]));
		x = type == RING_FLOAT64 ? x : (float)x;
	}
	if (divisor > 1)
		x /= (double)divisor;
	return bits_of(type, type == RING_FLOAT64 ? x : (float)x);
}

/* ---- every shape of a job -------------------------------------------------------------------- */

#define COUNT_MAX 1100
#define GUARD 16
struct vector {
	unsigned char memory[GUARD + COUNT_MAX * 8 + GUARD];
	unsigned char *data; /* misaligned by up to GUARD - 1 */
};

struct shape {
	enum ring_datatype type;
	enum ring_op op;
	size_t count;
	int nsources, nresults;
	int in_place; /* results[0] is this source, -1: none */
	uint64_t divisor;
};

static uint64_t get(const struct vector *vector, enum ring_datatype type, size_t index)
{
	uint64_t bits = 0;
	size_t bytes = ring_datatype_bytes(type);
	memcpy(&bits, vector->data + index * bytes, bytes); /* little endian */
	return bits;
}

static void put(struct vector *vector, enum ring_datatype type, size_t index, uint64_t bits)
{
	size_t bytes = ring_datatype_bytes(type);
	memcpy(vector->data + index * bytes, &bits, bytes);
}

/* Any bits at all, or ordinary numbers, so that not everything becomes NaN. */
static uint64_t random_element(enum ring_datatype type)
{
	uint64_t bits = random_bits();
	if (type == RING_INT32 || bits % 8 == 0)
		return bits >> 8;
	return bits_of(type, ((double)(int64_t)random_bits()) * 0x1p-62);
}

static void fill(struct vector *vector, enum ring_datatype type, size_t count)
{
	memset(vector->memory, 0xa5, sizeof(vector->memory));
	vector->data = vector->memory + random_bits() % GUARD;
	for (size_t i = 0; i < count; i++)
		put(vector, type, i, random_element(type));
}

static void assert_guards_intact(const struct vector *vector, size_t bytes)
{
	const unsigned char *end = vector->memory + sizeof(vector->memory);
	for (const unsigned char *at = vector->memory; at < vector->data; at++)
		assert_int_equal(*at, 0xa5);
	for (const unsigned char *at = vector->data + bytes; at < end; at++)
		assert_int_equal(*at, 0xa5);
}

/* The family of kernels that is being tested; every one must give the same bits. */
static const struct ring_cpu_family *family;

static void submit(const struct ring_reduction *reduction)
{
	assert_int_equal(ring_cpu_reduce(family, reduction), 0);
}

static void assert_element(const struct shape *shape, size_t index, uint64_t got, uint64_t want)
{
	if (got != want)
		fail_msg("%s %s: element %zu of %zu, %d sources, %d results, in place %d, divisor "
			 "%llu: got %llx, want %llx; RING_TEST_SEED=%lu",
			 ring_datatype_name(shape->type), ring_op_name(shape->op), index,
			 shape->count, shape->nsources, shape->nresults, shape->in_place,
			 (unsigned long long)shape->divisor, (unsigned long long)got,
			 (unsigned long long)want, seed);
}

static void check_shape(const struct shape *shape)
{
	static struct vector sources[RING_REDUCE_SOURCES], before[RING_REDUCE_SOURCES];
	static struct vector fresh[RING_REDUCE_RESULTS];
	struct vector *results[RING_REDUCE_RESULTS] = {&fresh[0], &fresh[1]};
	struct ring_reduction reduction = {.nsources = shape->nsources,
					   .nresults = shape->nresults,
					   .count = shape->count,
					   .type = shape->type,
					   .op = shape->op,
					   .divisor = shape->divisor};
	for (int i = 0; i < shape->nsources; i++) {
		fill(&sources[i], shape->type, shape->count);
		before[i] = sources[i];
		before[i].data = before[i].memory + (sources[i].data - sources[i].memory);
		reduction.sources[i] = sources[i].data;
	}
	if (shape->in_place >= 0)
		results[0] = &sources[shape->in_place];
	for (int i = 0; i < shape->nresults; i++) {
		if (results[i] == &fresh[i])
			fill(&fresh[i], shape->type, 0);
		reduction.results[i] = results[i]->data;
	}

	submit(&reduction);

	size_t bytes = shape->count * ring_datatype_bytes(shape->type);
	for (size_t i = 0; i < shape->count; i++) {
		uint64_t bits[RING_REDUCE_SOURCES];
		for (int k = 0; k < shape->nsources; k++)
			bits[k] = get(&before[k], shape->type, i);
		uint64_t want = expected(shape->type, shape->op, bits, shape->nsources,
					 shape->divisor);
		for (int k = 0; k < shape->nresults; k++)
			assert_element(shape, i, get(results[k], shape->type, i), want);
	}
	for (int i = 0; i < shape->nresults; i++)
		assert_guards_intact(results[i], bytes);
	for (int i = 0; i < shape->nsources; i++) {
		if (i != shape->in_place)
			assert_memory_equal(sources[i].memory, before[i].memory,
					    sizeof(sources[i].memory));
	}
}

/* All counts, sources, results and places of one type and operation. */
static void check_shapes(enum ring_datatype type, enum ring_op op)
{
	static const size_t counts[] = {0,  1,  2,  3,  5,   7,   8,   9,    15,  17,
					31, 33, 63, 65, 511, 512, 513, 1023, 1025};
	for (size_t c = 0; c < LENGTH(counts); c++) {
		for (int nsources = 1; nsources <= RING_REDUCE_SOURCES; nsources++) {
			struct shape shape = {.type = type, .op = op, .count = counts[c]};
			shape.nsources = nsources;
			shape.nresults = 1 + (int)(random_bits() % RING_REDUCE_RESULTS);
			shape.divisor = op == RING_AVG ? random_bits() % 65 : random_bits() % 2;
			for (shape.in_place = -1; shape.in_place < nsources; shape.in_place++)
				check_shape(&shape);
		}
	}
}

static void every_type_and_operation(void **state)
{
	(void)state;
	for (size_t t = 0; t < LENGTH(types); t++) {
		for (size_t o = 0; o < LENGTH(ops); o++)
			check_shapes(types[t], ops[o]);
	}
}

static void second_result_in_place(void **state)
{
	(void)state;
	float a[3] = {1, 2, 3}, b[3] = {10, 20, 30};
	struct ring_reduction swap = {{a, b}, 2, {b, a}, 2, 3, RING_FLOAT32, RING_SUM, 0};
	submit(&swap);
	assert_memory_equal(a, b, sizeof(a));
	assert_true(a[0] == 11 && a[1] == 22 && a[2] == 33);

	struct ring_reduction twice = {{a, a}, 2, {a}, 1, 3, RING_FLOAT32, RING_SUM, 0};
	submit(&twice);
	assert_true(a[0] == 22 && a[1] == 44 && a[2] == 66);
}

/* ---- values ---------------------------------------------------------------------------------- */

static const uint64_t special_int32[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff};
static const uint64_t special_float32[] = {
	0x00000000, 0x80000000,                         /* zeros                       */
	0x00000001, 0x80000001, 0x007fffff, 0x807fffff, /* subnormals                  */
	0x00800000, 0x80800000,                         /* least normal                */
	0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff, /* about one                   */
	0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, /* largest, infinite           */
	0x7fc00000, 0xffc00000, 0x7fc12345, 0x7f800001, /* NaN: quiet, payload, signals */
	0xff800001, 0x7fffffff, 0xffffffff,
};
static const uint64_t special_float64[] = {
	0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001,
	0x000fffffffffffff, 0x800fffffffffffff, 0x0010000000000000, 0x3ff0000000000000,
	0xbff0000000000000, 0x3ff0000000000001, 0x7fefffffffffffff, 0xffefffffffffffff,
	0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000000,
	0x7ff8000012345678, 0x7ff0000000000001, 0xffffffffffffffff,
};
static const uint64_t special_bfloat16[] = {
	0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x0080, 0x3f80, 0xbf80, 0x3f81, 0x3b80, 0xbb80,
	0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7fc1, 0x7f81, 0xff81, 0x7fff, 0xffff,
};

/* Through the whole device, once as a pair, once onto a source, once by tiles. */
static void assert_pair(enum ring_datatype type, enum ring_op op, uint64_t a, uint64_t b,
			uint64_t want)
{
	uint64_t left = a, right = b, result = 0, divisor = 0;
	struct ring_reduction reduction = {{&left, &right}, 2, {&result}, 1, 1, type, op, 0};
	struct shape shape = {type, op, 1, 2, 1, -1, divisor};
	submit(&reduction);
	assert_element(&shape, 0, result, want);

	reduction.results[0] = &right;
	shape.in_place = 1;
	submit(&reduction);
	assert_element(&shape, 0, right, want);

	if (op != RING_MAX && op != RING_MIN)
		return;
	reduction.sources[1] = reduction.sources[2] = &b;
	reduction.nsources = 3;
	shape.nsources = 3;
	submit(&reduction);
	assert_element(&shape, 0, right, want);
}

static void check_specials(enum ring_datatype type, const uint64_t *specials, size_t n)
{
	for (size_t o = 0; o < LENGTH(ops); o++) {
		for (size_t i = 0; i < n * n; i++) {
			uint64_t pair[2] = {specials[i / n], specials[i % n]};
			assert_pair(type, ops[o], pair[0], pair[1],
				    expected(type, ops[o], pair, 2, 0));
		}
	}
}

static void special_values(void **state)
{
	(void)state;
	check_specials(RING_INT32, special_int32, LENGTH(special_int32));
	check_specials(RING_FLOAT32, special_float32, LENGTH(special_float32));
	check_specials(RING_FLOAT64, special_float64, LENGTH(special_float64));
	check_specials(RING_BFLOAT16, special_bfloat16, LENGTH(special_bfloat16));
}

/* The promises of ringccl.h by hand, in case the slow loop shares a mistake with the kernels. */
static void promises(void **state)
{
	(void)state;
	static const struct {
		enum ring_datatype type;
		enum ring_op op;
		uint64_t a, b, want;
	} cases[] = {
		{RING_INT32, RING_SUM, 0x7fffffff, 1, 0x80000000},
		{RING_INT32, RING_SUM, 0x80000000, 0xffffffff, 0x7fffffff},
		{RING_INT32, RING_PROD, 0x80000000, 0xffffffff, 0x80000000},
		{RING_INT32, RING_MAX, 0x80000000, 1, 1},
		{RING_INT32, RING_MIN, 0x80000000, 1, 0x80000000},
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
	};
	for (size_t i = 0; i < LENGTH(cases); i++)
		assert_pair(cases[i].type, cases[i].op, cases[i].a, cases[i].b, cases[i].want);
}

/* Averages of one source, so that nothing but the division is seen. */
static void assert_average(enum ring_datatype type, uint64_t bits, uint64_t divisor, uint64_t want)
{
	uint64_t result = 0;
	struct ring_reduction reduction = {{&bits}, 1, {&result}, 1, 1, type, RING_AVG, divisor};
	struct shape shape = {type, RING_AVG, 1, 1, 1, -1, divisor};
	submit(&reduction);
	assert_element(&shape, 0, result, want);
}

static void averages(void **state)
{
	(void)state;
	assert_average(RING_INT32, 7, 2, 3);
	assert_average(RING_INT32, 0xfffffff9, 2, 0xfffffffd); /* -7 / 2 = -3 */
	assert_average(RING_INT32, 0x80000000, 3, 0xd5555556);
	assert_average(RING_INT32, 0x80000000, UINT64_C(1) << 31, 0xffffffff);
	assert_average(RING_INT32, 0x80000000, UINT64_MAX, 0);
	assert_average(RING_FLOAT32, 0x3f800000, 3, 0x3eaaaaab);
	assert_average(RING_FLOAT32, 0xffc00001, 3, 0x7fc00000);
	assert_average(RING_FLOAT64, 0x3ff0000000000000, 3, 0x3fd5555555555555);
	assert_average(RING_BFLOAT16, 0x3f80, 3, 0x3eab);
	for (int i = 0; i < 1000000; i++) {
		uint64_t bits = random_bits() & 0xffffffff, divisor = 2 + random_bits() % 70000;
		if (i % 2) /* about a multiple of the divisor, where a quotient could slip */
			bits = (bits - (uint64_t)(wrap((int64_t)bits) % (int64_t)divisor) +
				random_bits() % 3 - 1) &
			       0xffffffff;
		int64_t x = wrap((int64_t)bits);
		uint64_t want = (uint64_t)(x / (int64_t)divisor) & 0xffffffff;
		if (ring_int32_divide((uint32_t)bits, (double)divisor) != want)
			fail_msg("%lld / %llu; RING_TEST_SEED=%lu", (long long)x,
				 (unsigned long long)divisor, seed);
	}
}

/* bfloat16 adds all sources and divides before it rounds: 1 + 2^-8 + 2^-8 is not 1. */
static void bfloat16_rounds_once(void **state)
{
	(void)state;
	uint16_t one = 0x3f80, small = 0x3b80, result = 0;
	struct ring_reduction reduction = {{&one, &small, &small}, 3,        {&result}, 1, 1,
					   RING_BFLOAT16,          RING_SUM, 0};
	submit(&reduction);
	assert_int_equal(result, 0x3f81);
	reduction.divisor = 2;
	submit(&reduction);
	assert_int_equal(result, 0x3f01);
}

static void every_bfloat16(void **state)
{
	(void)state;
	for (uint32_t upper = 0; upper <= 0xffff; upper++) {
		uint64_t value = upper, minus_zero = 0x8000;
		bool nan = (upper & 0x7f80) == 0x7f80 && (upper & 0x7f) != 0;
		uint64_t want = nan ? 0x7fc0 : upper;
		assert_pair(RING_BFLOAT16, RING_SUM, value, minus_zero, want);
		assert_pair(RING_BFLOAT16, RING_MAX, value, value, want);
	}
}

static void every_bfloat16_rounding(void **state)
{
	(void)state;
	static const uint32_t lowers[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
	for (uint32_t upper = 0; upper <= 0xffff; upper++) {
		for (size_t i = 0; i < LENGTH(lowers); i++) {
			float x = ring_float32_from_bits(upper << 16 | lowers[i]);
			uint16_t got;
			ring_bfloat16_store((unsigned char *)&got, x);
			if (got != nearest_bfloat16(x))
				fail_msg("%04x%04x becomes %04x, want %04x", upper, lowers[i], got,
					 nearest_bfloat16(x));
		}
	}
}

/* ---- the device ------------------------------------------------------------------------------ */

static void what_is_supported(void **state)
{
	(void)state;
	for (size_t t = 0; t < LENGTH(types); t++) {
		for (size_t o = 0; o < LENGTH(ops); o++)
			assert_true(ring_reduce_supported(types[t], ops[o]));
		assert_false(ring_reduce_supported(types[t], (enum ring_op)(RING_AVG + 1)));
		assert_false(ring_reduce_supported(types[t], (enum ring_op) - 1));
	}
	for (int type = -1; type <= RING_FLOAT8_E5M2 + 1; type++) {
		enum ring_datatype as_type = (enum ring_datatype)type;
		assert_int_equal(ring_reduce_supported(as_type, RING_SUM),
				 ring_datatype_bytes(as_type) > 0);
	}
}

static void queue_counts_jobs(void **state)
{
	(void)state;
	struct ring_device_queue *queue;
	uint64_t jobs;
	char from[3] = "ab", to[3] = "";
	struct ring_reduction unknown = {{from}, 1, {to}, 1, 1, RING_FLOAT16, RING_SUM, 0};
	assert_int_equal(ring_device_cpu.queue_open(&queue), 0);
	assert_int_equal(ring_device_cpu.reduce(queue, &unknown), RING_ENOTSUP);
	assert_int_equal(ring_device_cpu.copy(queue, to, from, sizeof(to)), 0);
	assert_int_equal(ring_device_cpu.copy(queue, NULL, NULL, 0), 0);
	assert_int_equal(ring_device_cpu.finished(queue, &jobs), 0);
	assert_int_equal(jobs, 2);
	assert_string_equal(to, "ab");
	ring_device_cpu.queue_close(queue);

	void *memory;
	assert_int_equal(ring_device_cpu.alloc(100, &memory), 0);
	assert_int_equal((uintptr_t)memory % 64, 0);
	assert_true(ring_device_cpu.owns(memory));
	ring_device_cpu.free(memory);
}

static int choose_family(void **state)
{
	family = *state;
	return 0;
}

/* The kernels of every family that this CPU runs; then what there is once. */
int main(void)
{
	const char *wanted = getenv("RING_TEST_SEED");
	int failures = 0;
	seed = wanted ? strtoul(wanted, NULL, 10) : 1;
	random_state = seed;
	for (const struct ring_cpu_family *const *each = ring_cpu_families(); *each; each++) {
		void *this = (void *)*each;
		const struct CMUnitTest tests[] = {
#define ONE_OF_FAMILY(test)                                                                        \
	cmocka_unit_test_prestate_setup_teardown(test, choose_family, NULL, this)
			ONE_OF_FAMILY(every_type_and_operation),
			ONE_OF_FAMILY(second_result_in_place),
			ONE_OF_FAMILY(special_values),
			ONE_OF_FAMILY(promises),
			ONE_OF_FAMILY(averages),
			ONE_OF_FAMILY(bfloat16_rounds_once),
			ONE_OF_FAMILY(every_bfloat16),
			ONE_OF_FAMILY(every_bfloat16_rounding),
		};
		failures += cmocka_run_group_tests_name((*each)->name, tests, NULL, NULL);
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_supported),
		cmocka_unit_test(queue_counts_jobs),
	};
	return failures + cmocka_run_group_tests_name("the device", tests, NULL, NULL);
}
