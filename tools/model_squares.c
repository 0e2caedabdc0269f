/* SPDX-License-Identifier: MIT */
/*
 * Levenberg-Marquardt over the logarithms of the unknowns, which keeps them positive. There are at
 * most four, so the linear algebra is a few loops. Large errors have the weights of Huber 1964.
 */
#include "model_squares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model_fit.h"

#define OCTAVES 64
#define ITERATIONS 500
#define LONGEST_STEP 2.0 /* of a logarithm */

/* The step of a logarithm for numerical derivatives. */
#define NUDGE 1e-6

/* Larger errors, as logarithms, count by their size, not by its square. */
#define FAR 0.25

/* ---- setting up --------------------------------------------------------------------------- */

static int octave_of(double bytes)
{
	int octave = bytes < 1 ? 0 : ilogb(bytes) + 1;
	return octave < OCTAVES ? octave : OCTAVES - 1;
}

static void set_weights(struct model_squares *squares)
{
	int members[OCTAVES] = {0};
	for (size_t i = 0; i < squares->count; i++)
		members[octave_of(squares->samples[i].bytes)]++;
	for (size_t i = 0; i < squares->count; i++)
		squares->weight[i] = 1.0 / members[octave_of(squares->samples[i].bytes)];
	for (int i = 0; i < OCTAVES; i++)
		squares->octaves += members[i] > 0;
}

static void set_columns(struct model_squares *squares)
{
	for (size_t i = 0; i < squares->count; i++) {
		const struct model_sample *sample = &squares->samples[i];
		struct model_work work = model_work_of(sample->kind, sample->ranks, sample->bytes,
						       sample->chunk);
		double row[MODEL_UNKNOWNS] = {1, work.hops, work.sent, work.reduced};
		memcpy(squares->x[i], row, sizeof(row));
		squares->work[i] = work;
	}
}

bool model_squares_make(struct model_squares *squares, const struct model_sample *samples,
			size_t count)
{
	*squares = (struct model_squares){.count = count, .samples = samples};
	squares->work = calloc(count, sizeof(*squares->work));
	squares->x = calloc(count, sizeof(*squares->x));
	squares->weight = calloc(count, sizeof(double));
	if (!squares->work || !squares->x || !squares->weight)
		return false;
	set_weights(squares);
	set_columns(squares);
	return true;
}

void model_squares_free(struct model_squares *squares)
{
	free(squares->work);
	free(squares->x);
	free(squares->weight);
	*squares = (struct model_squares){0};
}

double model_squares_sum(const struct model_squares *squares, enum model_unknown unknown)
{
	double sum = 0;
	for (size_t i = 0; i < squares->count; i++)
		sum += squares->x[i][unknown];
	return sum;
}

/* ---- errors ------------------------------------------------------------------------------- */

static double inverse(double seconds_per_byte)
{
	return seconds_per_byte > 0 ? 1 / seconds_per_byte : INFINITY;
}

static struct model_machine machine_at(const struct model_squares *squares,
				       const double logs[MODEL_UNKNOWNS])
{
	double value[MODEL_UNKNOWNS];
	for (int k = 0; k < MODEL_UNKNOWNS; k++)
		value[k] = squares->is_free[k] ? exp(logs[k]) : squares->fixed[k];
	return (struct model_machine){
		.link = {.latency = value[MODEL_HOPS], .bandwidth = inverse(value[MODEL_SENT])},
		.reduce_rate = inverse(value[MODEL_REDUCED]),
		.overhead = value[MODEL_OVERHEAD],
	};
}

struct model_machine model_squares_machine(const struct model_squares *squares)
{
	return machine_at(squares, squares->logs);
}

/* With fixed unknowns a prediction may be 0; its logarithm must still be a number. */
static double error_of(const struct model_squares *squares, size_t i,
		       const double logs[MODEL_UNKNOWNS])
{
	const struct model_sample *sample = &squares->samples[i];
	struct model_machine machine = machine_at(squares, logs);
	return log(fmax(model_time(&machine, sample->ranks, &squares->work[i]), 1e-12) /
		   sample->seconds);
}

static double cost_at(const struct model_squares *squares, const double logs[MODEL_UNKNOWNS])
{
	double sum = 0;
	for (size_t i = 0; i < squares->count; i++) {
		double error = fabs(error_of(squares, i, logs));
		sum += squares->weight[i] *
		       (error < FAR ? error * error : 2 * FAR * error - FAR * FAR);
	}
	return sum;
}

double model_squares_error(const struct model_squares *squares)
{
	return sqrt(squares->cost / (double)squares->octaves);
}

/* ---- least squares ------------------------------------------------------------------------ */

