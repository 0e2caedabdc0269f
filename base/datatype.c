/* SPDX-License-Identifier: MIT */
/* The tables of element types and reductions. */
#include "datatype.h"

#include "reduce_list.h"

#define SIZE(TYPE, type, bytes, ...) [TYPE] = bytes,
const unsigned char ring_datatype_sizes[RING_DATATYPES] = {RING_REDUCE_TYPES(SIZE, )};

static const char *const type_names[RING_DATATYPES] = {
	[RING_INT8] = "int8",         [RING_UINT8] = "uint8",        [RING_INT32] = "int32",
	[RING_UINT32] = "uint32",     [RING_INT64] = "int64",        [RING_UINT64] = "uint64",
	[RING_FLOAT16] = "half",      [RING_FLOAT32] = "float",      [RING_FLOAT64] = "double",
	[RING_BFLOAT16] = "bfloat16", [RING_FLOAT8_E4M3] = "f8e4m3", [RING_FLOAT8_E5M2] = "f8e5m2",
};

#define NAME(OP, op, ...) [OP] = #op,
static const char *const op_names[] = {[RING_AVG] = "avg",
				       RING_REDUCE_OPS(NAME, ) RING_REDUCE_BIT_OPS(NAME, )};

/* Compared as unsigned numbers, negative values are out of range too. */
#define IS_INDEX(table, value) ((unsigned)(value) < sizeof(table) / sizeof((table)[0]))

const char *ring_datatype_name(enum ring_datatype type)
{
	return IS_INDEX(type_names, type) ? type_names[type] : "?";
}

const char *ring_op_name(enum ring_op op)
{
	return IS_INDEX(op_names, op) ? op_names[op] : "?";
}

bool ring_op_is_of_bits(enum ring_op op)
{
#define IS_OP(OP, ...) || op == OP
	return false RING_REDUCE_BIT_OPS(IS_OP, );
#undef IS_OP
}

bool ring_op_takes(enum ring_op op, enum ring_datatype type)
{
	return !ring_op_is_of_bits(op) || type < RING_FLOAT16;
}

bool ring_op_shows_order(enum ring_op op, enum ring_datatype type)
{
	return type >= RING_FLOAT16 && op != RING_MAX && op != RING_MIN;
}
