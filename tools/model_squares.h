/* SPDX-License-Identifier: MIT */
/*
 * Least squares of log(predicted / measured), so that 10 % counts the same at 1 KiB and at 1 GiB.
 * Every octave of sizes has the same weight, however many sizes in it were measured. Large errors
 * count less, so that a row that other programs slowed down does not spoil the fit.
 */
#ifndef MODEL_SQUARES_H
#define MODEL_SQUARES_H

#include <stdbool.h>
#include <stddef.h>

#include "model_cost.h"

/* The unknowns, named for their factors. */
enum model_unknown { MODEL_OVERHEAD, MODEL_HOPS, MODEL_SENT, MODEL_REDUCED, MODEL_UNKNOWNS };

struct model_sample;

struct model_squares {
	size_t count;
	const struct model_sample *samples;
	struct model_work *work;
	double (*x)[MODEL_UNKNOWNS]; /* the factor of each unknown, if nothing overlaps */
	double *weight;
	size_t octaves; /* octaves with samples; the sum of the weights */

	bool is_free[MODEL_UNKNOWNS];
	double fixed[MODEL_UNKNOWNS]; /* values of the others: seconds, or per byte */
	double logs[MODEL_UNKNOWNS];  /* logarithms of the free ones, once they are found */
	double cost;
};

/*
 * samples[count] stay the caller's, and must outlive it. returns false without memory; free it
 * either way
 */
bool model_squares_make(struct model_squares *squares, const struct model_sample *samples,
			size_t count);
void model_squares_free(struct model_squares *squares);

/* Finds the free unknowns: sets logs and cost. */
void model_squares_solve(struct model_squares *squares);

/* The mean square of relative errors. */
double model_squares_error(const struct model_squares *squares);

double model_squares_sum(const struct model_squares *squares, enum model_unknown unknown);

/* The machine with the unknowns that were found. */
struct model_machine model_squares_machine(const struct model_squares *squares);

#endif
