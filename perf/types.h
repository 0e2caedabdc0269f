/* SPDX-License-Identifier: MIT */
/*
 * The element types and reductions that are measured. Expected values are computed in double: it
 * holds every value of these types, and rounding one double operation to float is the same as the
 * operation in float. So the reference needs no code per type but the rounding.
 */
#ifndef PERF_TYPES_H
#define PERF_TYPES_H

#include <stddef.h>

#include "ringccl.h"

struct perf_type {
	const char *name; /* nccl-tests' */
	enum ring_datatype type;
	size_t bytes;
	double exact;              /* all integers up to this are values of the type      */
	double roundoff;           /* largest relative error of one rounding; 0: no error */
	double (*compute)(double); /* to what arithmetic on the type is done in  */
	double (*round)(double);   /* to what the type can store                 */
	void (*store)(const double *values, size_t count, void *memory);
	void (*load)(const void *memory, size_t count, double *values);
};

enum { PERF_TYPES = 4, PERF_OPS = 5 };
extern const struct perf_type perf_types[PERF_TYPES];
extern const char *const perf_op_names[PERF_OPS]; /* by enum ring_op */

#endif
