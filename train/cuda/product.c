/* SPDX-License-Identifier: MIT */
#include "product.h"

#include <dlfcn.h>
#include <stdio.h>

#include "chip.h"

/* The numbers that cuBLAS gives these, in all versions. */
enum { PLAIN = 0, TRANSPOSED = 1, NEWEST = 13, OLDEST = 11 };

static struct {
	void *library, *handle;
	int (*create)(void **handle);
	int (*destroy)(void *handle);
	int (*version)(void *handle, int *version);
	int (*stream)(void *handle, void *stream);
	int (*sgemm)(void *handle, int of_a, int of_b, int m, int n, int k, const float *scale,
		     const float *a, int a_stride, const float *b, int b_stride, const float *keep,
		     float *c, int c_stride);
} cublas;

static bool find_calls(void)
{
	*(void **)&cublas.create = dlsym(cublas.library, "cublasCreate_v2");
	*(void **)&cublas.destroy = dlsym(cublas.library, "cublasDestroy_v2");
	*(void **)&cublas.version = dlsym(cublas.library, "cublasGetVersion_v2");
	*(void **)&cublas.stream = dlsym(cublas.library, "cublasSetStream_v2");
	*(void **)&cublas.sgemm = dlsym(cublas.library, "cublasSgemm_v2");
	return cublas.create && cublas.destroy && cublas.version && cublas.stream && cublas.sgemm;
}

/*
 * The newest that starts: one may be newer than the driver. The handle's stream is the only one
 * that it is used on, so its products have the same bits. *found: there is one
 */
static bool open_cublas(bool *found)
{
	char name[32];
	*found = false;
	for (int major = NEWEST; major >= OLDEST; major--) {
		snprintf(name, sizeof(name), "libcublas.so.%d", major);
		cublas.library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		*found |= cublas.library != NULL;
		if (cublas.library && find_calls() && cublas.create(&cublas.handle) == 0 &&
		    cublas.stream(cublas.handle, train_chip_computing()) == 0)
			return true;
		train_product_close();
	}
	return false;
}

bool train_product_open(enum train_products which)
{
	bool found;
	if (which == TRAIN_PRODUCTS_OWN || open_cublas(&found))
		return true;
	if (which == TRAIN_PRODUCTS_CUBLAS)
		fprintf(stderr,
			"ring_train: --products cublas: %s; see LD_LIBRARY_PATH, or leave it out\n",
			found ? "no libcublas starts on this device"
			      : "there is no libcublas.so.11 to .13");
	return which != TRAIN_PRODUCTS_CUBLAS;
}

void train_product_close(void)
{
	if (cublas.handle)
		cublas.destroy(cublas.handle);
	if (cublas.library)
		dlclose(cublas.library);
	cublas.library = cublas.handle = NULL;
}

const char *train_product_name(void)
{
	static char name[160];
	int version = 0;
	if (cublas.handle && cublas.version(cublas.handle, &version) == 0)
		snprintf(name, sizeof(name), "%s, cuBLAS %d.%d", train_chip_name(), version / 10000,
			 version / 100 % 100);
	else
		snprintf(name, sizeof(name), "%s, own products", train_chip_name());
	return name;
}

/*
 * cuBLAS has columns one after the other, which makes each matrix its transpose: c^T = b^T * a^T.
 */
static void by_cublas(train_real *c, int stride, train_real keep, train_real scale,
		      struct train_matrix a, struct train_matrix b)
{
	int result = cublas.sgemm(cublas.handle, b.transposed ? TRANSPOSED : PLAIN,
				  a.transposed ? TRANSPOSED : PLAIN, b.columns, a.rows, a.columns,
				  &scale, b.at, b.stride, a.at, a.stride, &keep, c, stride);
	if (result == 0)
		return;
	fprintf(stderr, "ring_train: --device cuda: cublasSgemm returns %d\n", result);
	train_chip_give_up();
}

void train_product_multiply(train_real *c, int stride, train_real keep, train_real scale,
			    struct train_matrix a, struct train_matrix b)
{
	if (a.rows == 0 || b.columns == 0)
		return;
	if (cublas.handle) {
		by_cublas(c, stride, keep, scale, a, b);
		return;
	}
	struct train_product_job job = {
		.c = c,
		.a = a.at,
		.b = b.at,
		.rows = a.rows,
		.columns = b.columns,
		.depth = a.columns,
		.stride = stride,
		.a_row = a.transposed ? 1 : a.stride,
		.a_step = a.transposed ? a.stride : 1,
		.b_step = b.transposed ? 1 : b.stride,
		.b_column = b.transposed ? b.stride : 1,
		.keep = keep,
		.scale = scale,
	};
	train_chip_launch(TRAIN_KERNEL_product, &job, (size_t)a.rows * (size_t)b.columns);
}
