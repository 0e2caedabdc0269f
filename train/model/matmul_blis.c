/* SPDX-License-Identifier: MIT */
/* Products of matrices by BLIS. */
#include "matmul.h"

#include "blas.h"

#include <blis.h>
#include <stdio.h>

int train_matmul_start(void)
{
	bli_thread_set_num_threads(1);
	return 0;
}

void train_matmul(train_real *c, int stride, train_real keep, train_real scale,
		  struct train_matrix a, struct train_matrix b)
{
	train_blas_matmul(cblas_sgemm, c, stride, keep, scale, a, b);
}

const char *train_matmul_name(void)
{
	static char name[96];
	int threads = (int)bli_thread_get_num_threads();
	snprintf(name, sizeof(name), "BLIS %s %s, %d thread%s", bli_info_get_version_str(),
		 bli_arch_string(bli_arch_query_id()), threads, threads == 1 ? "" : "s");
	return name;
}