/* The derivatives of a prediction's logarithm by the logarithms of the unknowns. */
static void set_slopes(const struct model_squares *squares, size_t i,
		       const double logs[MODEL_UNKNOWNS], double error, double slope[MODEL_UNKNOWNS])
{
	double nudged[MODEL_UNKNOWNS];
	for (int k = 0; k < MODEL_UNKNOWNS; k++) {
		memcpy(nudged, logs, sizeof(nudged));
		nudged[k] += NUDGE;
		slope[k] = squares->is_free[k] ? (error_of(squares, i, nudged) - error) / NUDGE : 0;
	}
}

/* The normal equations; a fixed unknown has the row of the identity. */
static void normal_equations(const struct model_squares *squares, const double logs[MODEL_UNKNOWNS],
			     double matrix[MODEL_UNKNOWNS][MODEL_UNKNOWNS],
			     double vector[MODEL_UNKNOWNS])
{
	memset(matrix, 0, sizeof(double[MODEL_UNKNOWNS][MODEL_UNKNOWNS]));
	memset(vector, 0, sizeof(double[MODEL_UNKNOWNS]));
	for (size_t i = 0; i < squares->count; i++) {
		double slope[MODEL_UNKNOWNS], error = error_of(squares, i, logs);
		double weight = squares->weight[i] * fmin(1, FAR / fabs(error));
		set_slopes(squares, i, logs, error, slope);
		for (int k = 0; k < MODEL_UNKNOWNS; k++) {
			vector[k] -= weight * slope[k] * error;
			for (int m = 0; m < MODEL_UNKNOWNS; m++)
				matrix[k][m] += weight * slope[k] * slope[m];
		}
	}
	for (int k = 0; k < MODEL_UNKNOWNS; k++)
		if (!squares->is_free[k])
			matrix[k][k] = 1;
}

/* Gauss; the damped matrix is positive definite, so no pivot is zero. */
static void solve(double matrix[MODEL_UNKNOWNS][MODEL_UNKNOWNS], double vector[MODEL_UNKNOWNS])
{
	for (int k = 0; k < MODEL_UNKNOWNS; k++)
		for (int row = k + 1; row < MODEL_UNKNOWNS; row++) {
			double factor = matrix[row][k] / matrix[k][k];
			for (int m = k; m < MODEL_UNKNOWNS; m++)
				matrix[row][m] -= factor * matrix[k][m];
			vector[row] -= factor * vector[k];
		}
	for (int k = MODEL_UNKNOWNS - 1; k >= 0; k--) {
		for (int m = k + 1; m < MODEL_UNKNOWNS; m++)
			vector[k] -= matrix[k][m] * vector[m];
		vector[k] /= matrix[k][k];
	}
}

static void take_step(const struct model_squares *squares, const double logs[MODEL_UNKNOWNS],
		      double damping, double tried[MODEL_UNKNOWNS])
{
	double matrix[MODEL_UNKNOWNS][MODEL_UNKNOWNS], step[MODEL_UNKNOWNS];
	normal_equations(squares, logs, matrix, step);
	for (int k = 0; k < MODEL_UNKNOWNS; k++)
		matrix[k][k] += damping * (matrix[k][k] + 1e-9);
	solve(matrix, step);
	for (int k = 0; k < MODEL_UNKNOWNS; k++)
		tried[k] = logs[k] + fmax(-LONGEST_STEP, fmin(LONGEST_STEP, step[k]));
}

/* Begins with unknowns that each explain half of the sample in which they weigh most. */
static void guess(const struct model_squares *squares, double logs[MODEL_UNKNOWNS])
{
	for (int k = 0; k < MODEL_UNKNOWNS; k++) {
		double most = 0, seconds = 1;
		for (size_t i = 0; i < squares->count; i++) {
			double measured = squares->samples[i].seconds;
			double share = squares->x[i][k] / measured;
			if (share > most) {
				most = share;
				seconds = measured / squares->x[i][k];
			}
		}
		logs[k] = log(seconds / 2);
	}
}

void model_squares_solve(struct model_squares *squares)
{
	double damping = 1e-3;
	guess(squares, squares->logs);
	squares->cost = cost_at(squares, squares->logs);
	for (int i = 0; i < ITERATIONS && damping < 1e12; i++) {
		double tried[MODEL_UNKNOWNS];
		take_step(squares, squares->logs, damping, tried);
		double reached = cost_at(squares, tried);
		if (reached < squares->cost) {
			memcpy(squares->logs, tried, sizeof(tried));
			squares->cost = reached;
			damping /= 10;
		} else {
			damping *= 10;
		}
	}
}
