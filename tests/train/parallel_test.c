/* SPDX-License-Identifier: MIT */
/*
 * What data parallelism is for: N ranks with a share of the batch each do what one process does with
 * all of it. Gradients of real models against one process; parameters over 50 steps, alike on all
 * ranks in every step, and of two ranks the same bits in every mode.
 *
 *	parallel_test [--seed N]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"
#include "train/step/ddp.h"
#include "train/model/hash.h"
#include "train/model/optimizer.h"

#define RANKS 4
#define ROWS 6 /* of a rank */
#define STEPS 50

static const struct train_shape shapes[] = {
	{.kind = TRAIN_MLP, .layers = 3, .width = 32, .inputs = 24, .outputs = 10},
	{.kind = TRAIN_GPT,
	 .layers = 2,
	 .width = 32,
	 .heads = 4,
	 .context = 12,
	 .vocabulary = 20,
	 .split_heads = true,
	 .biases = true},
	{.kind = TRAIN_GPT,
	 .layers = 2,
	 .width = 24,
	 .heads = 3,
	 .context = 12,
	 .vocabulary = 20,
	 .tied = true},
};
#define SHAPES (int)(sizeof(shapes) / sizeof(shapes[0]))

/* The same way of training, exchanged differently. */
static const struct train_ddp_options settings[] = {
	{.mode = TRAIN_DDP_NAIVE},
	{.mode = TRAIN_DDP_FLAT},
	{.mode = TRAIN_DDP_OVERLAP},
	{.mode = TRAIN_DDP_OVERLAP, .first_bucket_bytes = 9999, .bucket_bytes = 20000},
	{.mode = TRAIN_DDP_OVERLAP, .first_bucket_bytes = 1000, .bucket_bytes = 6000},
};
#define SETTINGS (int)(sizeof(settings) / sizeof(settings[0]))

/* ---- batches ---- */

/* Room for the batch of one process: of all ranks. */
struct examples {
	float features[RANKS * ROWS * 64];
	int32_t tokens[RANKS * ROWS * 64], targets[RANKS * ROWS * 64];
	struct train_batch batch;
};

/* Examples `first` .. of a step, whoever has them. */
static void fill(struct examples *examples, const struct train_shape *shape, uint64_t seed,
		 int step, int first, int rows)
{
	bool mlp = shape->kind == TRAIN_MLP;
	int inputs = mlp ? shape->inputs : shape->context;
	int targets = mlp ? 1 : shape->context, classes = mlp ? shape->outputs : shape->vocabulary;
	for (int row = 0; row < rows; row++) {
		uint64_t random = seed + (uint64_t)step * 1000 + (uint64_t)(first + row);
		for (int i = 0; i < inputs; i++) {
			uint64_t drawn = harness_random(&random);
			examples->features[row * inputs + i] = (float)(drawn >> 40) / (1 << 23) - 1;
			examples->tokens[row * inputs + i] = (int32_t)(drawn % (uint64_t)classes);
		}
		for (int i = 0; i < targets; i++)
			examples->targets[row * targets + i] = (int32_t)(harness_random(&random) %
									 (uint64_t)classes);
	}
	examples->batch = (struct train_batch){.rows = rows,
					       .features = examples->features,
					       .tokens = examples->tokens,
					       .targets = examples->targets};
}

/* Gradients of the mean loss over the batch are added to the model's. */
static void differentiate(struct train_model *model, const struct train_batch *batch,
			  train_ready *ready, void *context)
{
	long counted;
	train_model_forward(model, batch, &counted);
	train_model_backward(model, batch, 1.0f / (float)counted, ready, context);
}

/* ---- one step, against one process ---- */

static int check_same(struct harness_rank *self, const struct train_model *model,
		      const struct train_model *alone)
{
	float largest = 0, difference = 0;
	for (size_t i = 0; i < model->parameter_count; i++) {
		largest = fmaxf(largest, fabsf(alone->gradients[i]));
		difference = fmaxf(difference, fabsf(model->gradients[i] - alone->gradients[i]));
	}
	if (largest > 0 && difference <= 1e-5f * largest)
		return 0;
	return harness_fail(self, "gradients of up to %g differ by %g", (double)largest,
			    (double)difference);
}

