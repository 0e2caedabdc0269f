/* SPDX-License-Identifier: MIT */
/* Elements reduced by the numbers that C has. */
#include "elements.h"

#include <math.h>
#include <string.h>

#include "base/reduce_list.h"
#include "tests/kernels/reference.h"

/* Bytes, and of floats the bits of the fraction and the exponent; bit 0 is the fraction's last. */
static const struct {
	size_t bytes;
	int fraction_bits, exponent_bits;
} layouts[ELEMENT_TYPES] = {
	[RING_INT8] = {1, 0, 0},     [RING_UINT8] = {1, 0, 0},       [RING_INT32] = {4, 0, 0},
	[RING_UINT32] = {4, 0, 0},   [RING_INT64] = {8, 0, 0},       [RING_UINT64] = {8, 0, 0},
	[RING_FLOAT16] = {2, 10, 5}, [RING_FLOAT32] = {4, 23, 8},    [RING_FLOAT64] = {8, 52, 11},
	[RING_BFLOAT16] = {2, 7, 8}, [RING_FLOAT8_E4M3] = {1, 3, 4}, [RING_FLOAT8_E5M2] = {1, 2, 5},
};

size_t element_bytes(enum ring_datatype type)
{
	return layouts[type].bytes;
}

static bool is_float(enum ring_datatype type)
{
	return layouts[type].exponent_bits > 0;
}

bool element_has_op(enum ring_datatype type, enum ring_op op)
{
#define IS(OP, name, ...) || op == OP
	return !is_float(type) || !(false RING_REDUCE_BIT_OPS(IS, ));
#undef IS
}

/* Little-endian: the lowest bytes. */
static uint64_t load_bits(enum ring_datatype type, const void *element)
{
	uint64_t bits = 0;
	memcpy(&bits, element, layouts[type].bytes);
	return bits;
}

static void store_bits(enum ring_datatype type, void *element, uint64_t bits)
{
	memcpy(element, &bits, layouts[type].bytes);
}

/* ---- integers -------------------------------------------------------------------------------- */

static bool is_signed(enum ring_datatype type)
{
	return type == RING_INT8 || type == RING_INT32 || type == RING_INT64;
}

/* What is left of x in the type, extended to 64 bits with its sign. */
static uint64_t wrap(enum ring_datatype type, uint64_t x)
{
	switch (type) {
	case RING_INT8:
		return (uint64_t)(int8_t)x;
	case RING_UINT8:
		return (uint8_t)x;
	case RING_INT32:
		return (uint64_t)(int32_t)x;
	case RING_UINT32:
		return (uint32_t)x;
	default:
		return x;
	}
}

static uint64_t load_whole(enum ring_datatype type, const void *element)
{
	return wrap(type, load_bits(type, element));
}

static uint64_t whole_op(enum ring_datatype type, enum ring_op op, uint64_t a, uint64_t b)
{
	bool a_is_less = is_signed(type) ? (int64_t)a < (int64_t)b : a < b;
	switch (op) {
	case RING_PROD:
		return a * b;
	case RING_MAX:
		return a_is_less ? b : a;
	case RING_MIN:
		return a_is_less ? a : b;
	case RING_BAND:
		return a & b;
	case RING_BOR:
		return ~(~a & ~b);
	case RING_BXOR:
		return (a & ~b) | (~a & b);
	default:
		return a + b;
	}
}

static uint64_t whole_quotient(enum ring_datatype type, uint64_t x, int divisor)
{
	if (is_signed(type))
		return (uint64_t)((int64_t)wrap(type, x) / divisor);
	return wrap(type, x) / (unsigned)divisor;
}

/* ---- floats ---------------------------------------------------------------------------------- */

/* Of all floats but double, which computing in float would round. */
static float load_float(enum ring_datatype type, const void *element)
{
	float value;
	if (type != RING_FLOAT32)
		return (float)reference_value(type, load_bits(type, element));
	memcpy(&value, element, sizeof(value));
	return value;
}

static void store_float(enum ring_datatype type, void *element, float value)
{
	const uint32_t quiet = 0x7fc00000;
	if (type != RING_FLOAT32)
		store_bits(type, element, reference_rounded(type, (double)value));
	else
		memcpy(element, isnan(value) ? (const void *)&quiet : &value, sizeof(value));
}

static double load_double(const void *element)
{
	double value;
	memcpy(&value, element, sizeof(value));
	return value;
}

static void store_double(void *element, double value)
{
	const uint64_t quiet = 0x7ff8000000000000;
	memcpy(element, isnan(value) ? (const void *)&quiet : &value, sizeof(value));
}

