/* SPDX-License-Identifier: MIT */
/*
 * The clock and quantiles.
 */
#include "samples.h"

#include <stdlib.h>
#include <time.h>

double perf_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

void perf_sort(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), compare_doubles);
}

double perf_quantile(const double *sorted, int count, double share)
{
	double at = share * (count - 1);
	int below = (int)at;
	int above = below + 1 < count ? below + 1 : below;
	return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}
