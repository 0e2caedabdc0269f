/* SPDX-License-Identifier: MIT */
/*
 * The clock, batches and quantiles.
 */
#include "samples.h"

#include <stdlib.h>
#include <time.h>

#define BATCH_SECONDS 200e-6
#define BATCH_CALLS 1000

double perf_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int perf_batch_calls(double seconds)
{
	double calls = seconds > 0 ? BATCH_SECONDS / seconds : BATCH_CALLS;
	return calls < 1 ? 1 : calls > BATCH_CALLS ? BATCH_CALLS : (int)calls;
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
