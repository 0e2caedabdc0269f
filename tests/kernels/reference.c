/* SPDX-License-Identifier: MIT */
#include "reference.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- formats --------------------------------------------------------------------------------- */

struct format {
	int exponent_bits, fraction_bits; /* exponent_bits 0: an integer of fraction_bits */
	bool has_sign;
	bool has_infinity;
	bool saturates;
	uint64_t nan;
};

static const struct format formats[REFERENCE_TYPES] = {
	[RING_INT8] = {.fraction_bits = 8, .has_sign = true},
	[RING_UINT8] = {.fraction_bits = 8},
	[RING_INT32] = {.fraction_bits = 32, .has_sign = true},
	[RING_UINT32] = {.fraction_bits = 32},
	[RING_INT64] = {.fraction_bits = 64, .has_sign = true},
	[RING_UINT64] = {.fraction_bits = 64},
	[RING_FLOAT16] = {5, 10, true, true, false, 0x7e00},
	[RING_FLOAT32] = {8, 23, true, true, false, 0x7fc00000},
	[RING_FLOAT64] = {11, 52, true, true, false, 0x7ff8000000000000},
	[RING_BFLOAT16] = {8, 7, true, true, false, 0x7fc0},
	[RING_FLOAT8_E4M3] = {4, 3, true, false, true, 0x7f},
	[RING_FLOAT8_E5M2] = {5, 2, true, true, true, 0x7f},
};

static uint64_t power(int exponent)
{
	return UINT64_C(1) << exponent;
}

static int bias(const struct format *format)
{
	return (int)power(format->exponent_bits - 1) - 1;
}

/* ---- floats ---------------------------------------------------------------------------------- */

double reference_value(enum ring_datatype type, uint64_t bits)
{
	const struct format *format = &formats[type];
	uint64_t fraction = bits % power(format->fraction_bits);
	uint64_t rest = bits / power(format->fraction_bits);
	uint64_t exponent = rest % power(format->exponent_bits);
	double sign = rest / power(format->exponent_bits) % 2 ? -1 : 1;

	bool is_last = exponent == power(format->exponent_bits) - 1;
	if (is_last && format->has_infinity)
		return fraction ? NAN : sign * INFINITY;
	if (is_last && fraction == power(format->fraction_bits) - 1)
		return NAN;
	if (exponent == 0)
		return sign * ldexp((double)fraction, 1 - bias(format) - format->fraction_bits);
	return sign * ldexp((double)(fraction + power(format->fraction_bits)),
			    (int)exponent - bias(format) - format->fraction_bits);
}

/* The bits of the largest finite number. */
static uint64_t largest(const struct format *format)
{
	uint64_t all = power(format->exponent_bits + format->fraction_bits) - 1;
	return format->has_infinity ? all - power(format->fraction_bits) : all - 1;
}

static double nearest_even(double x)
{
	double below = floor(x), over = x - below;
	bool is_odd = fmod(below, 2) != 0;
	return below + (over > 0.5 || (over == 0.5 && is_odd));
}

/* Counts steps: the numbers of a format are spaced evenly between powers of two. */
static uint64_t magnitude_bits(const struct format *format, double x)
{
	if (isinf(x))
		return largest(format) + !format->saturates;
	int exponent;
	frexp(x, &exponent); /* x in [0.5, 1) * 2^exponent */
	if (x == 0 || exponent - 1 < 1 - bias(format))
		exponent = 2 - bias(format);
	double steps = nearest_even(ldexp(x, format->fraction_bits + 1 - exponent));
	uint64_t binade = (uint64_t)(exponent - 2 + bias(format)); /* its first number has steps 2^f */
	uint64_t bits = binade * power(format->fraction_bits) + (uint64_t)steps;
	return bits > largest(format) ? largest(format) + !format->saturates : bits;
}

