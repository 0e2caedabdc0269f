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

#include "layers.h"
#include "random.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	int positions, tokens; /* tensors */

	/* pieces of the model's activations, like those of the blocks */
	train_real *out; /* [n][C], of the last block */
	train_real *normed, *statistics;
	train_real *logits;     /* [n][vocabulary]; then probabilities; then d_logits */
	train_real *scratch;    /* [2][context][context] */
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
 * are the matrix of that product, too.
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
	gpt->scratch = train_piece(pieces, 2 * shape->context, shape->context);
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

/* ---- rows --------------------------------------------------------------------------------- */

static int length_of(const struct train_model *model, const struct train_batch *batch, int row)
{
	return batch->lengths ? batch->lengths[row] : model->shape.context;
}

static int tokens_of(const struct train_model *model, const struct train_batch *batch)
{
	int tokens = 0;
	for (int i = 0; i < batch->rows; i++)
		tokens += length_of(model, batch, i);
	return tokens;
}

/* A row of a batch; attention stays within it. */
struct row {
	struct train_attention attention;
	size_t first;   /* its first token in the batch */
	size_t squares; /* elements of the probabilities of the rows before it */
};

static struct row first_row(const struct train_model *model, const struct train_batch *batch)
{
	const struct gpt *gpt = model->work;
	struct row row = {.attention = gpt->attention};
	if (batch->rows > 0)
		row.attention.context = length_of(model, batch, 0);
	return row;
}

static void next_row(const struct train_model *model, const struct train_batch *batch, int number,
		     struct row *row)
{
	size_t length = (size_t)row->attention.context;
	row->first += length;
	row->squares += (size_t)row->attention.heads * length * length;
	if (number < batch->rows)
		row->attention.context = length_of(model, batch, number);
}

/* ---- dropout --------------------------------------------------------------------------------- */

/* Where dropout applies. */
enum place { EMBEDDING, ATTENTION, PROJECTION, FEED_FORWARD, PLACES };

static struct train_dropout dropout_of(const struct train_model *model,
				       const struct train_batch *batch, int row, int block,
				       enum place place)
{
	if (!batch->dropout_key || model->shape.dropout == 0)
		return (struct train_dropout){0};
	uint64_t example = train_random(batch->dropout_key, batch->examples[row]);
	return (struct train_dropout){model->shape.dropout,
				      train_random(example, (uint64_t)block * PLACES + place)};
}

/* values [n][C] */
static void drop_rows(const struct train_model *model, const struct train_batch *batch,
		      train_real *values, int block, enum place place)
{
	for (int i = 0; i < batch->rows; i++) {
		size_t count = (size_t)length_of(model, batch, i) * model->shape.width;
		train_drop(values, count, dropout_of(model, batch, i, block, place), 0);
		values += count;
	}
}

/* ---- forward --------------------------------------------------------------------------------- */

/* sum = residual + dropout of branch; all [n][C] */
static void add_branch(const struct train_model *model, const struct train_batch *batch,
		       train_real *sum, const train_real *residual, train_real *branch, int block,
		       enum place place)
{
	size_t count = (size_t)tokens_of(model, batch) * model->shape.width;
	drop_rows(model, batch, branch, block, place);
	memcpy(sum, residual, count * sizeof(*sum));
	train_add_each(sum, branch, count);
}

static void attend(const struct train_model *model, const struct train_batch *batch, int number)
{
	struct gpt *gpt = model->work;
	struct block *block = &gpt->blocks[number];
	struct row row = first_row(model, batch);

	for (int i = 0; i < batch->rows; next_row(model, batch, ++i, &row)) {
		size_t at = row.first * model->shape.width;
		train_attention_forward(&row.attention, block->attended + at,
					block->probabilities + row.squares, gpt->scratch,
					block->queries_keys_values + 3 * at,
					dropout_of(model, batch, i, number, ATTENTION));
	}
}

static void block_forward(const struct train_model *model, const struct train_batch *batch,
			  int number, train_real *out)
{
	struct gpt *gpt = model->work;
	struct block *block = &gpt->blocks[number];
	int n = tokens_of(model, batch);
	size_t wide = (size_t)n * 4 * model->shape.width;

	train_part_norm(model, &block->norm1, block->normed1, block->statistics1, block->in, n);
	train_part_linear(model, &block->qkv, block->queries_keys_values, block->normed1, n);
	attend(model, batch, number);
	train_part_linear(model, &block->projection, gpt->branch, block->attended, n);
	add_branch(model, batch, block->middle, block->in, gpt->branch, number, PROJECTION);

	train_part_norm(model, &block->norm2, block->normed2, block->statistics2, block->middle, n);
	train_part_linear(model, &block->up, block->slopes, block->normed2, n);
	train_activate(block->activated, block->slopes, wide, model->shape.activation);
	train_part_linear(model, &block->down, gpt->branch, block->activated, n);
	add_branch(model, batch, out, block->middle, gpt->branch, number, FEED_FORWARD);
}

static void embed(const struct train_model *model, const struct train_batch *batch)
{
	const struct gpt *gpt = model->work;
	struct row row = first_row(model, batch);
	for (int i = 0; i < batch->rows; next_row(model, batch, ++i, &row))
		train_embedding_forward(gpt->blocks[0].in + row.first * model->shape.width,
					batch->tokens + row.first,
					train_parameters_of(model, gpt->tokens),
					train_parameters_of(model, gpt->positions), 1,
					row.attention.context, model->shape.width);
}

