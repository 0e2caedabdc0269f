/* SPDX-License-Identifier: MIT */
/* A product through CBLAS, the C interface of every BLAS. */
#ifndef TRAIN_BLAS_H
#define TRAIN_BLAS_H

#include "matmul.h"

#include <cblas.h>

typedef __typeof__(cblas_sgemm) train_sgemm;

static inline void train_blas_matmul(train_sgemm *sgemm, train_real *c, int stride, train_real keep,
				     train_real scale, struct train_matrix a, struct train_matrix b)
{
	if (a.rows == 0)
		return;
	sgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
	      b.transposed ? CblasTrans : CblasNoTrans, a.rows, b.columns, a.columns, scale, a.at,
	      a.stride, b.at, b.stride, keep, c, stride);
}

#endif
