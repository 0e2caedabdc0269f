/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices by OpenBLAS. When it is loaded it chooses its kernels by a list of CPU
 * models. For a model newer than itself it takes kernels of 2004, which are five times slower. So
 * this file first names the right kernels in the environment, and then loads the library.
 */
#include "matmul.h"

#include "blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
	train_sgemm *sgemm;
	__typeof__(openblas_get_config) *get_config;
	__typeof__(openblas_get_corename) *get_corename;
	__typeof__(openblas_get_num_threads) *get_num_threads;
} openblas;

/* OpenBLAS's name for the newest kernels that this CPU can run; NULL: leave the choice to it. */
static const char *best_kernels(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return "SkylakeX";
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return "Haswell";
#endif
	return NULL;
}

int train_matmul_start(void)
{
	if (openblas.sgemm)
		return 0;
	const char *kernels = best_kernels();
	if (kernels)
		setenv("OPENBLAS_CORETYPE", kernels, 0);
	setenv("OPENBLAS_NUM_THREADS", "1", 1);

	void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "matrix products: %s\n", dlerror());
		return -1;
	}
	*(void **)&openblas.get_config = dlsym(library, "openblas_get_config");
	*(void **)&openblas.get_corename = dlsym(library, "openblas_get_corename");
	*(void **)&openblas.get_num_threads = dlsym(library, "openblas_get_num_threads");
	*(void **)&openblas.sgemm = dlsym(library, "cblas_sgemm");
	if (openblas.get_config && openblas.get_corename && openblas.get_num_threads &&
	    openblas.sgemm)
		return 0;
	fprintf(stderr, "matrix products: libopenblas.so.0 lacks cblas_sgemm or openblas_get_..\n");
	openblas.sgemm = NULL;
	dlclose(library);
	return -1;
}

void train_matmul(train_real *c, int stride, train_real keep, train_real scale,
		  struct train_matrix a, struct train_matrix b)
{
	train_blas_matmul(openblas.sgemm, c, stride, keep, scale, a, b);
}

const char *train_matmul_name(void)
{
	static char name[96];
	const char *config = openblas.get_config(); /* "OpenBLAS 0.3.21 DYNAMIC_ARCH .." */
	int version = 0;
	sscanf(config, "OpenBLAS %*s%n", &version);
	int threads = openblas.get_num_threads();
	snprintf(name, sizeof(name), "%.*s %s, %d thread%s", version, config,
		 openblas.get_corename(), threads, threads == 1 ? "" : "s");
	return name;
}
