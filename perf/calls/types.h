/* SPDX-License-Identifier: MIT */
/*
 * The element types and reductions that are measured. Expected values are computed in double. It
 * holds every value of these types that is used, and an operation in double, rounded to float, is
 * the operation in float. So only rounding needs code per type.
 */
#ifndef PERF_TYPES_H
#define PERF_TYPES_H

#include <stdbool.h>
#include <stddef.h>

#include "ringccl.h"

struct perf_type {
	const char *name; /* nccl-tests' */
	enum ring_datatype type;
	size_t bytes;
	bool has_sign;
	double exact;    /* all integers up to this are values of the type and of double       */
	double step;     /* exact * step is also a value: it uses more bits than a double has */
	int twos;        /* 2 to this power is a value                        */
	double roundoff; /* largest relative error of one rounding; 0: no error */
	double smallest; /* above zero                                        */
	double (*compute)(double); /* rounds to the type in which arithmetic is done    */
	double (*round)(double);   /* rounds to what the type can store                 */
	void (*store)(const double *values, size_t count, void *memory);
	void (*load)(const void *memory, size_t count, double *values); /* of types that round */
};

struct perf_op {
	const char *name; /* nccl-tests'                                     */
	enum ring_op op;  /* ringccl's; one that scales must be created */
	double (*combine)(double, double);
	bool adds, multiplies;
	bool divides; /* the sum, by the number of ranks          */
	bool scales;  /* every rank's input, by perf_scalar(rank) */
	bool of_bits; /* of integers alone                        */
};

enum { PERF_TYPES = RING_FLOAT8_E5M2 + 1, PERF_OPS = 9 };
extern const struct perf_type perf_types[PERF_TYPES]; /* by enum ring_datatype */
extern const struct perf_op perf_ops[PERF_OPS];

/* Whether the operation is one of this type. */
static inline bool perf_op_takes(const struct perf_op *op, const struct perf_type *type)
{
	return !op->of_bits || type->roundoff == 0;
}

/* The factor of a rank's input: a power of two, so that no product is rounded. */
#define PERF_LARGEST_SCALAR 2.0
double perf_scalar(int rank);

#endif
