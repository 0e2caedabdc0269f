/* SPDX-License-Identifier: MIT */
/*
 * A character-level GPT. With n tokens, at most rows * context, and C = width:
 *
 *	tokens [n] -> embedding [n][C] -> blocks [n][C] -> norm [n][C]
 *		-> head: logits [n][vocabulary]
 *
 *	block   x + projection(attention(qkv(norm(x)))), then x + down(activation(up(norm(x))))
 *	                                 [n][3C]                              [n][4C]
 */
#include "kind.h"

#include "device.h"
#include "layers.h"
#include "random.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DEVIATION 0.02 /* of initial weights */

/* A block's layers, and what its forward keeps. */
struct block {
	struct train_norm norm1, norm2;
	struct train_linear qkv, projection, up, down;

	train_real *in;                    /* [n][C] */
	train_real *normed1, *statistics1; /* [n][C], [n][2] */
	train_real *queries_keys_values;   /* [n][3C] */
	train_real *probabilities;         /* of each row [heads][length][length] */
	train_real *attended;              /* [n][C] */
	train_real *middle;                /* [n][C], after attention */
	train_real *normed2, *statistics2; /* [n][C], [n][2] */
	train_real *slopes;                /* [n][4C], first the output of up */
	train_real *activated;             /* [n][4C] */
};

struct gpt {
	struct train_attention attention;
	struct train_norm final_norm;
	struct train_linear head;
	int positions, tokens;        /* tensors */
	const int32_t *ids, *targets; /* of the last forward, where the device finds them */

	/* pieces of the model's activations, like those of the blocks */
	train_real *out; /* [n][C], of the last block */
	train_real *normed, *statistics;
	train_real *logits;     /* [n][vocabulary]; then probabilities; then d_logits */
	train_real *scratch;    /* of attention, see device.h */
	train_real *branch;     /* [n][C], added to the residual next; or its gradient */
	train_real *d_residual; /* [n][C] */
	train_real *d_normed;   /* [n][C] */
	train_real *d_wide;     /* [n][4C] */
	struct block blocks[];  /* first to last */
};

/* ---- tensors --------------------------------------------------------------------------------- */

static const char *complaint(const struct train_shape *shape)
{
	return shape->layers < 1                              ? "a GPT has at least one block"
	       : shape->context < 1                           ? "a GPT sees at least one token"
	       : shape->vocabulary < 2                        ? "a GPT knows at least two tokens"
	       : shape->heads < 1                             ? "a GPT has at least one head"
	       : shape->width < 1                             ? "a GPT is at least one wide"
	       : shape->width % shape->heads                  ? "the heads do not divide the width"
	       : shape->tied && shape->biases                 ? "a tied head has no bias"
	       : !(shape->dropout >= 0 && shape->dropout < 1) ? "dropout is from 0 to below 1"
							      : NULL;
}

static int most_tensors(const struct train_shape *shape)
{
	const int norms = 4, linears = 6; /* and the heads */
	return shape->layers * (norms + linears + 3 * shape->heads) + 6;
}

static struct train_linear add_linear(struct train_model *model, const char *name, int inputs,
				      int outputs, double deviation)
{
	struct train_linear linear = {inputs, outputs, .bias = -1, .weights = 1};
	if (model->shape.biases)
		linear.bias = train_tensor_add(model, outputs, 1, TRAIN_CONSTANT, 0, "%s bias",
					       name);
	linear.weight = train_tensor_add(model, outputs, inputs, TRAIN_NORMAL, deviation,
					 "%s weight", name);
	return linear;
}

/*
 * One product computes keys, queries and values. With split heads each of these has its own
 * tensors, [width / heads][width]; they lie one after the other in ready order, so together they
 * are also the matrix of that product.
 */
static struct train_linear add_qkv(struct train_model *model, int block)
{
	static const char *const parts[] = {"value", "query", "key"};
	const struct train_shape *shape = &model->shape;
	int width = shape->width;

	struct train_linear qkv = {width, 3 * width, .bias = -1, .weight = model->tensor_count};
	if (!shape->split_heads) {
		char name[32];
		snprintf(name, sizeof(name), "block %d attention", block);
		return add_linear(model, name, width, 3 * width, DEVIATION);
	}
	for (int head = shape->heads - 1; head >= 0; head--)
		for (int i = 0; i < 3; i++, qkv.weights++)
			train_tensor_add(model, width / shape->heads, width, TRAIN_NORMAL, DEVIATION,
					 "block %d head %d %s weight", block, head, parts[i]);
	return qkv;
}

