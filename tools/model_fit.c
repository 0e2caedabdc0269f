/* SPDX-License-Identifier: MIT */
/*
 * Levenberg-Marquardt over the logarithms of the unknowns, which keeps them positive. Four at most,
 * so the linear algebra is a few loops.
 */
#include "model_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model_compare.h"

enum { OVERHEAD, HOPS, SENT, REDUCED, COLUMNS };

#define OCTAVES 64
#define ITERATIONS 500
#define LONGEST_STEP 2.0 /* of a logarithm */

/* Limits are measured too, so a prediction may be this far below one. */
#define LIMIT_TOLERANCE 0.1

/* Of a logarithm, to see how a prediction moves with it. */
#define NUDGE 1e-6

struct problem {
	size_t count;
	const struct model_sample *samples;
	struct model_work *work;
	double (*x)[COLUMNS]; /* what each unknown is multiplied by, where nothing overlaps */
	double *seconds, *weight;
	double fixed[COLUMNS]; /* unknowns that are known ...      */
	bool is_free[COLUMNS]; /* ... unless they are to be found  */
};

const char *model_origin_name(enum model_origin origin)
{
	static const char *const names[] = {"fitted", "measured", "within"};
	return names[origin];
}

/* As src/choose/tuning.c, but for AMD's CPUs, as samples do not tell whose they are of. */
double model_chunk_of(const char *transport, int ranks)
{
	if (strcmp(transport, "tcp") != 0)
		return MODEL_CHUNK;
	return ranks == 2 ? 512 << 10 : 256 << 10;
}

/* ---- setting up --------------------------------------------------------------------------- */

static int octave_of(double bytes)
{
	int octave = bytes < 1 ? 0 : ilogb(bytes) + 1;
	return octave < OCTAVES ? octave : OCTAVES - 1;
}

static void set_weights(struct problem *problem, const struct model_sample *samples)
{
	int members[OCTAVES] = {0};
	for (size_t i = 0; i < problem->count; i++)
		members[octave_of(samples[i].bytes)]++;
	for (size_t i = 0; i < problem->count; i++)
		problem->weight[i] = 1.0 / members[octave_of(samples[i].bytes)];
}

static void set_columns(struct problem *problem, const struct model_sample *samples)
{
	for (size_t i = 0; i < problem->count; i++) {
		const struct model_sample *sample = &samples[i];
		struct model_work work = model_work_of(sample->kind, sample->ranks, sample->bytes,
						       sample->chunk);
		double row[COLUMNS] = {1, work.hops, work.sent, work.reduced};
		memcpy(problem->x[i], row, sizeof(row));
		problem->work[i] = work;
		problem->seconds[i] = sample->seconds;
	}
}

static bool make_problem(struct problem *problem, const struct model_sample *samples, size_t count)
{
	*problem = (struct problem){.count = count, .samples = samples};
	problem->work = calloc(count, sizeof(*problem->work));
	problem->x = calloc(count, sizeof(*problem->x));
	problem->seconds = calloc(count, sizeof(double));
	problem->weight = calloc(count, sizeof(double));
	if (!problem->work || !problem->x || !problem->seconds || !problem->weight)
		return false;
	set_weights(problem, samples);
	set_columns(problem, samples);
	return true;
}

static void free_problem(struct problem *problem)
{
	free(problem->work);
	free(problem->x);
	free(problem->seconds);
	free(problem->weight);
}

/* Whether column a is nowhere, or everywhere the same multiple of column b. */
static bool follows(const struct problem *problem, int a, int b)
{
	double ratio = -1;
	for (size_t i = 0; i < problem->count; i++) {
		double of_a = problem->x[i][a], of_b = problem->x[i][b];
		if (of_a == 0 && of_b == 0)
			continue;
		if (of_b == 0)
			return false;
		if (ratio >= 0 && fabs(of_a / of_b - ratio) > 0.01 * ratio)
			return false;
		ratio = of_a / of_b;
	}
	return true;
}

/* A rate from elsewhere, in seconds per byte; 0 if that is more than a whole sample took. */
static double believable(const struct problem *problem, double rate)
{
	for (size_t i = 0; i < problem->count; i++)
		if (problem->x[i][REDUCED] >= rate * problem->seconds[i])
			return 0;
	return 1 / rate;
}

static double sum_of(const struct problem *problem, int column)
{
	double sum = 0;
	for (size_t i = 0; i < problem->count; i++)
		sum += problem->x[i][column];
	return sum;
}

