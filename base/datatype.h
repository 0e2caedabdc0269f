/* SPDX-License-Identifier: MIT */
/* Names and sizes of element types and reductions. */
#ifndef RING_DATATYPE_H
#define RING_DATATYPE_H

#include <stdbool.h>

#include "ringccl.h"

#define RING_DATATYPES (RING_FLOAT8_E5M2 + 1)

extern const unsigned char ring_datatype_sizes[RING_DATATYPES];

/* Bytes of one element; 0 for a value that is not a type. */
static inline size_t ring_datatype_bytes(enum ring_datatype type)
{
	return (unsigned)type < RING_DATATYPES ? ring_datatype_sizes[type] : 0;
}

/*
 * Elements in this many bytes. Sizes are powers of two: a division would take as long as a small
 * sum.
 */
static inline size_t ring_datatype_elements(enum ring_datatype type, size_t bytes)
{
	return bytes >> __builtin_ctz(ring_datatype_sizes[type]);
}

/* nccl-tests' short names ("float", "bfloat16", "sum"); "?" for an unknown value. */
const char *ring_datatype_name(enum ring_datatype type);
const char *ring_op_name(enum ring_op op);

/* Whether elements are just bits to the operation, and whether it is one of this type. */
bool ring_op_is_of_bits(enum ring_op op);
bool ring_op_takes(enum ring_op op, enum ring_datatype type);

/* Whether the bits of a result depend on the order of additions. */
bool ring_op_shows_order(enum ring_op op, enum ring_datatype type);

#endif
