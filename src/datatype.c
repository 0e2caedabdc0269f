/* SPDX-License-Identifier: MIT */
/* The tables of element types and reductions. */
#include "datatype.h"

static const struct {
	const char *name;
	size_t bytes;
} types[] = {
	[RING_INT8] = {"int8", 1},          [RING_UINT8] = {"uint8", 1},
	[RING_INT32] = {"int32", 4},        [RING_UINT32] = {"uint32", 4},
	[RING_INT64] = {"int64", 8},        [RING_UINT64] = {"uint64", 8},
	[RING_FLOAT16] = {"half", 2},       [RING_FLOAT32] = {"float", 4},
	[RING_FLOAT64] = {"double", 8},     [RING_BFLOAT16] = {"bfloat16", 2},
	[RING_FLOAT8_E4M3] = {"f8e4m3", 1}, [RING_FLOAT8_E5M2] = {"f8e5m2", 1},
};

static const char *const op_names[] = {
	[RING_SUM] = "sum", [RING_PROD] = "prod", [RING_MAX] = "max",
	[RING_MIN] = "min", [RING_AVG] = "avg",
};

/* Compared as unsigned numbers, negative values are out of range too. */
#define IS_INDEX(table, value) ((unsigned)(value) < sizeof(table) / sizeof((table)[0]))

size_t ring_datatype_bytes(enum ring_datatype type)
{
	return IS_INDEX(types, type) ? types[type].bytes : 0;
}

const char *ring_datatype_name(enum ring_datatype type)
{
	return IS_INDEX(types, type) ? types[type].name : "?";
}

const char *ring_op_name(enum ring_op op)
{
	return IS_INDEX(op_names, op) ? op_names[op] : "?";
}
