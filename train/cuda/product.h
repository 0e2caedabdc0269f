/* SPDX-License-Identifier: MIT */
/* Products of matrices on the GPU: cuBLAS's, if its library is there, or a kernel's of our own. */
#ifndef TRAIN_CUDA_PRODUCT_H
#define TRAIN_CUDA_PRODUCT_H

#include "train/model/matmul.h"

enum train_products { TRAIN_PRODUCTS_ANY, TRAIN_PRODUCTS_CUBLAS, TRAIN_PRODUCTS_OWN };

/* After train_chip_open(). returns false with a sentence on stderr */
bool train_product_open(enum train_products which);
void train_product_close(void);
const char *train_product_name(void); /* "NVIDIA H200, cuBLAS 12.8" */

/* As train_matmul(); arrays are the GPU's. */
void train_product_multiply(train_real *c, int stride, train_real keep, train_real scale,
			    struct train_matrix a, struct train_matrix b);

#endif
