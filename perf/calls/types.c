/* SPDX-License-Identifier: MIT */
/*
 * How element types are rounded, stored and loaded; the operations on two numbers.
 */
#include "types.h"

#include <math.h>
#include <stdint.h>

#include "base/reduce_list.h"
#include "minifloat.h"

static double as_float(double value)
{
	return (double)(float)value;
}

static double as_double(double value)
{
	return value;
}

#define STORE(name, word)                                                                          \
	static void store_##name(const double *values, size_t count, void *memory)                 \
	{                                                                                          \
		word *out = memory;                                                                \
		for (size_t i = 0; i < count; i++)                                                 \
			out[i] = (word)values[i];                                                  \
	}

#define LOAD(name, word)                                                                           \
	static void load_##name(const void *memory, size_t count, double *values)                  \
	{                                                                                          \
		const word *in = memory;                                                           \
		for (size_t i = 0; i < count; i++)                                                 \
			values[i] = (double)in[i];                                                 \
	}

STORE(int8, int8_t)
STORE(uint8, uint8_t)
STORE(int32, int32_t)
STORE(uint32, uint32_t)
STORE(int64, int64_t)
STORE(uint64, uint64_t)
STORE(float, float)
LOAD(float, float)
STORE(double, double)
LOAD(double, double)

#define MINIFLOAT(name, word, ...)                                                                 \
	static const struct perf_minifloat name = {sizeof(word), __VA_ARGS__};                     \
	static double as_##name(double value)                                                      \
	{                                                                                          \
		return perf_minifloat_round(&name, value);                                         \
	}                                                                                          \
	static void store_##name(const double *values, size_t count, void *memory)                 \
	{                                                                                          \
		word *out = memory;                                                                \
		for (size_t i = 0; i < count; i++)                                                 \
			out[i] = (word)perf_minifloat_bits(&name, values[i]);                      \
	}                                                                                          \
	static void load_##name(const void *memory, size_t count, double *values)                  \
	{                                                                                          \
		const word *in = memory;                                                           \
		for (size_t i = 0; i < count; i++)                                                 \
			values[i] = perf_minifloat_value(&name, in[i]);                            \
	}

/* Fraction bits, least exponent, largest number, what larger numbers become. */
MINIFLOAT(half, uint16_t, 10, -14, 65504, INFINITY)
MINIFLOAT(bfloat16, uint16_t, 7, -126, 0x1.fep127, INFINITY)
MINIFLOAT(f8e4m3, uint8_t, 3, -6, 448, 448)
MINIFLOAT(f8e5m2, uint8_t, 2, -14, 57344, 57344)

#define INTEGER(NAME, TYPE, BYTES, HAS_SIGN, EXACT, STEP, TWOS)                                    \
	{                                                                                          \
		.name = #NAME, .type = TYPE, .bytes = BYTES, .has_sign = HAS_SIGN, .exact = EXACT, \
		.step = STEP, .twos = TWOS, .compute = trunc, .round = trunc,                      \
		.store = store_##NAME,                                                             \
	}

/* DIGITS are binary, with the leading one. */
#define FLOAT(NAME, TYPE, BYTES, DIGITS, TWOS, SMALLEST, COMPUTE)                                   \
	{                                                                                           \
		.name = #NAME, .type = TYPE, .bytes = BYTES, .has_sign = true,                      \
		.exact = (double)((uint64_t)1 << (DIGITS)), .step = 1, .twos = TWOS,                \
		.roundoff = 1.0 / (double)((uint64_t)1 << (DIGITS)), .smallest = SMALLEST,          \
		.compute = COMPUTE, .round = as_##NAME, .store = store_##NAME, .load = load_##NAME, \
	}

const struct perf_type perf_types[PERF_TYPES] = {
	INTEGER(int8, RING_INT8, 1, true, 0x1p7 - 1, 1, 6),
	INTEGER(uint8, RING_UINT8, 1, false, 0x1p8 - 1, 1, 7),
	INTEGER(int32, RING_INT32, 4, true, 0x1p31 - 1, 1, 16),
	INTEGER(uint32, RING_UINT32, 4, false, 0x1p32 - 1, 1, 16),
	INTEGER(int64, RING_INT64, 8, true, 0x1p53 - 1, 0x1p10, 16),
	INTEGER(uint64, RING_UINT64, 8, false, 0x1p53 - 1, 0x1p11, 16),
	FLOAT(half, RING_FLOAT16, 2, 11, 15, 0x1p-24, as_float),
	FLOAT(float, RING_FLOAT32, 4, 24, 16, 0x1p-149, as_float),
	FLOAT(double, RING_FLOAT64, 8, 53, 16, 0x1p-1074, as_double),
	FLOAT(bfloat16, RING_BFLOAT16, 2, 8, 16, 0x1p-133, as_float),
	FLOAT(f8e4m3, RING_FLOAT8_E4M3, 1, 4, 8, 0x1p-9, as_float),
	FLOAT(f8e5m2, RING_FLOAT8_E5M2, 1, 3, 15, 0x1p-16, as_float),
};

static double sum(double a, double b)
{
	return a + b;
}

static double product(double a, double b)
{
	return a * b;
}

/* -0 is less than +0. */
static double larger(double a, double b)
{
	return a > b || (a == b && signbit(b)) ? a : b;
}

static double smaller(double a, double b)
{
	return a < b || (a == b && signbit(a)) ? a : b;
}

/* Of a type that has the number. */
static uint64_t bits_of(double x)
{
	return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

/* The number again: if both are positive, the type may be unsigned. */
static double number_of(uint64_t bits, double a, double b)
{
	return a < 0 || b < 0 ? (double)(int64_t)bits : (double)bits;
}

static double band(double a, double b)
{
	return number_of(bits_of(a) & bits_of(b), a, b);
}

static double bor(double a, double b)
{
	return number_of(bits_of(a) | bits_of(b), a, b);
}

static double bxor(double a, double b)
{
	return number_of(bits_of(a) ^ bits_of(b), a, b);
}

const struct perf_op perf_ops[PERF_OPS] = {
	{.name = "sum", .op = RING_SUM, .combine = sum, .adds = true},
	{.name = "prod", .op = RING_PROD, .combine = product, .multiplies = true},
	{.name = "max", .op = RING_MAX, .combine = larger},
	{.name = "min", .op = RING_MIN, .combine = smaller},
	{.name = "avg", .op = RING_AVG, .combine = sum, .adds = true, .divides = true},
	{.name = "band", .op = RING_BAND, .combine = band, .of_bits = true},
	{.name = "bor", .op = RING_BOR, .combine = bor, .of_bits = true},
	{.name = "bxor", .op = RING_BXOR, .combine = bxor, .of_bits = true},
	{.name = "mulsum", .combine = sum, .adds = true, .scales = true},
};
_Static_assert(PERF_OPS == (RING_OPS > RING_AVG ? RING_OPS : RING_AVG + 1) + 1,
	       "perf_ops has a row for each operation of reduce_list.h, RING_AVG and mulsum");

double perf_scalar(int rank)
{
	return rank % 2 == 0 ? 1 : PERF_LARGEST_SCALAR;
}
