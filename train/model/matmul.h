/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices, by OpenBLAS or BLIS if configure found one, else by plain loops. All run in
 * the calling thread: each core has a rank, and bits must not depend on the number of threads.
 */
#ifndef TRAIN_MATMUL_H
#define TRAIN_MATMUL_H

#include "model.h"

/* One factor, row after row. */
struct train_matrix {
	const train_real *at;
	int rows, columns; /* as a factor: already swapped if transposed */
	int stride;        /* elements from one row in memory to the next */
	bool transposed;   /* in memory it is [columns][rows] */
};

static inline struct train_matrix train_matrix(const train_real *at, int rows, int columns)
{
	return (struct train_matrix){at, rows, columns, columns, false};
}

static inline struct train_matrix train_transposed(struct train_matrix a)
{
	return (struct train_matrix){a.at, a.columns, a.rows, a.stride, !a.transposed};
}

/* c[a.rows][b.columns] = keep * c + scale * a * b; with keep 0 c need not be initialised. */
void train_matmul(train_real *c, int stride, train_real keep, train_real scale,
		  struct train_matrix a, struct train_matrix b);

/* Call it before the first product and before threads. returns 0; -1 with a sentence on stderr */
int train_matmul_start(void);

/* After train_matmul_start: the library and its threads, "OpenBLAS 0.3.21 SkylakeX, 1 thread". */
const char *train_matmul_name(void);

#endif
