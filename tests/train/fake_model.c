/* SPDX-License-Identifier: MIT */
/* The fake model. */
#include "fake_model.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/harness.h"
#include "train/model/device.h"

/* Vectors, matrices, and now and then a large one. */
static void shape_tensor(struct train_tensor *tensor, int number, uint64_t *random)
{
	snprintf(tensor->name, sizeof(tensor->name), "tensor %d", number);
	tensor->rows = 1 + (int)(harness_random(random) % 40);
	tensor->columns = number % 2 ? 1 + (int)(harness_random(random) % 40) : 1;
	if (number % 7 == 5)
		tensor->columns *= 10;
	tensor->count = (size_t)tensor->rows * (size_t)tensor->columns;
}

struct train_model *fake_model_create(int tensors, uint64_t seed)
{
	struct train_model *model = calloc(1, sizeof(*model));
	if (!model)
		return NULL;
	model->tensor_count = tensors;
	model->tensors = calloc((size_t)tensors, sizeof(*model->tensors));
	for (int i = 0; model->tensors && i < tensors; i++) {
		shape_tensor(&model->tensors[i], i, &seed);
		model->tensors[i].offset = model->parameter_count;
		model->parameter_count += model->tensors[i].count;
	}
	model->device = &train_cpu;
	model->parameters = calloc(model->parameter_count, sizeof(*model->parameters));
	model->gradients = calloc(model->parameter_count, sizeof(*model->gradients));
	if (!model->tensors || !model->parameters || !model->gradients) {
		fake_model_destroy(model);
		return NULL;
	}
	for (size_t i = 0; i < model->parameter_count; i++)
		model->parameters[i] = (float)(harness_random(&seed) >> 40);
	return model;
}

void fake_model_destroy(struct train_model *model)
{
	if (!model)
		return;
	free(model->tensors);
	free(model->parameters);
	free(model->gradients);
	free(model);
}

float fake_gradient(int rank, int step, int rows, size_t i)
{
	uint64_t state = ((uint64_t)i * 64 + (uint64_t)rank) * 64 + (uint64_t)step;
	float sum = 0;
	for (int row = 0; row < rows; row++)
		sum += (float)((double)(harness_random(&state) >> 40) / (1 << 23) - 1);
	return sum;
}

void fake_backward(struct train_model *model, int rank, int step, int rows, train_ready *ready,
		   void *context)
{
	for (int t = 0; t < model->tensor_count; t++) {
		const struct train_tensor *tensor = &model->tensors[t];
		for (size_t i = tensor->offset; i < tensor->offset + tensor->count; i++)
			model->gradients[i] += fake_gradient(rank, step, rows, i);
		if (t % 3 != 1 || t == model->tensor_count - 1)
			ready(context, t);
	}
}
