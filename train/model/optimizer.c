/* SPDX-License-Identifier: MIT */
/* AdamW (Loshchilov & Hutter 2019, algorithm 2) and SGD with momentum, as PyTorch has them. */
#include "optimizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>

void train_optimizer_defaults(struct train_optimizer_options *options)
{
	*options = (struct train_optimizer_options){
		.kind = TRAIN_ADAMW,
		.rate = 3e-4,
		.least = 1,
		.beta1 = 0.9,
		.beta2 = 0.999,
		.epsilon = 1e-8,
		.decay = 0.01,
	};
}

int train_optimizer_create(struct train_optimizer *optimizer,
			   const struct train_optimizer_options *options, size_t parameters)
{
	size_t moments = options->kind == TRAIN_ADAMW ? 2 : options->momentum != 0;
	*optimizer = (struct train_optimizer){.options = *options, .count = moments * parameters};
	if (optimizer->count == 0)
		return 0;
	optimizer->moments = calloc(optimizer->count, sizeof(train_real));
	if (optimizer->moments)
		return 0;
	fprintf(stderr, "optimizer: not enough memory for %zu parameters\n", parameters);
	return -1;
}

void train_optimizer_destroy(struct train_optimizer *optimizer)
{
	free(optimizer->moments);
	*optimizer = (struct train_optimizer){0};
}

/*
 * cos(pi * x) for x in 0..1, by the Taylor series of sin around 1/2, where it is antisymmetric:
 * after 13 terms the rest is below the precision of a double.
 */
static double cosine(double x)
{
	const double pi = 3.14159265358979323846;
	double angle = pi * (0.5 - x), term = angle, sum = angle;
	for (int i = 2; i < 28; i += 2) {
		term *= -angle * angle / (i * (i + 1));
		sum += term;
	}
	return sum;
}

double train_optimizer_rate(const struct train_optimizer_options *options, long step)
{
	if (step < options->warmup)
		return options->rate * (double)(step + 1) / (double)(options->warmup + 1);
	double done = 1;
	if (step < options->steps)
		done = (double)(step - options->warmup) / (double)(options->steps - options->warmup);
	double share = options->least + (1 - options->least) * (1 + cosine(done)) / 2;
	return options->rate * share;
}

static double power(double base, long exponent)
{
	double result = 1;
	for (; exponent; exponent >>= 1, base *= base)
		if (exponent & 1)
			result *= base;
	return result;
}

/* Eight sums side by side, so that vector instructions can add, in the same order on every CPU. */
static double length_of(const train_real *x, size_t count)
{
	double sums[8] = {0}, sum = 0;
	size_t whole = count / 8 * 8;
	for (size_t i = 0; i < whole; i += 8)
		for (int j = 0; j < 8; j++)
			sums[j] += (double)x[i + j] * (double)x[i + j];
	for (size_t i = whole; i < count; i++)
		sums[i - whole] += (double)x[i] * (double)x[i];
	for (int j = 0; j < 8; j++)
		sum += sums[j];
	return sqrt(sum);
}

/* One tensor's slices of the arrays, and what its elements have in common. */
struct slice {
	train_real *parameters, *first, *second; /* first, second: moments, if there are any */
	const train_real *gradients;
	size_t count;
	train_real scale;       /* of gradients */
	train_real rate, decay; /* decay: already times rate */
};

static void adamw(const struct train_optimizer_options *options, struct slice s, long step)
{
	const train_real beta1 = (train_real)options->beta1, beta2 = (train_real)options->beta2;
	const train_real rest1 = (train_real)(1 - options->beta1);
	const train_real rest2 = (train_real)(1 - options->beta2);
	const train_real epsilon = (train_real)options->epsilon;
	/* Running means begin at 0; these factors correct that. */
	const double grown1 = 1 - power(options->beta1, step + 1);
	const double grown2 = 1 - power(options->beta2, step + 1);
	const train_real rate = (train_real)(s.rate / grown1);
	const train_real root = (train_real)(1 / sqrt(grown2));

	for (size_t i = 0; i < s.count; i++) {
		train_real g = s.gradients[i] * s.scale;
		train_real mean = s.first[i] = beta1 * s.first[i] + rest1 * g;
		train_real square = s.second[i] = beta2 * s.second[i] + rest2 * g * g;
		train_real p = s.parameters[i] - s.decay * s.parameters[i];
		s.parameters[i] = p - rate * mean / (sqrt(square) * root + epsilon);
	}
}

static void sgd(const struct train_optimizer_options *options, struct slice s)
{
	const train_real momentum = (train_real)options->momentum;
	for (size_t i = 0; i < s.count; i++) {
		train_real change = s.gradients[i] * s.scale;
		if (s.first)
			change = s.first[i] = momentum * s.first[i] + change;
		s.parameters[i] = s.parameters[i] - s.decay * s.parameters[i] - s.rate * change;
	}
}

static void step_tensor(const struct train_optimizer *optimizer, const struct train_model *model,
			const struct train_tensor *tensor, train_real scale, long step)
{
	const struct train_optimizer_options *options = &optimizer->options;
	const double rate = train_optimizer_rate(options, step);
	struct slice slice = {
		.parameters = model->parameters + tensor->offset,
		.gradients = model->gradients + tensor->offset,
		.count = tensor->count,
		.scale = scale,
		.rate = (train_real)rate,
		.decay = (train_real)(tensor->decays ? rate * options->decay : 0),
	};
	if (optimizer->count > 0)
		slice.first = optimizer->moments + tensor->offset;
	if (options->kind == TRAIN_ADAMW) {
		slice.second = slice.first + model->parameter_count;
		adamw(options, slice, step);
	} else {
		sgd(options, slice);
	}
}

double train_optimizer_step(struct train_optimizer *optimizer, struct train_model *model,
			    double scale, long step)
{
	const double clip = optimizer->options.clip;
	double length = scale * length_of(model->gradients, model->parameter_count);
	if (clip > 0 && length > clip)
		scale *= clip / length;
	for (int i = 0; i < model->tensor_count; i++)
		step_tensor(optimizer, model, &model->tensors[i], (train_real)scale, step);
	memset(model->gradients, 0, model->parameter_count * sizeof(train_real));
	return length;
}
