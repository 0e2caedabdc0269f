/* SPDX-License-Identifier: MIT */
/* Small numbers; see values.h. */
#include "values.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

const char *const type_names[TYPES] = {"int8",    "uint8",    "int32",      "uint32",
				       "int64",   "uint64",   "float16",    "float32",
				       "float64", "bfloat16", "float8e4m3", "float8e5m2"};
const char *const op_names[OPS] = {"sum", "prod", "max", "min", "avg"};
const char *const kind_names[KINDS] = {"all_reduce", "reduce",       "reduce_scatter", "all_gather",
				       "broadcast",  "bcast",        "gather",         "scatter",
				       "all_to_all", "send and recv"};

size_t type_bytes(ncclDataType_t type)
{
	static const size_t bytes[TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
	return bytes[type];
}

double value_of(int rank, size_t i)
{
	return 1 + (double)((rank + i + i / 3 + (size_t)rank * i) % 2);
}

/* Bits of a number that a format of so many bits has exactly. */
static uint32_t bits_of(double value, int mantissa, int bias)
{
	int exponent;
	double fraction = frexp(value, &exponent); /* [0.5, 1) */
	uint32_t steps = (uint32_t)ldexp(fraction * 2 - 1, mantissa);
	return value == 0 ? 0 : (uint32_t)(exponent - 1 + bias) << mantissa | steps;
}

static void write_element(ncclDataType_t type, double value, void *element)
{
	const bool is_float = type >= ncclFloat16;
	int64_t whole = (int64_t)value;
	float single = (float)value;
	uint32_t bits = 0;
	if (type == ncclFloat16)
		bits = bits_of(value, 10, 15);
	else if (type == ncclBfloat16)
		bits = bits_of(value, 7, 127);
	else if (type == ncclFloat8e4m3)
		bits = bits_of(value, 3, 7);
	else if (type == ncclFloat8e5m2)
		bits = bits_of(value, 2, 15);
	const void *from = &bits;
	if (!is_float)
		from = &whole;
	else if (type == ncclFloat32)
		from = &single;
	else if (type == ncclFloat64)
		from = &value;
	memcpy(element, from, type_bytes(type)); /* little-endian */
}

static double apply(ncclRedOp_t op, double a, double b)
{
	switch (op) {
	case ncclProd:
		return a * b;
	case ncclMax:
		return a > b ? a : b;
	case ncclMin:
		return a < b ? a : b;
	default:
		return a + b;
	}
}

static double reduced(const struct call *call, size_t i)
{
	bool scaled = call->factor != 0;
	double all = scaled ? call->factor * value_of(0, i) : value_of(0, i);
	for (int rank = 1; rank < call->size; rank++)
		all = apply(call->op, all,
			    scaled ? call->factor * (rank + 1) * value_of(rank, i)
				   : value_of(rank, i));
	return call->op == ncclAvg ? all / call->size : all;
}

size_t result_count(const struct call *call, int rank)
{
	bool is_root = rank == call->root;
	switch (call->kind) {
	case ALL_GATHER:
	case ALL_TO_ALL:
		return call->count * call->size;
	case REDUCE:
		return is_root ? call->count : 0;
	case GATHER:
		return is_root ? call->count * call->size : 0;
	default:
		return call->count;
	}
}

static double result_of(const struct call *call, int rank, size_t i)
{
	size_t own = (size_t)rank * call->count;
	switch (call->kind) {
	case REDUCE_SCATTER:
		return reduced(call, own + i);
	case ALL_GATHER:
	case GATHER:
		return value_of((int)(i / call->count), i % call->count);
	case BROADCAST:
	case BCAST:
		return value_of(call->root, i);
	case SCATTER:
		return value_of(call->root, own + i);
	case ALL_TO_ALL:
		return value_of((int)(i / call->count), own + i % call->count);
	case EXCHANGE:
		return value_of((rank + call->size - 1) % call->size, i);
	default:
		return reduced(call, i);
	}
}

void write_input(const struct call *call, int rank, size_t count, void *elements)
{
	for (size_t i = 0; i < count; i++)
		write_element(call->type, value_of(rank, i),
			      (char *)elements + i * type_bytes(call->type));
}

void write_result(const struct call *call, int rank, void *elements)
{
	size_t count = result_count(call, rank);
	for (size_t i = 0; i < count; i++)
		write_element(call->type, result_of(call, rank, i),
			      (char *)elements + i * type_bytes(call->type));
}
