/* SPDX-License-Identifier: MIT */
/*
 * The numbers of a cost model that is linear in them: those by which predicted times differ least
 * from measured ones.
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
 * Weighted least squares of relative errors, none of the numbers below 0. A number that the times
 * hardly depend on stays near what it was; one that was 0 stays 0.
 *
 * model  in: what is believed so far; out: the numbers
 */
void perf_fit(const struct perf_timed *timed, size_t count, struct ring_model *model);

/* How far the model's prediction is off: relative, below 0 if it is too short. */
double perf_fit_error(const struct perf_timed *timed, const struct ring_model *model);

#endif
