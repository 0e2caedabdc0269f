/* SPDX-License-Identifier: MIT */
/* Coordinate descent, with less weight for times that are far off; see fit.h. */
#include "fit.h"

#include <math.h>
#include <stdlib.h>

#define PS_OF_US 1e6
#define ROUNDS 8    /* of weights */
#define SWEEPS 200  /* of all numbers */
#define BELIEF 0.1  /* weight of what a number was before, beside that of a time, 1 */
#define NEAR_BY 0.3 /* relative errors up to this have the same weight */

/* The share of a measured time that the model gives to number i. */
static double share(const struct perf_timed *timed, const struct ring_model *model, int i)
{
	double of = ring_model_numbers[i].unit == RING_BYTES ? 1024 : 1;
	return (double)timed->factors.of[i] / of * (double)ring_model_get(model, i) / PS_OF_US /
	       timed->us;
}

double perf_fit_error(const struct perf_timed *timed, const struct ring_model *model)
{
	double predicted = 0;
	for (int i = 0; i < RING_MODEL_COUNT; i++)
		predicted += share(timed, model, i);
	return predicted - 1;
}

/* The numbers found so far, as multiples of those before the fit. */
struct search {
	const struct perf_timed *timed;
	size_t count;
	const struct ring_model *believed;
	double multiples[RING_MODEL_COUNT];
	double *errors, *weights; /* [count], of predictions; errors are relative */
};

static double error_of(const struct search *search, size_t k)
{
	double predicted = 0;
	for (int i = 0; i < RING_MODEL_COUNT; i++)
		predicted += search->multiples[i] * share(&search->timed[k], search->believed, i);
	return predicted - 1;
}

/* Sets one number to its best value while the others stay. */
static void improve(struct search *search, int i)
{
	double slope = BELIEF * (search->multiples[i] - 1), curvature = BELIEF;
	for (size_t k = 0; k < search->count; k++) {
		double part = share(&search->timed[k], search->believed, i);
		slope += search->weights[k] * search->errors[k] * part;
		curvature += search->weights[k] * part * part;
	}
	double before = search->multiples[i], after = before - slope / curvature;
	search->multiples[i] = after > 0 ? after : 0;
	for (size_t k = 0; k < search->count; k++)
		search->errors[k] += (search->multiples[i] - before) *
				     share(&search->timed[k], search->believed, i);
}

static void weigh(struct search *search)
{
	for (size_t k = 0; k < search->count; k++) {
		search->errors[k] = error_of(search, k);
		search->weights[k] = 1 / fmax(fabs(search->errors[k]), NEAR_BY);
	}
}

void perf_fit(const struct perf_timed *timed, size_t count, struct ring_model *model)
{
	struct ring_model believed = *model;
	struct search search = {.timed = timed, .count = count, .believed = &believed};
	search.errors = calloc(count + 1, sizeof(double));
	search.weights = calloc(count + 1, sizeof(double));
	for (int i = 0; i < RING_MODEL_COUNT; i++)
		search.multiples[i] = 1;
	for (int round = 0; search.errors && search.weights && round < ROUNDS; round++) {
		weigh(&search);
		for (int sweep = 0; sweep < SWEEPS; sweep++)
			for (int i = 0; i < RING_MODEL_COUNT; i++)
				improve(&search, i);
	}
	for (int i = 0; i < RING_MODEL_COUNT; i++) {
		double number = search.multiples[i] * (double)ring_model_get(&believed, i);
		ring_model_set(model, i, (uint64_t)(number + 0.5));
	}
	free(search.errors);
	free(search.weights);
}
