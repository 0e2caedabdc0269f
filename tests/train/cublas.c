/* SPDX-License-Identifier: MIT */
/*
 * Stands for NVIDIA's libcublas over the fake driver: products of matrices whose columns lie one
 * after the other, on the handle's stream, by the trainer's own kernel. It refuses what the real one
 * does.
 *
 * Source: cuBLAS' manual, cublas<t>gemm.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#include "train/cuda/jobs.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, EXECUTION_FAILED = 13 };
enum { BLOCK = 64 }; /* threads */

struct handle {
	int (*load)(void **module, const void *image);
	int (*find)(void **function, void *module, const char *name);
	int (*launch)(void *function, unsigned blocks, unsigned, unsigned, unsigned threads,
		      unsigned, unsigned, unsigned shared_bytes, void *stream, void **arguments,
		      void **extra);
	void *module, *product, *stream;
};

static struct handle one;

/* cublas_v2.h has them, which is not here. */
#pragma GCC visibility push(default)
int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasGetVersion_v2(void *handle, int *version);
int cublasSetStream_v2(void *handle, void *stream);
int cublasSgemm_v2(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
		   const float *a, int a_stride, const float *b, int b_stride, const float *beta,
		   float *c, int c_stride);
#pragma GCC visibility pop

int cublasCreate_v2(void **handle)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!driver)
		return NOT_INITIALIZED;
	*(void **)&one.load = dlsym(driver, "cuModuleLoadData");
	*(void **)&one.find = dlsym(driver, "cuModuleGetFunction");
	*(void **)&one.launch = dlsym(driver, "cuLaunchKernel");
	if (one.load(&one.module, "cublas") ||
	    one.find(&one.product, one.module, "train_product_kernel"))
		return NOT_INITIALIZED;
	*handle = &one;
	return SUCCESS;
}

int cublasDestroy_v2(void *handle)
{
	return handle == &one ? SUCCESS : NOT_INITIALIZED;
}

int cublasGetVersion_v2(void *handle, int *version)
{
	*version = 130001;
	return handle == &one ? SUCCESS : NOT_INITIALIZED;
}

int cublasSetStream_v2(void *handle, void *stream)
{
	((struct handle *)handle)->stream = stream;
	return SUCCESS;
}

/* c [m][n] = alpha * a [m][k] * b [k][n] + beta * c; op 1: what lies there is the transpose. */
int cublasSgemm_v2(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
		   const float *a, int a_stride, const float *b, int b_stride, const float *beta,
		   float *c, int c_stride)
{
	struct handle *it = handle;
	if (m < 0 || n < 0 || k < 0 || a_stride < (op_a ? k : m) || b_stride < (op_b ? n : k) ||
	    c_stride < m)
		return INVALID_VALUE;
	struct train_product_job job = {
		.c = c,
		.a = b,
		.b = a,
		.rows = n,
		.columns = m,
		.depth = k,
		.stride = c_stride,
		.a_row = op_b ? 1 : b_stride,
		.a_step = op_b ? b_stride : 1,
		.b_step = op_a ? 1 : a_stride,
		.b_column = op_a ? a_stride : 1,
		.keep = *beta,
		.scale = *alpha,
	};
	uint64_t items = (uint64_t)m * (uint64_t)n;
	void *arguments[] = {&job, &items};
	unsigned blocks = (unsigned)((items + BLOCK - 1) / BLOCK);
	if (items == 0)
		return SUCCESS;
	return it->launch(it->product, blocks, 1, 1, BLOCK, 1, 1, 0, it->stream, arguments, NULL)
		       ? EXECUTION_FAILED
		       : SUCCESS;
}