uint64_t reference_rounded(enum ring_datatype type, double x)
{
	const struct format *format = &formats[type];
	if (isnan(x))
		return format->nan;
	uint64_t sign = signbit(x) ? power(format->exponent_bits + format->fraction_bits) : 0;
	return sign + magnitude_bits(format, fabs(x));
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

/* A double rounded to float32 is what float32 arithmetic gives. */
static double computed(enum ring_datatype type, double x)
{
	return type == RING_FLOAT64 ? x : (double)(float)x;
}

static uint64_t reduced_float(enum ring_datatype type, enum ring_op op, const uint64_t bits[],
			      int n, const uint64_t scalars[], int nscalars, uint64_t divisor)
{
	double x = 0;
	for (int i = 0; i < n; i++) {
		double next = reference_value(type, bits[i]);
		if (i < nscalars)
			next = computed(type, reference_value(type, scalars[i]) * next);
		x = i == 0 ? next : computed(type, float_op(op, x, next));
	}
	if (divisor > 1)
		x = computed(type, x / (double)divisor);
	return reference_rounded(type, x);
}

/* ---- integers -------------------------------------------------------------------------------- */

static __int128 wrapped(const struct format *format, __int128 x)
{
	__int128 range = (__int128)1 << format->fraction_bits;
	__int128 low = x % range + (x % range < 0 ? range : 0);
	return format->has_sign && low >= range / 2 ? low - range : low;
}

static __int128 integer_op(enum ring_op op, __int128 a, __int128 b)
{
	switch (op) {
	case RING_PROD: /* wraps at 128 bits, a multiple of all ranges */
		return (__int128)((unsigned __int128)a * (unsigned __int128)b);
	case RING_MAX:
		return a > b ? a : b;
	case RING_MIN:
		return a < b ? a : b;
	case RING_BAND:
		return a & b;
	case RING_BOR:
		return a | b;
	case RING_BXOR:
		return (a | b) - (a & b);
	default:
		return a + b;
	}
}

static uint64_t reduced_integer(enum ring_datatype type, enum ring_op op, const uint64_t bits[],
				int n, const uint64_t scalars[], int nscalars, uint64_t divisor)
{
	const struct format *format = &formats[type];
	__int128 x = 0;
	for (int i = 0; i < n; i++) {
		__int128 next = wrapped(format, bits[i]);
		if (i < nscalars)
			next = wrapped(format, integer_op(RING_PROD, next, scalars[i]));
		x = i == 0 ? next : wrapped(format, integer_op(op, x, next));
	}
	if (divisor > 1)
		x /= (__int128)divisor;
	return (uint64_t)x & (UINT64_MAX >> (64 - format->fraction_bits));
}

uint64_t reference_reduced(enum ring_datatype type, enum ring_op op, const uint64_t bits[], int n,
			   const uint64_t scalars[], int nscalars, uint64_t divisor)
{
	if (n == 1 && divisor <= 1 && nscalars == 0)
		return bits[0];
	return formats[type].exponent_bits
		       ? reduced_float(type, op, bits, n, scalars, nscalars, divisor)
		       : reduced_integer(type, op, bits, n, scalars, nscalars, divisor);
}

/* ---- special values -------------------------------------------------------------------------- */

static const uint64_t integers[] = {
	0,
	1,
	2,
	3,
	0x7f,
	0x80,
	0x81,
	0xff,
	0x7fffffff,
	0x80000000,
	0x80000001,
	0xffffffff,
	0x7fffffffffffffff,
	0x8000000000000000,
	0x8000000000000001,
	0xffffffffffffffff,
};

/*
 * Per float type: zeros; subnormals; about the least normal number; about one and ties beside it;
 * largest and infinite; NaN that are quiet, have payloads, signal. Both signs.
 */
static const uint64_t float16s[] = {
	0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x3c00,
	0xbc00, 0x3c01, 0x3bff, 0x1000, 0x9000, 0x1001, 0x7bff, 0xfbff, 0x4c00,
	0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7e01, 0x7c01, 0xfc01, 0x7fff, 0xffff,
};
static const uint64_t float32s[] = {
	0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000,
	0x80800000, 0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff, 0x33800000, 0x33800001,
	0x7f7fffff, 0xff7fffff, 0x73000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000,
	0x7fc12345, 0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff,
};
static const uint64_t float64s[] = {
	0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001,
	0x000fffffffffffff, 0x800fffffffffffff, 0x0010000000000000, 0x3ff0000000000000,
	0xbff0000000000000, 0x3ff0000000000001, 0x3ca0000000000000, 0x7fefffffffffffff,
	0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
	0xfff8000000000000, 0x7ff8000012345678, 0x7ff0000000000001, 0xffffffffffffffff,
};
static const uint64_t bfloat16s[] = {
	0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x0080, 0x3f80, 0xbf80,
	0x3f81, 0x3b80, 0xbb80, 0x7f7f, 0xff7f, 0x7b00, 0x7f80, 0xff80,
	0x7fc0, 0xffc0, 0x7fc1, 0x7f81, 0xff81, 0x7fff, 0xffff,
};
static const uint64_t float8s[] = {
	0x00, 0x80, 0x01, 0x81, 0x07, 0x08, 0x03, 0x04, 0x38, 0xb8, 0x3c, 0xbc, 0x3d,
	0x77, 0x7a, 0x7b, 0xfb, 0x7c, 0xfc, 0x7d, 0xfd, 0x7e, 0xfe, 0x7f, 0xff,
};

size_t reference_specials(enum ring_datatype type, const uint64_t **specials)
{
#define SPECIALS(list)                                                                             \
	{                                                                                          \
		list, sizeof(list) / sizeof((list)[0])                                             \
	}
	static const struct {
		const uint64_t *values;
		size_t count;
	} lists[REFERENCE_TYPES] = {
		[RING_INT8] = SPECIALS(integers),       [RING_UINT8] = SPECIALS(integers),
		[RING_INT32] = SPECIALS(integers),      [RING_UINT32] = SPECIALS(integers),
		[RING_INT64] = SPECIALS(integers),      [RING_UINT64] = SPECIALS(integers),
		[RING_FLOAT16] = SPECIALS(float16s),    [RING_FLOAT32] = SPECIALS(float32s),
		[RING_FLOAT64] = SPECIALS(float64s),    [RING_BFLOAT16] = SPECIALS(bfloat16s),
		[RING_FLOAT8_E4M3] = SPECIALS(float8s), [RING_FLOAT8_E5M2] = SPECIALS(float8s),
	};
	*specials = lists[type].values;
	return lists[type].count;
}
