/* SPDX-License-Identifier: MIT */
/*
 * Least squares of log(predicted / measured), so that 10 % counts the same at 1 KiB and at 1 GiB. Every
 * octave of sizes weighs the same, however many of its sizes were measured, and what is far off counts
 * by its distance only: a row that somebody else's work slowed down does not bend all others.
 */
#ifndef MODEL_SQUARES_H
#define MODEL_SQUARES_H

#include <stdbool.h>
#include <stddef.h>

#include "model_cost.h"

/* The unknowns, by what each is multiplied by. */
enum model_unknown { MODEL_OVERHEAD, MODEL_HOPS, MODEL_SENT, MODEL_REDUCED, MODEL_UNKNOWNS };

struct model_sample;

struct model_squares {
	size_t count;
	const struct model_sample *samples;
	struct model_work *work;
	double (*x)[MODEL_UNKNOWNS]; /* what each unknown is multiplied by, where nothing overlaps */
	double *weight;
	size_t octaves; /* that have samples; the sum of the weights */

	bool is_free[MODEL_UNKNOWNS];
	double fixed[MODEL_UNKNOWNS]; /* seconds, or per byte, where it is not free */
	double logs[MODEL_UNKNOWNS];  /* of the free ones, once they are found */
	double cost;
};

/* samples[count] stay the caller's, and must outlive it. returns false without memory; free it either way */
bool model_squares_make(struct model_squares *squares, const struct model_sample *samples,
			size_t count);
void model_squares_free(struct model_squares *squares);

/* Finds the free unknowns: sets logs and cost. */
void model_squares_solve(struct model_squares *squares);

/* The mean square error, as a share of what was measured. */
double model_squares_error(const struct model_squares *squares);

double model_squares_sum(const struct model_squares *squares, enum model_unknown unknown);

/* The machine that has the unknowns that were found. */
struct model_machine model_squares_machine(const struct model_squares *squares);

#endif