static enum model_origin free_or_known(struct problem *problem, int column, int other, double known)
{
	problem->is_free[column] = !follows(problem, column, other);
	problem->fixed[column] = problem->is_free[column] ? 0 : known;
	if (problem->is_free[column])
		return MODEL_FITTED;
	return known > 0 ? MODEL_MEASURED : MODEL_WITHIN;
}

/* ---- least squares ------------------------------------------------------------------------ */

static double inverse(double seconds_per_byte)
{
	return seconds_per_byte > 0 ? 1 / seconds_per_byte : INFINITY;
}

static struct model_machine machine_of(const struct problem *problem, const double logs[COLUMNS])
{
	double value[COLUMNS];
	for (int k = 0; k < COLUMNS; k++)
		value[k] = problem->is_free[k] ? exp(logs[k]) : problem->fixed[k];
	return (struct model_machine){
		.link = {.latency = value[HOPS], .bandwidth = inverse(value[SENT])},
		.reduce_rate = inverse(value[REDUCED]),
		.overhead = value[OVERHEAD],
	};
}

static double predict(const struct problem *problem, size_t i, const double logs[COLUMNS])
{
	struct model_machine machine = machine_of(problem, logs);
	return model_time(&machine, problem->samples[i].ranks, &problem->work[i]);
}

/* How the logarithm of a prediction moves with each unknown's. */
static void set_slopes(const struct problem *problem, size_t i, const double logs[COLUMNS],
		       double slope[COLUMNS])
{
	double nudged[COLUMNS], before = log(predict(problem, i, logs));
	for (int k = 0; k < COLUMNS; k++) {
		memcpy(nudged, logs, sizeof(nudged));
		nudged[k] += NUDGE;
		slope[k] = problem->is_free[k] ? (log(predict(problem, i, nudged)) - before) / NUDGE
					       : 0;
	}
}

static double cost(const struct problem *problem, const double logs[COLUMNS])
{
	double sum = 0;
	for (size_t i = 0; i < problem->count; i++) {
		double error = log(predict(problem, i, logs) / problem->seconds[i]);
		sum += problem->weight[i] * error * error;
	}
	return sum;
}

/* Each unknown alone explains half of the sample in which it weighs most. */
static void guess(const struct problem *problem, double logs[COLUMNS])
{
	for (int k = 0; k < COLUMNS; k++) {
		double most = 0, seconds = 1;
		for (size_t i = 0; i < problem->count; i++) {
			double share = problem->x[i][k] / problem->seconds[i];
			if (share > most) {
				most = share;
				seconds = problem->seconds[i] / problem->x[i][k];
			}
		}
		logs[k] = log(seconds / 2);
	}
}

/* The normal equations, of the identity where an unknown is fixed. */
static void normal_equations(const struct problem *problem, const double logs[COLUMNS],
			     double matrix[COLUMNS][COLUMNS], double vector[COLUMNS])
{
	memset(matrix, 0, sizeof(double[COLUMNS][COLUMNS]));
	memset(vector, 0, sizeof(double[COLUMNS]));
	for (size_t i = 0; i < problem->count; i++) {
		double slope[COLUMNS];
		double error = log(predict(problem, i, logs) / problem->seconds[i]);
		set_slopes(problem, i, logs, slope);
		for (int k = 0; k < COLUMNS; k++) {
			vector[k] -= problem->weight[i] * slope[k] * error;
			for (int m = 0; m < COLUMNS; m++)
				matrix[k][m] += problem->weight[i] * slope[k] * slope[m];
		}
	}
	for (int k = 0; k < COLUMNS; k++)
		if (!problem->is_free[k])
			matrix[k][k] = 1;
}

/* Gauss; the damped matrix is positive definite, so no pivot is zero. */
static void solve(double matrix[COLUMNS][COLUMNS], double vector[COLUMNS])
{
	for (int k = 0; k < COLUMNS; k++)
		for (int row = k + 1; row < COLUMNS; row++) {
			double factor = matrix[row][k] / matrix[k][k];
			for (int m = k; m < COLUMNS; m++)
				matrix[row][m] -= factor * matrix[k][m];
			vector[row] -= factor * vector[k];
		}
	for (int k = COLUMNS - 1; k >= 0; k--) {
		for (int m = k + 1; m < COLUMNS; m++)
			vector[k] -= matrix[k][m] * vector[m];
		vector[k] /= matrix[k][k];
	}
}

