/* SPDX-License-Identifier: MIT */
/*
 * Levenberg-Marquardt over the logarithms of the numbers, which keeps them positive. Large errors
 * have the weights of Huber 1964. Which rank is busiest, and whether its work or the wire takes
 * longer, depends on the numbers: the factors are counted again for each pass.
 */
#include "fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N RING_MODEL_COUNT
#define PASSES 4
#define ITERATIONS 300
#define LONGEST_STEP 2.0 /* of a logarithm */
#define BELIEF 0.01      /* weight of a number before the fit, beside that of a row, 1 */
#define FAR 0.25         /* larger errors, as logarithms, count by their size, not its square */
#define LEAST_US 1e-6    /* so that a prediction of 0 has a logarithm */
#define PS_OF_US 1e6

struct search {
	size_t count;
	const struct model_timed *timed;
	double (*parts)[N]; /* [count], what multiplies each number: microseconds */
	bool free[N];       /* those that are not 0 */
	double before[N];   /* logarithms */
};

double model_fit_predict(const struct ring_model *model, const struct model_timed *timed)
{
	struct ring_factors factors = ring_model_factors(model, &timed->params, timed->memory,
							 timed->turns);
	return (double)ring_model_time(model, &factors) / PS_OF_US;
}

static void count_parts(struct search *search, const struct ring_model *model)
{
	for (size_t k = 0; k < search->count; k++) {
		const struct model_timed *timed = &search->timed[k];
		struct ring_factors factors = ring_model_factors(model, &timed->params,
								 timed->memory, timed->turns);
		for (int i = 0; i < N; i++) {
			double of = ring_model_numbers[i].unit == RING_BYTES ? 1024 : 1;
			search->parts[k][i] = (double)factors.of[i] / of / PS_OF_US;
		}
	}
}

/* log(predicted / measured), and the shares of the prediction that are each number's. */
static double error_of(const struct search *search, size_t k, const double logs[N], double shares[N])
{
	double sum = LEAST_US;
	for (int i = 0; i < N; i++) {
		shares[i] = search->free[i] ? search->parts[k][i] * exp(logs[i]) : 0;
		sum += shares[i];
	}
	for (int i = 0; i < N; i++)
		shares[i] /= sum;
	return log(sum / search->timed[k].us);
}

static double cost_at(const struct search *search, const double logs[N])
{
	double sum = 0, shares[N];
	for (size_t k = 0; k < search->count; k++) {
		double error = fabs(error_of(search, k, logs, shares));
		sum += error < FAR ? error * error : 2 * FAR * error - FAR * FAR;
	}
	for (int i = 0; i < N; i++)
		sum += BELIEF * (logs[i] - search->before[i]) * (logs[i] - search->before[i]);
	return sum;
}

/* The normal equations. */
static void set_equations(const struct search *search, const double logs[N], double matrix[N][N],
			  double vector[N])
{
	memset(matrix, 0, sizeof(double[N][N]));
	for (int i = 0; i < N; i++) {
		matrix[i][i] = BELIEF;
		vector[i] = BELIEF * (search->before[i] - logs[i]);
	}
	for (size_t k = 0; k < search->count; k++) {
		double shares[N], error = error_of(search, k, logs, shares);
		double weight = fmin(1, FAR / fabs(error));
		for (int i = 0; i < N; i++) {
			vector[i] -= weight * shares[i] * error;
			for (int j = 0; j < N; j++)
				matrix[i][j] += weight * shares[i] * shares[j];
		}
	}
}

/* Gauss; the matrix is positive definite, so no pivot is zero. */
static void solve(double matrix[N][N], double vector[N])
{
	for (int k = 0; k < N; k++)
		for (int row = k + 1; row < N; row++) {
			double factor = matrix[row][k] / matrix[k][k];
			for (int m = k; m < N; m++)
				matrix[row][m] -= factor * matrix[k][m];
			vector[row] -= factor * vector[k];
		}
	for (int k = N - 1; k >= 0; k--) {
		for (int m = k + 1; m < N; m++)
			vector[k] -= matrix[k][m] * vector[m];
		vector[k] /= matrix[k][k];
	}
}

static void descend(const struct search *search, double logs[N])
{
	double damping = 1e-3, cost = cost_at(search, logs);
	for (int step = 0; step < ITERATIONS && damping < 1e9; step++) {
		double matrix[N][N], vector[N], tried[N];
		set_equations(search, logs, matrix, vector);
		for (int i = 0; i < N; i++)
			matrix[i][i] *= 1 + damping;
		solve(matrix, vector);
		for (int i = 0; i < N; i++)
			tried[i] = logs[i] + fmax(-LONGEST_STEP, fmin(LONGEST_STEP, vector[i]));
		double reached = cost_at(search, tried);
		if (reached < cost) {
			memcpy(logs, tried, sizeof(tried));
			cost = reached;
			damping /= 10;
		} else {
			damping *= 10;
		}
	}
}

/* A number is known if the rows leave less than half of the doubt there was about it. */
static bool is_known(const struct search *search, const double logs[N], int number)
{
	double matrix[N][N], vector[N];
	set_equations(search, logs, matrix, vector);
	memset(vector, 0, sizeof(vector));
	vector[number] = 1;
	solve(matrix, vector);
	return search->free[number] && vector[number] * BELIEF < 0.5;
}

static void begin_at(struct search *search, const struct ring_model *model)
{
	for (int i = 0; i < N; i++) {
		double number = (double)ring_model_get(model, i);
		search->free[i] = number > 0;
		search->before[i] = number > 0 ? log(number) : 0;
	}
}

static int compare_numbers(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;
	return (first > second) - (first < second);
}

static void judge(const struct search *search, double *errors, struct model_fit *fit)
{
	size_t count = search->count;
	for (size_t k = 0; k < count; k++) {
		const struct model_timed *timed = &search->timed[k];
		errors[k] = fabs(model_fit_predict(&fit->model, timed) / timed->us - 1);
	}
	qsort(errors, count, sizeof(*errors), compare_numbers);
	fit->median = (errors[count / 2] + errors[(count - 1) / 2]) / 2;
	fit->nine_of_ten = errors[(count - 1) * 9 / 10];
	fit->worst = errors[count - 1];
}

bool model_fit(const struct model_timed *timed, size_t count, const struct ring_model *model,
	       struct model_fit *fit)
{
	struct search search = {.count = count, .timed = timed};
	double logs[N], *errors = calloc(count + 1, sizeof(*errors));
	search.parts = calloc(count + 1, sizeof(*search.parts));
	bool done = errors && search.parts && count > 0;
	begin_at(&search, model);
	*fit = (struct model_fit){.model = *model};
	for (int pass = 0; pass < PASSES && done; pass++) {
		memcpy(logs, search.before, sizeof(logs));
		count_parts(&search, &fit->model);
		descend(&search, logs);
		for (int i = 0; i < N; i++)
			if (search.free[i])
				ring_model_set(&fit->model, i, (uint64_t)(exp(logs[i]) + 0.5));
	}
	for (int i = 0; i < N && done; i++)
		fit->known[i] = is_known(&search, logs, i);
	if (done)
		judge(&search, errors, fit);
	free(errors);
	free(search.parts);
	return done;
}
