/* SPDX-License-Identifier: MIT */
/* bfloat16 with error feedback: rounding, what rounding lost, and that nothing is lost over time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "train/step/compress.h"

static float from_bits(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint16_t compressed(float value, float *residual)
{
	uint16_t half;
	*residual = 0;
	train_compress(&half, residual, &value, 1, 1);
	return half;
}

static void rounds_to_nearest_even(void **state)
{
	static const struct {
		uint32_t bits;
		uint16_t half;
	} cases[] = {
		{0x3f800000, 0x3f80}, {0x3f807fff, 0x3f80}, {0x3f808000, 0x3f80},
		{0x3f808001, 0x3f81}, {0x3f818000, 0x3f82}, {0xbf818000, 0xbf82},
		{0x00000000, 0x0000}, {0x00000001, 0x0000}, {0x7f7f7fff, 0x7f7f},
		{0x7f7fffff, 0x7f80}, {0xff800000, 0xff80},
	};
	float residual;
	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
		assert_int_equal(compressed(from_bits(cases[c].bits), &residual), cases[c].half);
}

static void keeps_what_rounding_lost(void **state)
{
	(void)state;
	for (uint32_t bits = 0x3f800000; bits < 0x3f820000; bits += 77) {
		float residual, value, wanted = from_bits(bits);
		uint16_t half = compressed(wanted, &residual);
		train_expand(&value, &half, 1);
		assert_true(value + residual == wanted);
		assert_true(fabsf(residual) <= ldexpf(wanted, -8));
	}
}

static void what_is_not_finite_leaves_no_residual(void **state)
{
	static const uint32_t values[] = {0x7f800000, 0xff800000, 0x7fc00001,
					  0x7f800001, 0xffffffff, 0x7f7fffff};
	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		float residual, back, value = from_bits(values[i]);
		uint16_t half = compressed(value, &residual);
		train_expand(&back, &half, 1);
		assert_true(residual == 0);
		assert_int_equal(!isnan(value), !isnan(back));
		assert_false(isfinite(back));
	}
}

/* What has arrived after any number of steps is what was sent, but for the last residual. */
static void nothing_is_lost_over_time(void **state)
{
	enum { COUNT = 100, STEPS = 1000 };
	float gradients[COUNT], residuals[COUNT] = {0}, values[COUNT];
	double arrived[COUNT] = {0};
	uint16_t halves[COUNT];
	(void)state;
	for (int i = 0; i < COUNT; i++)
		gradients[i] = sinf((float)i + 0.1f);
	for (int step = 1; step <= STEPS; step++) {
		train_compress(halves, residuals, gradients, COUNT, 0.5f);
		train_expand(values, halves, COUNT);
		for (int i = 0; i < COUNT; i++) {
			double wanted = 0.5 * (double)gradients[i];
			arrived[i] += (double)values[i];
			/* once for the last residual; additions in float have errors of their own */
			assert_true(fabs(arrived[i] - step * wanted) <=
				    fabs(wanted) * (0x1p-8 + step * 0x1p-24));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_to_nearest_even),
		cmocka_unit_test(keeps_what_rounding_lost),
		cmocka_unit_test(what_is_not_finite_leaves_no_residual),
		cmocka_unit_test(nothing_is_lost_over_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
