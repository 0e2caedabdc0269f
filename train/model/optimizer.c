/* SPDX-License-Identifier: MIT */
/* AdamW (Loshchilov & Hutter 2019, algorithm 2) and SGD with momentum, as PyTorch has them. */
#include "optimizer.h"

#include "device.h"

#include <stdio.h>
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
			   const struct train_optimizer_options *options,
			   const struct train_model *model)
{
	const size_t parameters = model->parameter_count;
	size_t moments = options->kind == TRAIN_ADAMW ? 2 : options->momentum != 0;
	*optimizer = (struct train_optimizer){.options = *options,
					      .count = moments * parameters,
					      .device = model->device};
	if (optimizer->count == 0)
		return 0;
	optimizer->moments = model->device->alloc(optimizer->count * sizeof(train_real));
	if (optimizer->moments)
		return 0;
	fprintf(stderr, "optimizer: not enough memory for %zu parameters\n", parameters);
	return -1;
}

void train_optimizer_destroy(struct train_optimizer *optimizer)
{
	if (optimizer->moments)
		optimizer->device->free(optimizer->moments);
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

/* What all elements of a step of AdamW have in common. */
static void fill_adamw(const struct train_optimizer_options *options, struct train_slice *s,
		       double rate, long step)
{
	/* Running means begin at 0; these factors correct that. */
	const double grown1 = 1 - power(options->beta1, step + 1);
	const double grown2 = 1 - power(options->beta2, step + 1);
	s->beta1 = (train_real)options->beta1;
	s->beta2 = (train_real)options->beta2;
	s->rest1 = (train_real)(1 - options->beta1);
	s->rest2 = (train_real)(1 - options->beta2);
	s->epsilon = (train_real)options->epsilon;
	s->rate = (train_real)((train_real)rate / grown1);
	s->root = (train_real)(1 / sqrt(grown2));
}

static void step_tensor(const struct train_optimizer *optimizer, const struct train_model *model,
			const struct train_tensor *tensor, train_real scale, long step)
{
	const struct train_optimizer_options *options = &optimizer->options;
	const double rate = train_optimizer_rate(options, step);
	struct train_slice slice = {
		.parameters = model->parameters + tensor->offset,
		.gradients = model->gradients + tensor->offset,
		.count = tensor->count,
		.scale = scale,
		.rate = (train_real)rate,
		.momentum = (train_real)options->momentum,
		.decay = (train_real)(tensor->decays ? rate * options->decay : 0),
	};
	if (optimizer->count > 0)
		slice.first = optimizer->moments + tensor->offset;
	if (options->kind == TRAIN_ADAMW) {
		slice.second = slice.first + model->parameter_count;
		fill_adamw(options, &slice, rate, step);
		model->device->adamw(&slice);
	} else {
		model->device->sgd(&slice);
	}
}

double train_optimizer_step(struct train_optimizer *optimizer, struct train_model *model,
			    double scale, long step)
{
	const double clip = optimizer->options.clip;
	double length = scale *
			sqrt(model->device->squares(model->gradients, model->parameter_count));
	if (clip > 0 && length > clip)
		scale *= clip / length;
	for (int i = 0; i < model->tensor_count; i++)
		step_tensor(optimizer, model, &model->tensors[i], (train_real)scale, step);
	model->device->clear(model->gradients, model->parameter_count * sizeof(train_real));
	return length;
}