static struct train_norm add_norm(struct train_model *model, const char *name)
{
	struct train_norm norm = {.width = model->shape.width, .bias = -1};
	norm.weight = train_tensor_add(model, norm.width, 1, TRAIN_CONSTANT, 1, "%s weight", name);
	if (model->shape.biases)
		norm.bias = train_tensor_add(model, norm.width, 1, TRAIN_CONSTANT, 0, "%s bias",
					     name);
	return norm;
}

/*
 * As in GPT-2, projections into the residual begin smaller, so that the sum of all blocks does not
 * grow.
 */
static void add_block(struct train_model *model, struct block *block, int number)
{
	int width = model->shape.width;
	double smaller = DEVIATION / sqrt(2.0 * model->shape.layers);
	char name[5][32];
	static const char *const layers[] = {"feed-forward 2", "feed-forward 1", "norm 2",
					     "projection", "norm 1"};
	for (int i = 0; i < 5; i++)
		snprintf(name[i], sizeof(name[i]), "block %d %s", number, layers[i]);

	block->down = add_linear(model, name[0], 4 * width, width, smaller);
	block->up = add_linear(model, name[1], width, 4 * width, DEVIATION);
	block->norm2 = add_norm(model, name[2]);
	block->projection = add_linear(model, name[3], width, width, smaller);
	block->qkv = add_qkv(model, number);
	block->norm1 = add_norm(model, name[4]);
}

static void add_tensors(struct train_model *model, struct gpt *gpt)
{
	const struct train_shape *shape = &model->shape;
	if (!shape->tied)
		gpt->head = add_linear(model, "head", shape->width, shape->vocabulary, DEVIATION);
	gpt->final_norm = add_norm(model, "final norm");
	for (int i = shape->layers - 1; i >= 0; i--)
		add_block(model, &gpt->blocks[i], i);
	gpt->positions = train_tensor_add(model, shape->context, shape->width, TRAIN_NORMAL,
					  DEVIATION, "position embedding");
	gpt->tokens = train_tensor_add(model, shape->vocabulary, shape->width, TRAIN_NORMAL,
				       DEVIATION, "token embedding");
	if (shape->tied)
		gpt->head = (struct train_linear){shape->width, shape->vocabulary, .bias = -1,
						  .weight = gpt->tokens, .weights = 0};
}

/* ---- activations ----------------------------------------------------------------------------- */

static void place_block(const struct train_model *model, struct block *block,
			struct train_pieces *pieces)
{
	const struct train_shape *shape = &model->shape;
	size_t n = (size_t)model->rows * shape->context, width = shape->width;

	block->in = train_piece(pieces, n, width);
	block->normed1 = train_piece(pieces, n, width);
	block->statistics1 = train_piece(pieces, n, 2);
	block->queries_keys_values = train_piece(pieces, n, 3 * width);
	block->probabilities = train_piece(pieces, n * shape->heads, shape->context);
	block->attended = train_piece(pieces, n, width);
	block->middle = train_piece(pieces, n, width);
	block->normed2 = train_piece(pieces, n, width);
	block->statistics2 = train_piece(pieces, n, 2);
	block->slopes = train_piece(pieces, n, 4 * width);
	block->activated = train_piece(pieces, n, 4 * width);
}

static void place(const struct train_model *model, struct train_pieces *pieces)
{
	const struct train_shape *shape = &model->shape;
	struct gpt *gpt = model->work;
	size_t n = (size_t)model->rows * shape->context, width = shape->width;

	for (int i = 0; i < shape->layers; i++)
		place_block(model, &gpt->blocks[i], pieces);
	gpt->out = train_piece(pieces, n, width);
	gpt->normed = train_piece(pieces, n, width);
	gpt->statistics = train_piece(pieces, n, 2);
	gpt->logits = train_piece(pieces, n, shape->vocabulary);
	gpt->scratch = train_piece(pieces,
				   model->device->all_rows ? n * shape->heads
							   : (size_t)2 * shape->context,
				   shape->context);
	gpt->branch = train_piece(pieces, n, width);
	gpt->d_residual = train_piece(pieces, n, width);
	gpt->d_normed = train_piece(pieces, n, width);
	gpt->d_wide = train_piece(pieces, n, 4 * width);
}

static int create(struct train_model *model)
{
	const struct train_shape *shape = &model->shape;
	struct gpt *gpt = calloc(1, sizeof(*gpt) + shape->layers * sizeof(*gpt->blocks));
	model->work = gpt;
	if (!gpt)
		return -1;
	gpt->attention = (struct train_attention){shape->context, shape->width, shape->heads,
						  shape->split_heads};
	add_tensors(model, gpt);
	return 0;
}

