/* SPDX-License-Identifier: MIT */
/*
 * A number is an integer times a power of two that its exponent decides; subnormal numbers have the
 * power of the least exponent.
 */
#include "minifloat.h"

#include <math.h>
#include <stdbool.h>

static int exponent_of(const struct perf_minifloat *format, double magnitude)
{
	int exponent;
	frexp(magnitude, &exponent); /* its fraction is from 1/2 to 1, not from 1 to 2 */
	bool is_normal = magnitude > 0 && exponent - 1 > format->least_exponent;
	return is_normal ? exponent - 1 : format->least_exponent;
}

double perf_minifloat_round(const struct perf_minifloat *format, double value)
{
	double magnitude = fabs(value);
	if (isnan(value))
		return value;
	if (isinf(value))
		return copysign(format->beyond, value);
	double unit = ldexp(1, exponent_of(format, magnitude) - format->fraction_bits);
	double rounded = rint(magnitude / unit) * unit;
	return copysign(rounded > format->largest ? format->beyond : rounded, value);
}

/* The leading one, if there is one, carries into the exponent's field. */
static uint16_t magnitude_bits(const struct perf_minifloat *format, double magnitude)
{
	int exponent = exponent_of(format, magnitude);
	int field = exponent - format->least_exponent;
	double integer = ldexp(magnitude, format->fraction_bits - exponent);
	return (uint16_t)((field << format->fraction_bits) + (int)integer);
}

static int sign_shift(const struct perf_minifloat *format)
{
	return 8 * (int)format->bytes - 1;
}

uint16_t perf_minifloat_bits(const struct perf_minifloat *format, double value)
{
	double magnitude = fabs(value);
	int bits = magnitude > format->largest ? magnitude_bits(format, format->largest) + 1
					       : magnitude_bits(format, magnitude);
	return (uint16_t)(bits | (signbit(value) != 0) << sign_shift(format));
}

double perf_minifloat_value(const struct perf_minifloat *format, uint16_t bits)
{
	int one = 1 << format->fraction_bits;
	int magnitude = bits & ((1 << sign_shift(format)) - 1);
	int field = magnitude >> format->fraction_bits;
	int integer = magnitude & (one - 1);
	int exponent = format->least_exponent - format->fraction_bits;
	if (field > 0) {
		integer += one;
		exponent += field - 1;
	}
	double value = ldexp(integer, exponent);
	if (value > format->largest)
		return NAN;
	return bits >> sign_shift(format) & 1 ? -value : value;
}
