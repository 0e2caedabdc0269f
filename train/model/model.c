/* SPDX-License-Identifier: MIT */
/* Creates models of any kind, draws their parameters, and passes batches to the kind. */
#include "model.h"

#include "kind.h"
#include "matmul.h"
#include "random.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static const struct train_kind *const kinds[] = {
	[TRAIN_MLP] = &train_mlp,
	[TRAIN_GPT] = &train_gpt,
};

/* -1 .. 1, and exact in a float */
static double uniform(uint64_t stream, uint64_t index)
{
	return (double)(train_random(stream, index) >> 40) * 0x1p-23 - 1;
}

/*
 * The sum of twelve uniform numbers, of 16 bits each, minus its mean: nearly normal, with variance
 * 1. It uses no function of libm, so it is the same on every machine.
 */
static double normal(uint64_t stream, uint64_t index)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < 3; i++)
		for (uint64_t bits = train_random(stream, 3 * index + i); bits; bits >>= 16)
			sum += bits & 0xffff;
	return ((double)sum - 12 * 32767.5) * 0x1p-16;
}

static void draw_parameters(struct train_model *model, uint64_t seed)
{
	for (int i = 0; i < model->tensor_count; i++) {
		const struct train_tensor *tensor = &model->tensors[i];
		train_real *values = train_parameters_of(model, i);
		uint64_t stream = train_random(seed, (uint64_t)i);
		for (size_t j = 0; j < tensor->count; j++) {
			double value = tensor->draw == TRAIN_CONSTANT  ? 1
				       : tensor->draw == TRAIN_UNIFORM ? uniform(stream, j)
								       : normal(stream, j);
			values[j] = (train_real)(tensor->spread * value);
		}
	}
}

static int allocate(struct train_model *model)
{
	const struct train_kind *kind = kinds[model->shape.kind];
	model->tensors = calloc(kind->most_tensors(&model->shape), sizeof(*model->tensors));
	if (!model->tensors || kind->create(model))
		return -1;
	struct train_pieces pieces = {0};
	kind->place(model, &pieces);
	model->activations = train_pieces_allocate(&pieces);
	model->parameters = calloc(model->parameter_count, sizeof(train_real));
	model->gradients = calloc(model->parameter_count, sizeof(train_real));
	if (!model->activations || !model->parameters || !model->gradients)
		return -1;
	kind->place(model, &(struct train_pieces){.base = model->activations});
	return 0;
}

int train_model_create(struct train_model **result, const struct train_shape *shape, int rows,
		       uint64_t seed)
{
	const char *complaint = rows < 1 ? "a batch has at least one row"
					 : kinds[shape->kind]->complaint(shape);
	if (complaint) {
		fprintf(stderr, "model: %s\n", complaint);
		return -1;
	}
	if (train_matmul_start())
		return -1;
	struct train_model *model = calloc(1, sizeof(*model));
	if (model)
		*model = (struct train_model){.shape = *shape, .rows = rows};
	if (!model || allocate(model)) {
		fprintf(stderr, "model: not enough memory for batches of %d rows\n", rows);
		train_model_destroy(model);
		return -1;
	}
	draw_parameters(model, seed);
	*result = model;
	return 0;
}

void train_model_destroy(struct train_model *model)
{
	if (!model)
		return;
	free(model->work);
	free(model->activations);
	free(model->gradients);
	free(model->parameters);
	free(model->tensors);
	free(model);
}

double train_model_forward(struct train_model *model, const struct train_batch *batch, long *counted)
{
	assert(batch->lengths || batch->rows <= model->rows);
	*counted = 0;
	return kinds[model->shape.kind]->forward(model, batch, counted);
}

void train_model_backward(struct train_model *model, const struct train_batch *batch,
			  train_real scale, train_ready *ready, void *context)
{
	struct train_pass pass = {.model = model, .ready = ready, .context = context};
	kinds[model->shape.kind]->backward(&pass, batch, scale);
	assert(pass.finished == model->tensor_count);
}
