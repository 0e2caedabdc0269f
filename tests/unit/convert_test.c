/* SPDX-License-Identifier: MIT */
/*
 * The conversions between float32 and narrower floats, of every family of kernels: all narrow values
 * one way; the other way all ties, their neighbours and random numbers, or all float32
 * (RING_TEST_LONG). RING_TEST_SEED repeats a failure.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/datatype.h"
#include "kernels/cpu/cpu.h"
#include "tests/kernels/jobs.h"
#include "tests/kernels/reference.h"

static const enum ring_datatype types[] = {RING_FLOAT16, RING_BFLOAT16, RING_FLOAT8_E4M3,
					   RING_FLOAT8_E5M2};
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static unsigned long seed;
static const struct ring_cpu_family *family;

static uint32_t bits_of(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* ---- narrow to float32 ----------------------------------------------------------------------- */

static void check_widened(enum ring_datatype type, uint32_t bits, float got)
{
	double want = reference_value(type, bits);
	bool right = isnan(want) ? isnan(got)
				 : (double)got == want && !signbit(got) == !signbit(want);
	if (!right)
		fail_msg("%s %s %x becomes %a, want %a", family->name, ring_datatype_name(type),
			 bits, (double)got, want);
}

static void every_narrow_value(void **state)
{
	(void)state;
	for (size_t t = 0; t < LENGTH(types); t++) {
		const struct ring_cpu_kernel *kernel = ring_cpu_kernel(family, types[t], RING_SUM);
		size_t bytes = ring_datatype_bytes(types[t]);
		for (uint32_t bits = 0; bits >> (8 * bytes) == 0; bits++) {
			/* Whole vectors and rests may differ: the value in the middle of some. */
			static union ring_tile tile;
			unsigned char elements[2 * 37] = {0};
			for (size_t i = 0; i < 37; i++)
				memcpy(elements + i * bytes, &bits, bytes); /* little endian */
			kernel->load(&tile, elements, 37);
			for (size_t i = 0; i < 37; i++)
				check_widened(types[t], bits, tile.float32[i]);
		}
	}
}

/* ---- float32 to narrow ----------------------------------------------------------------------- */

/* Numbers to be rounded, and what they become; checked when the tile is full, or now. */
struct batch {
	enum ring_datatype type;
	union ring_tile tile;
	uint16_t want[RING_TILE];
	size_t count;
};

static void check_batch(struct batch *batch)
{
	static unsigned char stored[2 * RING_TILE];
	size_t bytes = ring_datatype_bytes(batch->type);
	ring_cpu_kernel(family, batch->type, RING_SUM)->store(stored, &batch->tile, batch->count);
	for (size_t i = 0; i < batch->count; i++) {
		uint16_t got = 0;
		memcpy(&got, stored + i * bytes, bytes); /* little endian */
		if (got != batch->want[i])
			fail_msg("%s %s %a (%x) becomes %x, want %x; RING_TEST_SEED=%lu",
				 family->name, ring_datatype_name(batch->type),
				 (double)batch->tile.float32[i], bits_of(batch->tile.float32[i]),
				 got, batch->want[i], seed);
	}
	batch->count = 0;
}

static void expect(struct batch *batch, float x, uint64_t want)
{
	batch->tile.float32[batch->count] = x;
	batch->want[batch->count++] = (uint16_t)want;
	if (batch->count == RING_TILE)
		check_batch(batch);
}

static void expect_reference(struct batch *batch, float x)
{
	expect(batch, x, reference_rounded(batch->type, (double)x));
	expect(batch, -x, reference_rounded(batch->type, (double)-x));
}

/* The values of a type from zero up; the last is the first that is too large. */
static double value_at(enum ring_datatype type, uint64_t index)
{
	double value = reference_value(type, index);
	if (isfinite(value))
		return value;
	return 2 * reference_value(type, index - 1) - reference_value(type, index - 2);
}

static uint64_t finite_values(enum ring_datatype type)
{
	uint64_t index = 1;
	while (isfinite(reference_value(type, index)))
		index++;
	return index;
}

static void every_tie_and_neighbour(void **state)
{
	(void)state;
	static struct batch batch;
	for (size_t t = 0; t < LENGTH(types); t++) {
		batch.type = types[t];
		uint64_t count = finite_values(types[t]);
		for (uint64_t i = 0; i < count; i++) {
			double value = value_at(types[t], i), next = value_at(types[t], i + 1);
			float marks[] = {(float)value, (float)((value + next) / 2), (float)next};
			for (size_t k = 0; k < LENGTH(marks); k++) {
				expect_reference(&batch, nextafterf(marks[k], -INFINITY));
				expect_reference(&batch, marks[k]);
				expect_reference(&batch, nextafterf(marks[k], INFINITY));
			}
		}
		check_batch(&batch);
	}
}

static void random_numbers(void **state)
{
	(void)state;
	static struct batch batch;
	for (size_t t = 0; t < LENGTH(types); t++) {
		batch.type = types[t];
		for (int i = 0; i < 250000; i++) {
			float any = float_of((uint32_t)jobs_random());
			expect_reference(&batch, i % 2 ? any : ldexpf(any, -(ilogbf(any) % 24)));
		}
		check_batch(&batch);
	}
}

/* Walks up from zero: x belongs to the value before it until it has passed the middle. */
static void check_all(enum ring_datatype type)
{
	static struct batch batch;
	batch.type = type;
	uint64_t last = finite_values(type), index = 0,
		 sign = UINT64_C(1) << (8 * ring_datatype_bytes(type) - 1);
	uint64_t overflown = reference_rounded(type, INFINITY);
	double middle = (value_at(type, 0) + value_at(type, 1)) / 2;
	for (uint32_t bits = 0; bits < 0x80000000; bits++) {
		float x = float_of(bits);
		while (index < last &&
		       ((double)x > middle || ((double)x == middle && index % 2 == 1))) {
			index++;
			middle = index < last
					 ? (value_at(type, index) + value_at(type, index + 1)) / 2
					 : 0;
		}
		uint64_t want = index < last ? index : overflown;
		expect(&batch, x, isnan(x) ? reference_rounded(type, NAN) : want);
		expect(&batch, -x, isnan(x) ? reference_rounded(type, NAN) : want + sign);
	}
	check_batch(&batch);
}

static void every_float32(void **state)
{
	(void)state;
	for (size_t t = 0; t < LENGTH(types); t++)
		check_all(types[t]);
}

int main(void)
{
	const struct CMUnitTest family_tests[] = {
		cmocka_unit_test(every_narrow_value),
		cmocka_unit_test(every_tie_and_neighbour),
		cmocka_unit_test(random_numbers),
		{.name = "every_float32", /* left out without a function */
		 .test_func = getenv("RING_TEST_LONG") ? every_float32 : NULL},
	};
	int failures = 0;
	seed = jobs_seed_as_told();
	for (int i = 0; (family = ring_cpu_family(i)) != NULL; i++)
		failures += cmocka_run_group_tests_name(family->name, family_tests, NULL, NULL);
	return failures;
}
