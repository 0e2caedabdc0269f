/* SPDX-License-Identifier: MIT */
/*
 * Decides which unknowns the samples determine, and whether the result is plausible. An unknown is
 * fitted only if the fit is clearly worse without it: by an F test, and by more than models are
 * usually off.
 */
#include "model_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model_compare.h"
#include "model_squares.h"

/* About the 95 % quantile of the F distribution for one more unknown. */
#define CLEARLY 4.0

/* A fit that is off by less needs no further unknown. */
#define NOISE 0.01

/* Limits are measured, too, so a prediction may be this far below one. */
#define LIMIT_TOLERANCE 0.1
#define WIDEST_TOLERANCE 0.25

/*
 * This share of samples may be below their limits, as limits of small calls are single
 * measurements.
 */
#define BELOW_LIMIT_MOST 0.25

const char *model_origin_name(enum model_origin origin)
{
	static const char *const names[] = {"fitted", "measured", "within"};
	return names[origin];
}

/* As in src/choose/tuning.c. */
double model_chunk_of(const char *transport, int ranks)
{
	if (strcmp(transport, "tcp") != 0 && strcmp(transport, "verbs") != 0)
		return MODEL_CHUNK;
	return ranks <= 4 ? 512 << 10 : 256 << 10;
}

/* ---- which unknowns there are ------------------------------------------------------------- */

static bool is_clearly_worse(const struct model_squares *without, const struct model_squares *with)
{
	int unknowns = 0;
	for (int k = 0; k < MODEL_UNKNOWNS; k++)
		unknowns += with->is_free[k];
	double freedom = fmax(1, (double)with->octaves - unknowns);
	return model_squares_error(without) > NOISE &&
	       without->cost > with->cost * (1 + CLEARLY / freedom);
}

/* Fits the samples with one unknown less. returns whether the fit is as good */
static bool can_do_without(const struct model_squares *squares, enum model_unknown unknown,
			   double fixed, struct model_squares *without)
{
	*without = *squares;
	without->is_free[unknown] = false;
	without->fixed[unknown] = fixed;
	model_squares_solve(without);
	return !is_clearly_worse(without, squares);
}

/* A rate that is known otherwise, in seconds per byte; 0 if by it a sample would take too long. */
static double believable(const struct model_squares *squares, double rate)
{
	for (size_t i = 0; rate > 0 && i < squares->count; i++)
		if (squares->x[i][MODEL_REDUCED] >= rate * squares->samples[i].seconds)
			return 0;
	return rate > 0 ? 1 / rate : 0;
}

/*
 * Keeps an unknown that the samples determine: the fit is clearly worse without it, and also
 * without the other one, which could stand for it. Else takes the known value, or 0.
 */
static enum model_origin settle(struct model_squares *squares, enum model_unknown unknown,
				enum model_unknown other, double known)
{
	struct model_squares without, rest;
	if (!squares->is_free[unknown])
		return MODEL_WITHIN;
	if (known > 0 && can_do_without(squares, unknown, known, &without)) {
		*squares = without;
		return MODEL_MEASURED;
	}
	if (!can_do_without(squares, unknown, 0, &without) &&
	    !can_do_without(squares, other, 0, &rest))
		return MODEL_FITTED;
	*squares = without;
	return MODEL_WITHIN;
}

static enum model_fit_result find_unknowns(struct model_squares *squares, double reduce_rate,
					   struct model_fit *fit)
{
	struct model_squares without;
	squares->is_free[MODEL_OVERHEAD] = squares->is_free[MODEL_HOPS] = true;
	squares->is_free[MODEL_SENT] = model_squares_sum(squares, MODEL_SENT) > 0;
	squares->is_free[MODEL_REDUCED] = model_squares_sum(squares, MODEL_REDUCED) > 0;
	model_squares_solve(squares);
	fit->overhead_from = settle(squares, MODEL_OVERHEAD, MODEL_HOPS, 0);
	fit->reduce_from = settle(squares, MODEL_REDUCED, MODEL_SENT,
				  believable(squares, reduce_rate));
	if (!squares->is_free[MODEL_SENT] || can_do_without(squares, MODEL_SENT, 0, &without))
		return MODEL_FIT_NO_BANDWIDTH;
	if (!squares->is_free[MODEL_OVERHEAD] && can_do_without(squares, MODEL_HOPS, 0, &without))
		return MODEL_FIT_NO_LATENCY;
	return MODEL_FIT_OK;
}

/* ---- what was found ----------------------------------------------------------------------- */

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

/* Whether too many samples are predicted faster than their limits; *where is one of them. */
static bool is_too_fast(const struct model_fit *fit, const struct model_sample *samples,
			size_t count, size_t *where)
{
	size_t below = 0;
	for (size_t i = 0; i < count; i++) {
		/* A limit that the measurement itself beat is none. */
		double limit = fmin(samples[i].limit, samples[i].seconds);
		if (model_fit_predict(fit, &samples[i]) < limit * (1 - LIMIT_TOLERANCE)) {
			below++;
			*where = i;
		}
	}
	return (double)below > BELOW_LIMIT_MOST * (double)count;
}

static enum model_fit_result judge(const struct model_fit *fit, const struct model_sample *samples,
				   size_t count, double widest, size_t *where)
{
	if (widest > 0 && fit->machine.link.bandwidth > widest * (1 + WIDEST_TOLERANCE))
		return MODEL_FIT_TOO_WIDE;
	return is_too_fast(fit, samples, count, where) ? MODEL_FIT_TOO_FAST : MODEL_FIT_OK;
}

enum model_fit_result model_fit(const struct model_sample *samples, size_t count,
				const struct model_known *known, struct model_fit *fit,
				size_t *where)
{
	struct model_squares squares;
	*fit = (struct model_fit){0};
	*where = 0;
	if (count < 3)
		return MODEL_FIT_TOO_FEW;
	if (!model_squares_make(&squares, samples, count)) {
		model_squares_free(&squares);
		return MODEL_FIT_NO_MEMORY;
	}
	enum model_fit_result result = find_unknowns(&squares, known->reduce_rate, fit);
	fit->machine = model_squares_machine(&squares);
	model_squares_free(&squares);
	describe(fit, samples, count);
	if (!set_residuals(fit, samples, count))
		return MODEL_FIT_NO_MEMORY;
	if (fit->median > MODEL_FIT_MEDIAN_MOST)
		return MODEL_FIT_OFF;
	return result == MODEL_FIT_OK ? judge(fit, samples, count, known->widest, where) : result;
}
