/* SPDX-License-Identifier: MIT */
/*
 * A multi-layer perceptron for classification: linear layers with activations between them.
 *
 *	features [rows][inputs] -> [rows][width] -> .. -> [rows][width] -> logits [rows][outputs]
 */
#include "kind.h"

#include "device.h"

#include <math.h>
#include <stdlib.h>

struct layer {
	struct train_linear linear;
	train_real *in;  /* [rows][inputs] */
	train_real *out; /* [rows][outputs], before the activation; then the activation's slopes */
};

struct mlp {
	train_real *d_in, *d_out; /* [rows][widest], gradients between layers */
	const int32_t *targets;   /* of the last forward */
	struct layer layers[];    /* first to last */
};

static const char *complaint(const struct train_shape *shape)
{
	return shape->layers < 1    ? "an MLP has at least one layer"
	       : shape->inputs < 1  ? "an MLP has at least one input"
	       : shape->outputs < 2 ? "an MLP has at least two outputs"
	       : shape->width < 1   ? "an MLP is at least one wide"
				    : NULL;
}

static int most_tensors(const struct train_shape *shape)
{
	return 2 * shape->layers;
}

/* Initial parameters are drawn as in torch.nn.Linear. */
static struct train_linear add_linear(struct train_model *model, int number, int inputs, int outputs)
{
	double bound = 1 / sqrt(inputs);
	struct train_linear linear = {.inputs = inputs, .outputs = outputs, .weights = 1};
	linear.bias = train_tensor_add(model, outputs, 1, TRAIN_UNIFORM, bound, "layer %d bias",
				       number);
	linear.weight = train_tensor_add(model, outputs, inputs, TRAIN_UNIFORM, bound,
					 "layer %d weight", number);
	return linear;
}

static void add_layers(struct train_model *model, struct mlp *mlp)
{
	const struct train_shape *shape = &model->shape;
	for (int i = shape->layers - 1; i >= 0; i--)
		mlp->layers[i].linear = add_linear(model, i, i == 0 ? shape->inputs : shape->width,
						   i == shape->layers - 1 ? shape->outputs
									  : shape->width);
}

static int max_int(int a, int b)
{
	return a > b ? a : b;
}

static void place(const struct train_model *model, struct train_pieces *pieces)
{
	const struct train_shape *shape = &model->shape;
	struct mlp *mlp = model->work;
	int widest = max_int(shape->inputs, max_int(shape->width, shape->outputs));
	mlp->d_in = train_piece(pieces, model->rows, widest);
	mlp->d_out = train_piece(pieces, model->rows, widest);
	for (int i = 0; i < shape->layers; i++) {
		struct layer *layer = &mlp->layers[i];
		layer->in = train_piece(pieces, model->rows, layer->linear.inputs);
		layer->out = train_piece(pieces, model->rows, layer->linear.outputs);
	}
}

static int create(struct train_model *model)
{
	struct mlp *mlp = calloc(1, sizeof(*mlp) + model->shape.layers * sizeof(*mlp->layers));
	model->work = mlp;
	if (!mlp)
		return -1;
	add_layers(model, mlp);
	return 0;
}

static double forward(struct train_model *model, const struct train_batch *batch, long *counted)
{
	struct mlp *mlp = model->work;
	const struct train_shape *shape = &model->shape;
	const struct train_device *device = model->device;
	int rows = batch->rows, last = shape->layers - 1;

	device->features(mlp->layers[0].in, batch->features, (size_t)rows * shape->inputs);
	mlp->targets = device->bring(TRAIN_BRING_TARGETS, batch->targets,
				     rows * sizeof(*mlp->targets));
	for (int i = 0; i <= last; i++) {
		struct layer *layer = &mlp->layers[i];
		train_part_linear(model, &layer->linear, layer->out, layer->in, rows);
		if (i < last)
			device->activate(mlp->layers[i + 1].in, layer->out,
					 (size_t)rows * shape->width, shape->activation);
	}
	for (int i = 0; i < rows; i++)
		*counted += batch->targets[i] >= 0;
	return device->loss_forward(mlp->layers[last].out, mlp->targets, rows, shape->outputs);
}

static void backward(struct train_pass *pass, const struct train_batch *batch, train_real scale)
{
	struct mlp *mlp = pass->model->work;
	const struct train_shape *shape = &pass->model->shape;
	const struct train_device *device = pass->model->device;
	int rows = batch->rows, last = shape->layers - 1;
	train_real *d_out = mlp->layers[last].out;

	device->loss_backward(d_out, mlp->targets, scale, rows, shape->outputs);
	for (int i = last; i >= 0; i--) {
		struct layer *layer = &mlp->layers[i];
		train_real *d_in = d_out == mlp->d_in ? mlp->d_out : mlp->d_in;
		train_part_linear_backward(pass, &layer->linear, i > 0 ? d_in : NULL, d_out,
					   layer->in, rows);
		if (i > 0)
			device->scale_each(d_in, layer[-1].out, (size_t)rows * shape->width);
		d_out = d_in;
	}
}

const struct train_kind train_mlp = {
	.complaint = complaint,
	.most_tensors = most_tensors,
	.create = create,
	.place = place,
	.forward = forward,
	.backward = backward,
};
