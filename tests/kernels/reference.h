/* SPDX-License-Identifier: MIT */
/*
 * What reductions must give, computed slowly and in another way than the kernels: elements are their
 * bits, floats are taken apart with ldexp and computed with as doubles, integers in 128 bits.
 */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "ringccl.h"
#include "base/reduce_list.h"

/* All operations of the list, and RING_AVG. */
enum {
	REFERENCE_TYPES = RING_FLOAT8_E5M2 + 1,
	REFERENCE_OPS = (int)RING_OPS > RING_AVG ? (int)RING_OPS : RING_AVG + 1
};

/* The number that the bits of a float type stand for. */
double reference_value(enum ring_datatype type, uint64_t bits);

/* The bits of a float type that stand for x: rounded to nearest even, NaN the canonical one. */
uint64_t reference_rounded(enum ring_datatype type, double x);

/* One element of n sources, of which the first nscalars are multiplied by a scalar each. */
uint64_t reference_reduced(enum ring_datatype type, enum ring_op op, const uint64_t bits[], int n,
			   const uint64_t scalars[], int nscalars, uint64_t divisor);

/* Values that go wrong; the bits of `type` are the lowest. returns how many */
size_t reference_specials(enum ring_datatype type, const uint64_t **specials);

#endif