static double forward(struct train_model *model, const struct train_batch *batch, long *counted)
{
	const struct train_shape *shape = &model->shape;
	struct gpt *gpt = model->work;
	int n = tokens_of(model, batch), last = shape->layers - 1;

	assert(n <= model->rows * shape->context);
	embed(model, batch);
	drop_rows(model, batch, gpt->blocks[0].in, 0, EMBEDDING);
	for (int i = 0; i <= last; i++)
		block_forward(model, batch, i, i < last ? gpt->blocks[i + 1].in : gpt->out);
	train_part_norm(model, &gpt->final_norm, gpt->normed, gpt->statistics, gpt->out, n);
	train_part_linear(model, &gpt->head, gpt->logits, gpt->normed, n);
	return train_loss_forward(gpt->logits, batch->targets, n, shape->vocabulary, counted);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* The gradient of a branch: that of the residual, with the same dropout. */
static train_real *d_branch(const struct train_model *model, const struct train_batch *batch,
			    int block, enum place place)
{
	struct gpt *gpt = model->work;
	size_t count = (size_t)tokens_of(model, batch) * model->shape.width;
	memcpy(gpt->branch, gpt->d_residual, count * sizeof(*gpt->branch));
	drop_rows(model, batch, gpt->branch, block, place);
	return gpt->branch;
}

/* d_attended [n][C] -> d_wide, as [n][3C] */
static void attend_backward(const struct train_model *model, const struct train_batch *batch,
			    int number, const train_real *d_attended)
{
	struct gpt *gpt = model->work;
	const struct block *block = &gpt->blocks[number];
	struct row row = first_row(model, batch);

	for (int i = 0; i < batch->rows; next_row(model, batch, ++i, &row)) {
		size_t at = row.first * model->shape.width;
		train_attention_backward(&row.attention, gpt->d_wide + 3 * at, gpt->scratch,
					 d_attended + at, block->probabilities + row.squares,
					 block->queries_keys_values + 3 * at,
					 dropout_of(model, batch, i, number, ATTENTION));
	}
}

/* d_residual goes in as the gradient of the block's output, and becomes that of its input. */
static void block_backward(struct train_pass *pass, const struct train_batch *batch, int number)
{
	const struct train_model *model = pass->model;
	struct gpt *gpt = model->work;
	struct block *block = &gpt->blocks[number];
	int n = tokens_of(model, batch);
	size_t wide = (size_t)n * 4 * model->shape.width;

	train_real *d_out = d_branch(model, batch, number, FEED_FORWARD);
	train_part_linear_backward(pass, &block->down, gpt->d_wide, d_out, block->activated, n);
	train_scale_each(gpt->d_wide, block->slopes, wide);
	train_part_linear_backward(pass, &block->up, gpt->d_normed, gpt->d_wide, block->normed2, n);
	train_part_norm_backward(pass, &block->norm2, gpt->d_residual, gpt->d_normed, block->middle,
				 block->statistics2, n);

	d_out = d_branch(model, batch, number, PROJECTION);
	train_real *d_attended = gpt->d_normed;
	train_part_linear_backward(pass, &block->projection, d_attended, d_out, block->attended, n);
	attend_backward(model, batch, number, d_attended);
	train_part_linear_backward(pass, &block->qkv, gpt->d_normed, gpt->d_wide, block->normed1, n);
	train_part_norm_backward(pass, &block->norm1, gpt->d_residual, gpt->d_normed, block->in,
				 block->statistics1, n);
}

/* Adds the gradients of the position embedding, row by row. */
static void embed_backward(const struct train_model *model, const struct train_batch *batch)
{
	const struct gpt *gpt = model->work;
	struct row row = first_row(model, batch);
	for (int i = 0; i < batch->rows; next_row(model, batch, ++i, &row))
		train_embedding_backward_positions(train_gradients_of(model, gpt->positions),
						   gpt->d_residual + row.first * model->shape.width,
						   1, row.attention.context, model->shape.width);
}

static void backward(struct train_pass *pass, const struct train_batch *batch, train_real scale)
{
	const struct train_model *model = pass->model;
	const struct train_shape *shape = &model->shape;
	struct gpt *gpt = model->work;
	int n = tokens_of(model, batch);

	train_loss_backward(gpt->logits, batch->targets, scale, n, shape->vocabulary);
	train_part_linear_backward(pass, &gpt->head, gpt->d_normed, gpt->logits, gpt->normed, n);
	memset(gpt->d_residual, 0, (size_t)n * shape->width * sizeof(*gpt->d_residual));
	train_part_norm_backward(pass, &gpt->final_norm, gpt->d_residual, gpt->d_normed, gpt->out,
				 gpt->statistics, n);
	for (int i = shape->layers - 1; i >= 0; i--)
		block_backward(pass, batch, i);

	drop_rows(model, batch, gpt->d_residual, 0, EMBEDDING);
	embed_backward(model, batch);
	train_pass_finish(pass, gpt->positions);
	train_embedding_backward_tokens(train_gradients_of(model, gpt->tokens), gpt->d_residual,
					batch->tokens, n, shape->width);
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