static double pick(enum ring_op op, double a, double b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	if (a == b) /* zeros of either sign are equal, but -0 is less */
		return signbit(a) == (op == RING_MIN) ? a : b;
	return (a > b) == (op == RING_MAX) ? a : b;
}

static float float_op(enum ring_op op, float a, float b)
{
	switch (op) {
	case RING_PROD:
		return a * b;
	case RING_MAX:
	case RING_MIN:
		return (float)pick(op, (double)a, (double)b);
	default:
		return a + b;
	}
}

static double double_op(enum ring_op op, double a, double b)
{
	switch (op) {
	case RING_PROD:
		return a * b;
	case RING_MAX:
	case RING_MIN:
		return pick(op, a, b);
	default:
		return a + b;
	}
}

/* ---- reductions ------------------------------------------------------------------------------ */

void element_reduce(enum ring_datatype type, enum ring_op op, const void *a, const void *b,
		    int divisor, void *result)
{
	if (!is_float(type)) {
		uint64_t x = whole_op(type, op, load_whole(type, a), load_whole(type, b));
		store_bits(type, result, whole_quotient(type, x, divisor));
	} else if (type == RING_FLOAT64) {
		store_double(result, double_op(op, load_double(a), load_double(b)) / divisor);
	} else {
		float x = float_op(op, load_float(type, a), load_float(type, b));
		store_float(type, result, x / (float)divisor);
	}
}

void element_reduce_all(enum ring_datatype type, enum ring_op op, const void *const sources[],
			int n, int divisor, void *result)
{
	bool narrow = is_float(type) && layouts[type].bytes < sizeof(float);
	memcpy(result, sources[0], layouts[type].bytes);
	for (int k = 1; !narrow && k < n; k++)
		element_reduce(type, op, result, sources[k], k == n - 1 ? divisor : 1, result);
	if (!narrow || n == 1)
		return;
	float x = load_float(type, sources[0]);
	for (int k = 1; k < n; k++)
		x = float_op(op, x, load_float(type, sources[k]));
	store_float(type, result, x / (float)divisor);
}

void element_scale(enum ring_datatype type, const void *scalar, const void *x, void *result)
{
	element_reduce(type, RING_PROD, scalar, x, 1, result);
}

void element_add_scaled(enum ring_datatype type, const void *partial, const void *scalar,
			const void *x, void *result)
{
	unsigned char scaled[ELEMENT_BYTES_MAX];
	if (!is_float(type) || type == RING_FLOAT32 || type == RING_FLOAT64) {
		element_scale(type, scalar, x, scaled);
		element_reduce(type, RING_SUM, partial, scaled, 1, result);
		return;
	}
	float product = load_float(type, scalar) * load_float(type, x);
	store_float(type, result, load_float(type, partial) + product);
}

/* ---- made up --------------------------------------------------------------------------------- */

void element_put(enum ring_datatype type, void *element, double value)
{
	if (!is_float(type))
		store_bits(type, element, (uint64_t)(int64_t)value);
	else if (type == RING_FLOAT64)
		store_double(element, value);
	else
		store_float(type, element, (float)value);
}

static uint64_t odd_whole(enum ring_datatype type, uint64_t bits)
{
	uint64_t lowest = is_signed(type) ? (uint64_t)1 << (8 * layouts[type].bytes - 1) : 0;
	const uint64_t odd[] = {0, lowest, lowest - 1, ~(uint64_t)0};
	return odd[bits % 4];
}

/* Bits `keep` replaced by those of `by`. */
static uint64_t mix(uint64_t bits, uint64_t keep, uint64_t by)
{
	return (bits & ~keep) | (by & keep);
}

void element_put_random(enum ring_datatype type, void *element, uint64_t bits, bool odd)
{
	int fraction_bits = layouts[type].fraction_bits;
	uint64_t exponents = ((uint64_t)1 << layouts[type].exponent_bits) - 1;
	uint64_t near_one = exponents / 2 + (bits >> 56) % 6 - 3;
	const uint64_t ends[] = {0, 0, exponents, exponents - 1};
	uint64_t exponent = odd ? ends[bits >> 60 & 3] : near_one;
	uint64_t fraction = ((uint64_t)1 << fraction_bits) - 1;
	if (!is_float(type)) {
		store_bits(type, element, odd ? odd_whole(type, bits >> 60) : bits);
		return;
	}
	bits = mix(bits, exponents << fraction_bits, exponent << fraction_bits);
	if (odd && bits >> 59 & 1) /* zero, infinite, or a power of two */
		bits = mix(bits, fraction, 0);
	store_bits(type, element, bits);
}
