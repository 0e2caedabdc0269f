/* SPDX-License-Identifier: MIT */
/*
 * Fits the numbers of a cost model to measured times. The model is linear in its numbers.
 */
#ifndef PERF_FIT_H
#define PERF_FIT_H

#include <stddef.h>

#include "choose/model.h"

/* A call that was timed. */
struct perf_timed {
	struct ring_factors factors;
	double us;
};

/*
 * Weighted least squares of relative errors; no number falls below 0. A number that the times
 * hardly depend on stays near its value; 0 stays 0.
 *
 * model  in: the numbers so far; out: the fitted ones
 */
void perf_fit(const struct perf_timed *timed, size_t count, struct ring_model *model);

/* The relative error of the model's prediction, below 0 if it is too short. */
double perf_fit_error(const struct perf_timed *timed, const struct ring_model *model);

#endif