/* ---- rows and dropout ------------------------------------------------------------------------ */

/* Where dropout applies. */
enum place { EMBEDDING, ATTENTION, PROJECTION, FEED_FORWARD, PLACES };

static int place_in(int block, enum place place)
{
	return block * PLACES + (int)place;
}

/* Row after row; attention stays within them. */
static void lay_out(const struct train_model *model, const struct train_batch *batch)
{
	struct train_sequences *layout = model->layout;
	const bool drops = batch->dropout_key && model->shape.dropout > 0;
	int first = 0;
	uint64_t squares = 0;
	for (int i = 0; i < batch->rows; i++) {
		int length = batch->lengths ? batch->lengths[i] : model->shape.context;
		assert(first + length <= model->rows * model->shape.context);
		layout->row[i] = (struct train_sequence){length, first, squares, 0};
		if (drops)
			layout->row[i].random = train_random(batch->dropout_key, batch->examples[i]);
		for (int t = 0; t < length; t++)
			layout->row_of[first + t] = i;
		first += length;
		squares += (uint64_t)length * (uint64_t)length;
	}
	layout->rows = batch->rows;
	layout->tokens = first;
	layout->dropout = drops ? model->shape.dropout : 0;
}

static void bring(const struct train_model *model, const struct train_batch *batch)
{
	const struct train_device *device = model->device;
	struct train_sequences *layout = model->layout;
	struct gpt *gpt = model->work;
	size_t n = (size_t)layout->tokens;
	layout->row_at = device->bring(TRAIN_BRING_ROWS, layout->row,
				       (size_t)layout->rows * sizeof(*layout->row));
	layout->row_of_at = device->bring(TRAIN_BRING_ROW_OF, layout->row_of,
					  n * sizeof(*layout->row_of));
	gpt->ids = device->bring(TRAIN_BRING_TOKENS, batch->tokens, n * sizeof(*gpt->ids));
	gpt->targets = device->bring(TRAIN_BRING_TARGETS, batch->targets, n * sizeof(*gpt->targets));
}

/* values [n][C] */
static void drop(const struct train_model *model, train_real *values, int place)
{
	model->device->drop(model->layout, values, model->shape.width, place);
}

/* ---- forward --------------------------------------------------------------------------------- */

/* sum = residual + dropout of branch; all [n][C] */
static void add_branch(const struct train_model *model, train_real *sum, const train_real *residual,
		       train_real *branch, int place)
{
	size_t count = (size_t)model->layout->tokens * model->shape.width;
	drop(model, branch, place);
	model->device->copy(sum, residual, count * sizeof(*sum));
	model->device->add_each(sum, branch, count);
}

static void block_forward(const struct train_model *model, int number, train_real *out)
{
	const struct train_device *device = model->device;
	struct gpt *gpt = model->work;
	struct block *block = &gpt->blocks[number];
	int n = model->layout->tokens;
	size_t wide = (size_t)n * 4 * model->shape.width;

	train_part_norm(model, &block->norm1, block->normed1, block->statistics1, block->in, n);
	train_part_linear(model, &block->qkv, block->queries_keys_values, block->normed1, n);
	device->attention_forward(model->layout, &gpt->attention, block->attended,
				  block->probabilities, gpt->scratch, block->queries_keys_values,
				  place_in(number, ATTENTION));
	train_part_linear(model, &block->projection, gpt->branch, block->attended, n);
	add_branch(model, block->middle, block->in, gpt->branch, place_in(number, PROJECTION));

	train_part_norm(model, &block->norm2, block->normed2, block->statistics2, block->middle, n);
	train_part_linear(model, &block->up, block->slopes, block->normed2, n);
	device->activate(block->activated, block->slopes, wide, model->shape.activation);
	train_part_linear(model, &block->down, gpt->branch, block->activated, n);
	add_branch(model, out, block->middle, gpt->branch, place_in(number, FEED_FORWARD));
}

