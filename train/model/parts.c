/* SPDX-License-Identifier: MIT */
/* Tensors, and the layers that own them. The arithmetic is in layers.c. */
#include "parts.h"

#include "device.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int train_tensor_add(struct train_model *model, int rows, int columns, enum train_draw draw,
		     double spread, const char *name, ...)
{
	struct train_tensor *tensor = &model->tensors[model->tensor_count];
	*tensor = (struct train_tensor){
		.rows = rows,
		.columns = columns,
		.offset = model->parameter_count,
		.count = (size_t)rows * columns,
		.decays = columns > 1,
		.draw = draw,
		.spread = spread,
	};
	va_list arguments;
	va_start(arguments, name);
	vsnprintf(tensor->name, sizeof(tensor->name), name, arguments);
	va_end(arguments);
	model->parameter_count += tensor->count;
	return model->tensor_count++;
}

train_real *train_parameters_of(const struct train_model *model, int tensor)
{
	return tensor < 0 ? NULL : model->parameters + model->tensors[tensor].offset;
}

train_real *train_gradients_of(const struct train_model *model, int tensor)
{
	return tensor < 0 ? NULL : model->gradients + model->tensors[tensor].offset;
}

void train_pass_finish(struct train_pass *pass, int tensor)
{
	assert(tensor == pass->finished);
	pass->finished++;
	if (pass->ready)
		pass->ready(pass->context, tensor);
}

void train_part_linear(const struct train_model *model, const struct train_linear *linear,
		       train_real *out, const train_real *in, int rows)
{
	model->device->linear_forward(out, in, train_parameters_of(model, linear->weight),
				      train_parameters_of(model, linear->bias), rows,
				      linear->inputs, linear->outputs);
}

void train_part_linear_backward(struct train_pass *pass, const struct train_linear *linear,
				train_real *d_in, const train_real *d_out, const train_real *in,
				int rows)
{
	const struct train_model *model = pass->model;
	int inputs = linear->inputs, outputs = linear->outputs;

	if (linear->bias >= 0) {
		model->device->linear_backward_bias(train_gradients_of(model, linear->bias), d_out,
						    rows, outputs);
		train_pass_finish(pass, linear->bias);
	}
	model->device->linear_backward_weight(train_gradients_of(model, linear->weight), d_out, in,
					      rows, inputs, outputs);
	for (int i = 0; i < linear->weights; i++)
		train_pass_finish(pass, linear->weight + i);
	if (d_in)
		model->device->linear_backward_in(d_in, d_out,
						  train_parameters_of(model, linear->weight), rows,
						  inputs, outputs);
}

void train_part_norm(const struct train_model *model, const struct train_norm *norm,
		     train_real *out, train_real *statistics, const train_real *in, int rows)
{
	model->device->norm_forward(out, statistics, in, train_parameters_of(model, norm->weight),
				    train_parameters_of(model, norm->bias), rows, norm->width);
}

void train_part_norm_backward(struct train_pass *pass, const struct train_norm *norm,
			      train_real *d_in, const train_real *d_out, const train_real *in,
			      const train_real *statistics, int rows)
{
	const struct train_model *model = pass->model;
	model->device->norm_backward(d_in, train_gradients_of(model, norm->weight),
				     train_gradients_of(model, norm->bias), d_out, in, statistics,
				     train_parameters_of(model, norm->weight), rows, norm->width);
	train_pass_finish(pass, norm->weight);
	if (norm->bias >= 0)
		train_pass_finish(pass, norm->bias);
}

train_real *train_piece(struct train_pieces *pieces, size_t rows, size_t columns)
{
	const size_t line = 64 / sizeof(train_real); /* pieces begin on cache lines */
	train_real *piece = pieces->base ? pieces->base + pieces->used : NULL;
	pieces->used += (rows * columns + line - 1) / line * line;
	return piece;
}
