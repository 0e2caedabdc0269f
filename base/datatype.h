/* SPDX-License-Identifier: MIT */
/* Names and sizes of element types and reductions. */
#ifndef RING_DATATYPE_H
#define RING_DATATYPE_H

#include "ringccl.h"

#define RING_DATATYPES (RING_FLOAT8_E5M2 + 1)

extern const unsigned char ring_datatype_sizes[RING_DATATYPES];

/* Bytes of one element; 0 for a value that is no type. */
static inline size_t ring_datatype_bytes(enum ring_datatype type)
{
	return (unsigned)type < RING_DATATYPES ? ring_datatype_sizes[type] : 0;
}

/*
 * Elements in so many bytes. Sizes are powers of two: a division would take as long as a small sum.
 */
static inline size_t ring_datatype_elements(enum ring_datatype type, size_t bytes)
{
	return bytes >> __builtin_ctz(ring_datatype_sizes[type]);
}

/* nccl-tests' short names ("float", "bfloat16", "sum"); "?" for an unknown value. */
const char *ring_datatype_name(enum ring_datatype type);
const char *ring_op_name(enum ring_op op);

#endif
