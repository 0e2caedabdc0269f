/* SPDX-License-Identifier: MIT */
/*
 * Elements of all twelve types, reduced one at a time as docs/REDUCTIONS.md says, by C's own numbers:
 * integers of 64 bits that wrap, float, double. Shares nothing with the kernels; 16- and 8-bit floats
 * are taken apart and rounded by tests/kernels/reference.h.
 */
#ifndef ELEMENTS_H
#define ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringccl.h"
#include "tests/kernels/reference.h"

enum { ELEMENT_TYPES = RING_FLOAT8_E5M2 + 1, ELEMENT_OPS = REFERENCE_OPS };
#define ELEMENT_BYTES_MAX 8

size_t element_bytes(enum ring_datatype type);

/* Whether the operation is one of this type: floats have none of bits. */
bool element_has_op(enum ring_datatype type, enum ring_op op);

/* result = a op b; `divisor` is 1, or at the last addition of an average the number of ranks. */
void element_reduce(enum ring_datatype type, enum ring_op op, const void *a, const void *b,
		    int divisor, void *result);

/* The same of all n sources at once, from left to right; 16- and 8-bit floats are rounded once. */
void element_reduce_all(enum ring_datatype type, enum ring_op op, const void *const sources[],
			int n, int divisor, void *result);

/* result = scalar * x, rounded once. */
void element_scale(enum ring_datatype type, const void *scalar, const void *x, void *result);

/* result = partial + scalar * x: rounded once for 16- and 8-bit floats, twice for float and double. */
void element_add_scaled(enum ring_datatype type, const void *partial, const void *scalar,
			const void *x, void *result);

/* One element from a small whole number or, for floats, the nearest to any number. */
void element_put(enum ring_datatype type, void *element, double value);

/*
 * Random bits as an element: of a float near one, so that the order of additions matters; `odd` gives
 * what goes wrong: subnormal, largest, infinite, not a number; an integer's extremes.
 */
void element_put_random(enum ring_datatype type, void *element, uint64_t bits, bool odd);

#endif
