/* SPDX-License-Identifier: MIT */
/* Creates models of any kind, draws their parameters, and passes batches to the kind. */
#include "model.h"

#include "device.h"
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

static void draw_tensor(const struct train_tensor *tensor, uint64_t stream, train_real *values)
{
	for (size_t j = 0; j < tensor->count; j++) {
		double value = tensor->draw == TRAIN_CONSTANT  ? 1
			       : tensor->draw == TRAIN_UNIFORM ? uniform(stream, j)
							       : normal(stream, j);
		values[j] = (train_real)(tensor->spread * value);
	}
}

/* returns 0; -1 without memory */
static int draw_parameters(struct train_model *model, uint64_t seed)
{
	train_real *drawn = calloc(model->parameter_count, sizeof(*drawn));
	if (!drawn)
		return -1;
	for (int i = 0; i < model->tensor_count; i++)
		draw_tensor(&model->tensors[i], train_random(seed, (uint64_t)i),
			    drawn + model->tensors[i].offset);
	model->device->write(model->parameters, drawn, model->parameter_count * sizeof(*drawn));
	free(drawn);
	return 0;
}

/* Room for as many rows as the largest batch has tokens. returns 0; -1 without memory */
static int allocate_layout(struct train_model *model)
{
	size_t most = (size_t)model->rows * (size_t)model->shape.context;
	struct train_sequences *layout = calloc(1, sizeof(*layout));
	model->layout = layout;
	if (!layout)
		return -1;
	layout->row = calloc(most, sizeof(*layout->row));
	layout->row_of = calloc(most, sizeof(*layout->row_of));
	return layout->row && layout->row_of ? 0 : -1;
}

static int allocate(struct train_model *model)
{
	const struct train_kind *kind = kinds[model->shape.kind];
	model->tensors = calloc(kind->most_tensors(&model->shape), sizeof(*model->tensors));
	if (!model->tensors || kind->create(model))
		return -1;
	struct train_pieces pieces = {0};
	kind->place(model, &pieces);
	const struct train_device *device = model->device;
	model->activations = device->alloc(pieces.used * sizeof(train_real));
	model->parameters = device->alloc(model->parameter_count * sizeof(train_real));
	model->gradients = device->alloc(model->parameter_count * sizeof(train_real));
	if (!model->activations || !model->parameters || !model->gradients)
		return -1;
	if (model->shape.kind == TRAIN_GPT && allocate_layout(model) != 0)
		return -1;
	kind->place(model, &(struct train_pieces){.base = model->activations});
	return 0;
}

int train_model_create(struct train_model **model, const struct train_shape *shape, int rows,
		       uint64_t seed)
{
	return train_model_create_on(&train_cpu, model, shape, rows, seed);
}

int train_model_create_on(const struct train_device *device, struct train_model **result,
			  const struct train_shape *shape, int rows, uint64_t seed)
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
		*model = (struct train_model){.shape = *shape, .rows = rows, .device = device};
	if (!model || allocate(model) || draw_parameters(model, seed)) {
		fprintf(stderr, "model: not enough memory for batches of %d rows\n", rows);
		train_model_destroy(model);
		return -1;
	}
	*result = model;
	return 0;
}

void train_model_destroy(struct train_model *model)
{
	if (!model)
		return;
	if (model->layout) {
		free(model->layout->row_of);
		free(model->layout->row);
	}
	free(model->layout);
	free(model->work);
	model->device->free(model->activations);
	model->device->free(model->gradients);
	model->device->free(model->parameters);
	free(model->tensors);
	free(model);
}

double train_model_forward(struct train_model *model, const struct train_batch *batch, long *counted)
{
	assert(batch->lengths || batch->rows <= model->rows);
	*counted = 0;
	return kinds[model->shape.kind]->forward(model, batch, counted);
}

void train_model_probabilities(const struct train_model *model, size_t token,
			       train_real *probabilities)
{
	const size_t vocabulary = (size_t)model->shape.vocabulary;
	assert(model->shape.kind == TRAIN_GPT);
	model->device->read(probabilities, train_gpt_probabilities(model) + token * vocabulary,
			    vocabulary * sizeof(*probabilities));
}

void train_model_backward(struct train_model *model, const struct train_batch *batch,
			  train_real scale, train_ready *ready, void *context)
{
	struct train_pass pass = {.model = model, .ready = ready, .context = context};
	kinds[model->shape.kind]->backward(&pass, batch, scale);
	assert(pass.finished == model->tensor_count);
}