static double forward(struct train_model *model, const struct train_batch *batch, long *counted)
{
	const struct train_shape *shape = &model->shape;
	struct gpt *gpt = model->work;
	const struct train_device *device = model->device;
	int last = shape->layers - 1;

	lay_out(model, batch);
	bring(model, batch);
	int n = model->layout->tokens;
	device->embed(model->layout, gpt->blocks[0].in, gpt->ids,
		      train_parameters_of(model, gpt->tokens),
		      train_parameters_of(model, gpt->positions), shape->width);
	drop(model, gpt->blocks[0].in, place_in(0, EMBEDDING));
	for (int i = 0; i <= last; i++)
		block_forward(model, i, i < last ? gpt->blocks[i + 1].in : gpt->out);
	train_part_norm(model, &gpt->final_norm, gpt->normed, gpt->statistics, gpt->out, n);
	train_part_linear(model, &gpt->head, gpt->logits, gpt->normed, n);
	for (int i = 0; i < n; i++)
		*counted += batch->targets[i] >= 0;
	return device->loss_forward(gpt->logits, gpt->targets, n, shape->vocabulary);
}

const train_real *train_gpt_probabilities(const struct train_model *model)
{
	const struct gpt *gpt = model->work;
	return gpt->logits; /* the loss has made them probabilities */
}

/* ---- backward -------------------------------------------------------------------------------- */

/* The gradient of a branch: that of the residual, with the same dropout. */
static train_real *d_branch(const struct train_model *model, int place)
{
	struct gpt *gpt = model->work;
	size_t count = (size_t)model->layout->tokens * model->shape.width;
	model->device->copy(gpt->branch, gpt->d_residual, count * sizeof(*gpt->branch));
	drop(model, gpt->branch, place);
	return gpt->branch;
}

/* d_residual goes in as the gradient of the block's output, and becomes that of its input. */
static void block_backward(struct train_pass *pass, int number)
{
	const struct train_model *model = pass->model;
	const struct train_device *device = model->device;
	struct gpt *gpt = model->work;
	struct block *block = &gpt->blocks[number];
	int n = model->layout->tokens;
	size_t wide = (size_t)n * 4 * model->shape.width;

	train_real *d_out = d_branch(model, place_in(number, FEED_FORWARD));
	train_part_linear_backward(pass, &block->down, gpt->d_wide, d_out, block->activated, n);
	device->scale_each(gpt->d_wide, block->slopes, wide);
	train_part_linear_backward(pass, &block->up, gpt->d_normed, gpt->d_wide, block->normed2, n);
	train_part_norm_backward(pass, &block->norm2, gpt->d_residual, gpt->d_normed, block->middle,
				 block->statistics2, n);

	d_out = d_branch(model, place_in(number, PROJECTION));
	train_real *d_attended = gpt->d_normed;
	train_part_linear_backward(pass, &block->projection, d_attended, d_out, block->attended, n);
	device->attention_backward(model->layout, &gpt->attention, gpt->d_wide, gpt->scratch,
				   d_attended, block->probabilities, block->queries_keys_values,
				   place_in(number, ATTENTION));
	train_part_linear_backward(pass, &block->qkv, gpt->d_normed, gpt->d_wide, block->normed1, n);
	train_part_norm_backward(pass, &block->norm1, gpt->d_residual, gpt->d_normed, block->in,
				 block->statistics1, n);
}

static void backward(struct train_pass *pass, const struct train_batch *batch, train_real scale)
{
	const struct train_model *model = pass->model;
	const struct train_shape *shape = &model->shape;
	struct gpt *gpt = model->work;
	const struct train_device *device = model->device;
	const struct train_sequences *layout = model->layout;
	int n = layout->tokens;

	assert(batch->rows == layout->rows); /* that of the last forward */
	device->loss_backward(gpt->logits, gpt->targets, scale, n, shape->vocabulary);
	train_part_linear_backward(pass, &gpt->head, gpt->d_normed, gpt->logits, gpt->normed, n);
	device->clear(gpt->d_residual, (size_t)n * shape->width * sizeof(*gpt->d_residual));
	train_part_norm_backward(pass, &gpt->final_norm, gpt->d_residual, gpt->d_normed, gpt->out,
				 gpt->statistics, n);
	for (int i = shape->layers - 1; i >= 0; i--)
		block_backward(pass, i);

	drop(model, gpt->d_residual, place_in(0, EMBEDDING));
	device->embed_backward_positions(layout, train_gradients_of(model, gpt->positions),
					 gpt->d_residual, shape->context, shape->width);
	train_pass_finish(pass, gpt->positions);
	device->embed_backward_tokens(layout, train_gradients_of(model, gpt->tokens),
				      gpt->d_residual, gpt->ids, shape->vocabulary, shape->width);
	train_pass_finish(pass, gpt->tokens);
}

const struct train_kind train_gpt = {
	.complaint = complaint,
	.most_tensors = most_tensors,
	.create = create,
	.place = place,
	.forward = forward,
	.backward = backward,
};
