/* SPDX-License-Identifier: MIT */
/* Optimizers and schedules against closed forms, in double. */
#include "train/model/optimizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double tolerance = 1e-12;

/* A bias, which does not decay, and a weight, which does. */
static struct train_model *make_model(void)
{
	const struct train_shape shape = {TRAIN_MLP, .layers = 1, .inputs = 3, .outputs = 5,
					  .width = 1};
	struct train_model *model;
	assert_int_equal(train_model_create(&model, &shape, 1, 1), 0);
	assert_int_equal(model->parameter_count, 20);
	for (size_t i = 0; i < model->parameter_count; i++)
		model->parameters[i] = 1 + 0.1 * (double)i;
	return model;
}

/* Differs in size and sign. */
static double gradient_of(size_t i)
{
	return (i % 2 ? -0.3 : 0.2) * (double)(1 + i);
}

static bool decays(size_t i)
{
	return i >= 5;
}

/* After `steps` steps of one gradient: parameter i */
typedef double closed_form(const struct train_optimizer_options *options, size_t i, int steps);

static void check(const struct train_optimizer_options *options, closed_form *expected)
{
	struct train_model *model = make_model();
	struct train_optimizer optimizer;
	assert_int_equal(train_optimizer_create(&optimizer, options, model), 0);
	for (int step = 1; step <= 20; step++) {
		for (size_t i = 0; i < model->parameter_count; i++)
			model->gradients[i] = gradient_of(i) * 4;
		train_optimizer_step(&optimizer, model, 0.25, step - 1);
		for (size_t i = 0; i < model->parameter_count; i++) {
			double found = model->parameters[i], right = expected(options, i, step);
			if (!(fabs(found - right) <= tolerance))
				fail_msg("step %d, parameter %zu: %.15g, not %.15g", step, i, found,
					 right);
		}
	}
	train_optimizer_destroy(&optimizer);
	train_model_destroy(model);
}

/* p -> p * (1 - rate * decay) - change, so often */
static double decayed(const struct train_optimizer_options *options, size_t i, int steps,
		      double (*change)(const struct train_optimizer_options *, size_t, int))
{
	double stays = decays(i) ? 1 - options->rate * options->decay : 1;
	double p = 1 + 0.1 * (double)i;
	for (int step = 1; step <= steps; step++)
		p = p * stays - change(options, i, step);
	return p;
}

/* Of a gradient that never changes, the corrected mean is itself and the corrected square its square. */
static double adamw_change(const struct train_optimizer_options *options, size_t i, int step)
{
	(void)step;
	double g = gradient_of(i);
	return options->rate * g / (fabs(g) + options->epsilon);
}

static double adamw_form(const struct train_optimizer_options *options, size_t i, int steps)
{
	return decayed(options, i, steps, adamw_change);
}

static void adamw(void **state)
{
	(void)state;
	struct train_optimizer_options options = {TRAIN_ADAMW,  .rate = 1e-3,   .least = 1,
						  .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
	check(&options, adamw_form);
	options.decay = 0.1;
	check(&options, adamw_form);
	options.epsilon = 0.5;
	check(&options, adamw_form);
}

/* The velocity is a geometric series. */
static double sgd_change(const struct train_optimizer_options *options, size_t i, int step)
{
	double m = options->momentum;
	return options->rate * gradient_of(i) * (1 - pow(m, step)) / (1 - m);
}

static double sgd_form(const struct train_optimizer_options *options, size_t i, int steps)
{
	return decayed(options, i, steps, sgd_change);
}

static void sgd(void **state)
{
	(void)state;
	struct train_optimizer_options options = {TRAIN_SGD, .rate = 1e-2, .least = 1};
	check(&options, sgd_form);
	options.momentum = 0.9;
	check(&options, sgd_form);
	options.decay = 0.01;
	check(&options, sgd_form);
}

static void momentum_alone_needs_memory(void **state)
{
	(void)state;
	struct train_model *model = make_model();
	struct train_optimizer_options options = {TRAIN_SGD, .rate = 1};
	struct train_optimizer optimizer;
	assert_int_equal(train_optimizer_create(&optimizer, &options, model), 0);
	assert_null(optimizer.moments);
	assert_int_equal(optimizer.count, 0);
	train_optimizer_destroy(&optimizer);
	options.momentum = 0.5;
	assert_int_equal(train_optimizer_create(&optimizer, &options, model), 0);
	assert_int_equal(optimizer.count, model->parameter_count);
	train_optimizer_destroy(&optimizer);
	train_model_destroy(model);
}

static void clipping(void **state)
{
	(void)state;
	struct train_model *model = make_model();
	struct train_optimizer_options options = {TRAIN_SGD, .rate = 1, .least = 1, .clip = 2};
	struct train_optimizer optimizer;
	assert_int_equal(train_optimizer_create(&optimizer, &options, model), 0);
	double squares = 0, was = model->parameters[7];
	for (size_t i = 0; i < model->parameter_count; i++) {
		model->gradients[i] = gradient_of(i);
		squares += gradient_of(i) * gradient_of(i);
	}
	double length = train_optimizer_step(&optimizer, model, 0.5, 0);
	assert_true(fabs(length - sqrt(squares) / 2) < tolerance);
	assert_true(fabs(was - model->parameters[7] - gradient_of(7) * 2 / sqrt(squares)) <
		    tolerance);
	for (size_t i = 0; i < model->parameter_count; i++)
		assert_true(model->gradients[i] == 0);
	/* As long as is allowed. */
	was = model->parameters[19];
	model->gradients[19] = 2;
	assert_true(train_optimizer_step(&optimizer, model, 1, 1) == 2);
	assert_true(model->parameters[19] == was - 2);
	train_optimizer_destroy(&optimizer);
	train_model_destroy(model);
}

static void schedule(void **state)
{
	(void)state;
	const struct train_optimizer_options options = {
		.rate = 1e-3, .least = 0.1, .warmup = 10, .steps = 210};
	for (long step = 0; step < 10; step++)
		assert_true(fabs(train_optimizer_rate(&options, step) -
				 1e-3 * (double)(step + 1) / 11) < 1e-18);
	for (long step = 10; step <= 210; step++) {
		double right = 1e-4 + 9e-4 * (1 + cos(acos(-1) * (double)(step - 10) / 200)) / 2;
		assert_true(fabs(train_optimizer_rate(&options, step) - right) < 1e-17);
	}
	assert_true(fabs(train_optimizer_rate(&options, 1000000) - 1e-4) < 1e-17);
}

static void without_schedule_the_rate_stays(void **state)
{
	(void)state;
	struct train_optimizer_options options;
	train_optimizer_defaults(&options);
	for (long step = 0; step < 1000000; step = 2 * step + 1)
		assert_true(train_optimizer_rate(&options, step) == options.rate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adamw),
		cmocka_unit_test(sgd),
		cmocka_unit_test(momentum_alone_needs_memory),
		cmocka_unit_test(clipping),
		cmocka_unit_test(schedule),
		cmocka_unit_test(without_schedule_the_rate_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
