/* SPDX-License-Identifier: MIT */
/*
 * What every measurement does with times: reads the clock and sorts samples. Nothing here knows what is
 * measured.
 */
#ifndef PERF_SAMPLES_H
#define PERF_SAMPLES_H

/* Seconds of a clock that only grows. */
double perf_now(void);

void perf_sort(double *values, int count);

/* The value below which `share` of the sorted values lie, interpolated; 0.5 is the median. */
double perf_quantile(const double *sorted, int count, double share);

#endif