static int compare_with_one(struct harness_rank *self, struct ring_comm *comm,
			    const struct train_shape *shape, uint64_t seed)
{
	static _Thread_local struct examples examples;
	struct train_model *model = NULL, *alone = NULL;
	struct train_ddp *ddp = NULL;
	struct train_ddp_times times;
	int all = self->size * ROWS;
	int bad = train_model_create(&model, shape, ROWS, seed + (uint64_t)self->rank) ||
		  train_model_create(&alone, shape, all, seed) ||
		  train_ddp_create(&ddp, comm, model, &settings[SETTINGS - 1]);
	if (!bad) {
		fill(&examples, shape, seed, 0, self->rank * ROWS, ROWS);
		differentiate(model, &examples.batch, train_ddp_ready, ddp);
		fill(&examples, shape, seed, 0, 0, all);
		differentiate(alone, &examples.batch, NULL, NULL);
		bad = train_ddp_finish(ddp, &times) || check_same(self, model, alone);
	}
	train_ddp_destroy(ddp);
	train_model_destroy(model);
	train_model_destroy(alone);
	return bad;
}

/* ---- many steps ---- */

static int take_steps(struct harness_rank *self, struct train_ddp *ddp, struct train_model *model,
		      struct train_optimizer *optimizer, uint64_t seed)
{
	static _Thread_local struct examples examples;
	struct train_ddp_times times;
	for (int step = 0; step < STEPS; step++) {
		fill(&examples, &model->shape, seed, step, self->rank * ROWS, ROWS);
		differentiate(model, &examples.batch, train_ddp_ready, ddp);
		if (train_ddp_finish(ddp, &times))
			return 1;
		train_optimizer_step(optimizer, model, 1, step);
		if (train_ddp_compare(ddp))
			return harness_fail(self, "step %d", step);
	}
	return 0;
}

/* *bits become those of the parameters after the last step. */
static int train(struct harness_rank *self, struct ring_comm *comm, const struct train_shape *shape,
		 const struct train_ddp_options *options, uint64_t seed, uint64_t *bits)
{
	struct train_optimizer_options recipe;
	struct train_optimizer optimizer = {0};
	struct train_model *model = NULL;
	struct train_ddp *ddp = NULL;
	train_optimizer_defaults(&recipe);
	recipe.steps = STEPS;
	recipe.clip = 1;
	int bad = train_model_create(&model, shape, ROWS, seed) ||
		  train_optimizer_create(&optimizer, &recipe, model) ||
		  train_ddp_create(&ddp, comm, model, options) ||
		  take_steps(self, ddp, model, &optimizer, seed);
	if (!bad)
		*bits = train_hash(model->parameters,
				   model->parameter_count * sizeof(*model->parameters));
	train_ddp_destroy(ddp);
	train_optimizer_destroy(&optimizer);
	train_model_destroy(model);
	return bad;
}

/* Of more than two ranks, bits depend on the caps: one mode that overlaps will do. */
static int train_in_all_modes(struct harness_rank *self, struct ring_comm *comm,
			      const struct train_shape *shape, uint64_t seed)
{
	uint64_t bits[SETTINGS];
	for (int s = self->size <= 2 ? 0 : SETTINGS - 1; s < SETTINGS; s++) {
		if (train(self, comm, shape, &settings[s], seed, &bits[s]))
			return harness_fail(self, "setting %d", s);
		if (self->size <= 2 && bits[s] != bits[0])
			return harness_fail(self, "setting %d ends with other bits", s);
	}
	return 0;
}

static int be_rank(struct harness_rank *self)
{
	uint64_t seed = *(const uint64_t *)self->context;
	struct ring_comm *comm;
	if (harness_join(self, NULL, &comm))
		return 1;
	int bad = 0;
	for (int s = 0; s < SHAPES && !bad; s++)
		if (compare_with_one(self, comm, &shapes[s], seed) ||
		    train_in_all_modes(self, comm, &shapes[s], seed))
			bad = harness_fail(self, "shape %d", s);
	ring_comm_destroy(comm);
	return bad;
}

int main(int argc, char **argv)
{
	uint64_t seed = harness_seed(argc, argv);
	for (int size = 1; size <= RANKS; size++)
		for (int w = 0; w < (size == 1 ? 1 : HARNESS_WORLDS); w++) {
			struct harness team = {.world = &harness_worlds[w],
					       .size = size,
					       .body = be_rank,
					       .context = &seed};
			snprintf(team.label, sizeof(team.label), "seed %llu",
				 (unsigned long long)seed);
			if (harness_run(&team))
				return 1;
		}
	printf("1 to %d ranks: gradients of one process; parameters alike over %d steps, of 2 "
	       "ranks in every mode\n",
	       RANKS, STEPS);
	return 0;
}