static void take_step(const struct problem *problem, const double logs[COLUMNS], double damping,
		      double tried[COLUMNS])
{
	double matrix[COLUMNS][COLUMNS], step[COLUMNS];
	normal_equations(problem, logs, matrix, step);
	for (int k = 0; k < COLUMNS; k++)
		matrix[k][k] += damping * (matrix[k][k] + 1e-9);
	solve(matrix, step);
	for (int k = 0; k < COLUMNS; k++)
		tried[k] = logs[k] + fmax(-LONGEST_STEP, fmin(LONGEST_STEP, step[k]));
}

static void minimise(const struct problem *problem, double logs[COLUMNS])
{
	double best = cost(problem, logs), damping = 1e-3;
	for (int i = 0; i < ITERATIONS && damping < 1e12; i++) {
		double tried[COLUMNS];
		take_step(problem, logs, damping, tried);
		double reached = cost(problem, tried);
		if (reached < best) {
			memcpy(logs, tried, sizeof(tried));
			best = reached;
			damping /= 10;
		} else {
			damping *= 10;
		}
	}
}

/* ---- the result --------------------------------------------------------------------------- */

double model_fit_predict(const struct model_fit *fit, const struct model_sample *sample)
{
	struct model_work work = model_work_of(sample->kind, sample->ranks, sample->bytes,
					       sample->chunk);
	return model_time(&fit->machine, sample->ranks, &work);
}

static void describe(struct model_fit *fit, const struct model_sample *samples, size_t count)
{
	memcpy(fit->transport, samples[0].transport, sizeof(fit->transport));
	fit->ranks = samples[0].ranks;
	fit->samples = count;
	fit->least_bytes = fit->most_bytes = samples[0].bytes;
	fit->machine.chunk = samples[0].chunk;
	int most_ranks = samples[0].ranks;
	for (size_t i = 1; i < count; i++) {
		fit->least_bytes = fmin(fit->least_bytes, samples[i].bytes);
		fit->most_bytes = fmax(fit->most_bytes, samples[i].bytes);
		if (samples[i].ranks != fit->ranks)
			fit->ranks = 0;
		if (samples[i].ranks > most_ranks) {
			most_ranks = samples[i].ranks;
			fit->machine.chunk = samples[i].chunk;
		}
	}
}

static bool set_residuals(struct model_fit *fit, const struct model_sample *samples, size_t count)
{
	double *errors = calloc(count, sizeof(*errors));
	if (!errors)
		return false;
	for (size_t i = 0; i < count; i++)
		errors[i] = model_fit_predict(fit, &samples[i]) / samples[i].seconds - 1;
	struct model_errors summary = model_errors_of(errors, count);
	fit->median = summary.median;
	fit->worst = summary.worst;
	free(errors);
	return true;
}

/* The index of a sample that the fit says takes less time than it can; count if there is none. */
static size_t find_too_fast(const struct model_fit *fit, const struct model_sample *samples,
			    size_t count)
{
	for (size_t i = 0; i < count; i++) {
		/* A limit that the measurement itself was below is none. */
		double limit = fmin(samples[i].limit, samples[i].seconds);
		if (model_fit_predict(fit, &samples[i]) < limit * (1 - LIMIT_TOLERANCE))
			return i;
	}
	return count;
}

enum model_fit_result model_fit(const struct model_sample *samples, size_t count,
				double reduce_rate, struct model_fit *fit, size_t *where)
{
	struct problem problem;
	double logs[COLUMNS];
	*fit = (struct model_fit){0};
	if (count < 3)
		return MODEL_FIT_TOO_FEW;
	if (!make_problem(&problem, samples, count)) {
		free_problem(&problem);
		return MODEL_FIT_NO_MEMORY;
	}
	double known = reduce_rate > 0 && sum_of(&problem, REDUCED) > 0
			       ? believable(&problem, reduce_rate)
			       : 0;
	fit->overhead_from = free_or_known(&problem, OVERHEAD, HOPS, 0);
	fit->reduce_from = free_or_known(&problem, REDUCED, SENT, known);
	problem.is_free[HOPS] = true;
	problem.is_free[SENT] = sum_of(&problem, SENT) > 0;
	guess(&problem, logs);
	minimise(&problem, logs);
	fit->machine = machine_of(&problem, logs);
	free_problem(&problem);
	describe(fit, samples, count);
	if (!set_residuals(fit, samples, count))
		return MODEL_FIT_NO_MEMORY;
	*where = find_too_fast(fit, samples, count);
	return *where < count ? MODEL_FIT_TOO_FAST : MODEL_FIT_OK;
}
