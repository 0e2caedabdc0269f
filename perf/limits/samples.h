/* SPDX-License-Identifier: MIT */
/*
 * The clock and quantiles, for every measurement.
 */
#ifndef PERF_SAMPLES_H
#define PERF_SAMPLES_H

/* Seconds of the monotonic clock. */
double perf_now(void);

void perf_sort(double *values, int count);

/* The value below which `share` of the sorted values lie, interpolated; 0.5 is the median. */
double perf_quantile(const double *sorted, int count, double share);

#endif
