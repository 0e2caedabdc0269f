/* SPDX-License-Identifier: MIT */
/*
 * Rounding, storing and loading of the element types.
 */
#include "types.h"

#include <stdint.h>
#include <string.h>

static double truncated(double value)
{
	return (double)(int64_t)value;
}

static double as_float(double value)
{
	return (double)(float)value;
}

static double as_double(double value)
{
	return value;
}

/* The upper half of a float, rounded to nearest even. */
static uint16_t bfloat16_bits(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	if (value != value)
		return 0x7fc0;
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float bfloat16_value(uint16_t half)
{
	uint32_t bits = (uint32_t)half << 16;
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static double as_bfloat16(double value)
{
	return (double)bfloat16_value(bfloat16_bits((float)value));
}

static void store_int32(const double *values, size_t count, void *memory)
{
	int32_t *out = memory;
	for (size_t i = 0; i < count; i++)
		out[i] = (int32_t)values[i];
}

static void load_int32(const void *memory, size_t count, double *values)
{
	const int32_t *in = memory;
	for (size_t i = 0; i < count; i++)
		values[i] = in[i];
}

static void store_float(const double *values, size_t count, void *memory)
{
	float *out = memory;
	for (size_t i = 0; i < count; i++)
		out[i] = (float)values[i];
}

static void load_float(const void *memory, size_t count, double *values)
{
	const float *in = memory;
	for (size_t i = 0; i < count; i++)
		values[i] = (double)in[i];
}

static void store_double(const double *values, size_t count, void *memory)
{
	memcpy(memory, values, count * sizeof(*values));
}

static void load_double(const void *memory, size_t count, double *values)
{
	memcpy(values, memory, count * sizeof(*values));
}

static void store_bfloat16(const double *values, size_t count, void *memory)
{
	uint16_t *out = memory;
	for (size_t i = 0; i < count; i++)
		out[i] = bfloat16_bits((float)values[i]);
}

static void load_bfloat16(const void *memory, size_t count, double *values)
{
	const uint16_t *in = memory;
	for (size_t i = 0; i < count; i++)
		values[i] = (double)bfloat16_value(in[i]);
}

const struct perf_type perf_types[PERF_TYPES] = {
	{"int32", RING_INT32, 4, 0x1p31 - 1, 0, truncated, truncated, store_int32, load_int32},
	{"float", RING_FLOAT32, 4, 0x1p24, 0x1p-24, as_float, as_float, store_float, load_float},
	{"double", RING_FLOAT64, 8, 0x1p53, 0x1p-53, as_double, as_double, store_double, load_double},
	{"bfloat16", RING_BFLOAT16, 2, 0x1p8, 0x1p-8, as_float, as_bfloat16, store_bfloat16,
	 load_bfloat16},
};

const char *const perf_op_names[PERF_OPS] = {"sum", "prod", "max", "min", "avg"};
