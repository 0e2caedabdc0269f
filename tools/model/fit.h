/* SPDX-License-Identifier: MIT */
/*
 * Finds the numbers of the cost model (choose/model.h) from measured times, and says which of them
 * the times determine.
 */
#ifndef MODEL_FIT_H
#define MODEL_FIT_H

#include <stddef.h>

#include "choose/model.h"

/* A call that was timed. */
struct model_timed {
	struct ring_plan_params params;
	enum ring_memory memory;
	int turns; /* ranks that share a CPU, in 1024ths */
	double us;
};

struct model_fit {
	struct ring_model model;
	bool known[RING_MODEL_COUNT];      /* by the times; the others are nearly what they were */
	double median, nine_of_ten, worst; /* |predicted / measured - 1| */
};

/*
 * Least squares of log(predicted / measured), so that 10 % counts the same at 1 KiB and at 1 GiB.
 * Large errors count less, so that a row that other programs slowed down does not spoil the fit.
 * What a number was before counts as much as a row of which it is a tenth of the time; 0 stays 0.
 *
 * model     the numbers before, such as the library's
 * returns   false without memory
 */
bool model_fit(const struct model_timed *timed, size_t count, const struct ring_model *model,
	       struct model_fit *fit);

/* Microseconds. */
double model_fit_predict(const struct ring_model *model, const struct model_timed *timed);

#endif
