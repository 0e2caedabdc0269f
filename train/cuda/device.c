/* SPDX-License-Identifier: MIT */
/* What the model asks for, as jobs of the kernels. What the host adds up, it adds in order. */
#include "device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "chip.h"
#include "driver.h"
#include "image.h"
#include "train/model/layers.h"

#define PARTS 1024 /* of a sum of squares */

/* Memory that a batch needs, as large as any batch has needed. */
struct room {
	void *at;
	size_t bytes;
};

static struct {
	struct room brought[TRAIN_BRINGS];
	struct room losses;
	double *squares; /* [PARTS] */
	double *sums;    /* the host's, of losses or parts */
	size_t sums_bytes;
} rooms;

static void *make_room(struct room *room, size_t bytes)
{
	if (room->bytes >= bytes && room->at)
		return room->at;
	train_chip_wait();
	train_chip_free(room->at);
	room->bytes = bytes;
	return room->at = train_chip_alloc(bytes);
}

static const void *bring(enum train_brought what, const void *host, size_t bytes)
{
	void *at = make_room(&rooms.brought[what], bytes);
	train_chip_write(at, host, bytes);
	return at;
}

static void features(train_real *in, const float *from, size_t count)
{
	train_chip_write(in, from, count * sizeof(*in));
}

/* Adds what a kernel has left in `count` places. */
static double add_up(const double *from, size_t count)
{
	double sum = 0;
	size_t bytes = count * sizeof(*from);
	if (bytes > rooms.sums_bytes) {
		double *more = realloc(rooms.sums, bytes);
		if (!more) {
			fputs("ring_train: out of memory for sums\n", stderr);
			train_chip_give_up();
			return 0;
		}
		rooms.sums = more;
		rooms.sums_bytes = bytes;
	}
	train_chip_read(rooms.sums, from, bytes);
	if (train_chip_wait() != 0)
		return 0;
	for (size_t i = 0; i < count; i++)
		sum += rooms.sums[i];
	return sum;
}

/* ---- layers ---------------------------------------------------------------------------------- */

static void linear_forward(train_real *out, const train_real *in, const train_real *weight,
			   const train_real *bias, int rows, int inputs, int outputs)
{
	struct train_spread_job job = {.out = out, .bias = bias, .columns = outputs};
	if (bias)
		train_chip_launch(TRAIN_KERNEL_spread, &job, (size_t)rows * (size_t)outputs);
	train_product_multiply(out, outputs, bias ? 1 : 0, 1, train_matrix(in, rows, inputs),
			       train_transposed(train_matrix(weight, outputs, inputs)));
}

static void linear_backward_in(train_real *d_in, const train_real *d_out, const train_real *weight,
			       int rows, int inputs, int outputs)
{
	train_product_multiply(d_in, inputs, 0, 1, train_matrix(d_out, rows, outputs),
			       train_matrix(weight, outputs, inputs));
}

static void linear_backward_weight(train_real *d_weight, const train_real *d_out,
				   const train_real *in, int rows, int inputs, int outputs)
{
	train_product_multiply(d_weight, inputs, 1, 1,
			       train_transposed(train_matrix(d_out, rows, outputs)),
			       train_matrix(in, rows, inputs));
}

static void linear_backward_bias(train_real *d_bias, const train_real *d_out, int rows, int outputs)
{
	struct train_column_job job = {
		.sums = d_bias, .values = d_out, .rows = rows, .columns = outputs};
	train_chip_launch(TRAIN_KERNEL_column, &job, (size_t)outputs);
}

static void norm_forward(train_real *out, train_real *statistics, const train_real *in,
			 const train_real *weight, const train_real *bias, int rows, int width)
{
	struct train_norm_job job = {out, statistics, in, weight, bias, width};
	train_chip_launch(TRAIN_KERNEL_norm, &job, (size_t)rows);
}

static void norm_backward(train_real *d_in, train_real *d_weight, train_real *d_bias,
			  const train_real *d_out, const train_real *in,
			  const train_real *statistics, const train_real *weight, int rows,
			  int width)
{
	struct train_norm_column_job columns = {d_weight,   d_bias, d_out, in,
						statistics, rows,   width};
	struct train_norm_row_job row = {d_in, d_out, in, statistics, weight, width};
	train_chip_launch(TRAIN_KERNEL_norm_column, &columns, (size_t)width);
	train_chip_launch(TRAIN_KERNEL_norm_row, &row, (size_t)rows);
}

static void activate(train_real *out, train_real *in, size_t count, enum train_activation activation)
{
	struct train_activate_job job = {out, in, activation == TRAIN_RELU};
	train_chip_launch(TRAIN_KERNEL_activate, &job, count);
}

static void scale_each(train_real *values, const train_real *factors, size_t count)
{
	struct train_pair_job job = {values, factors, .adds = 0};
	train_chip_launch(TRAIN_KERNEL_pair, &job, count);
}

static void add_each(train_real *sum, const train_real *terms, size_t count)
{
	struct train_pair_job job = {sum, terms, .adds = 1};
	train_chip_launch(TRAIN_KERNEL_pair, &job, count);
}

static double loss_forward(train_real *logits, const int32_t *targets, int rows, int classes)
{
	double *losses = make_room(&rooms.losses, (size_t)rows * sizeof(*losses));
	struct train_loss_job job = {logits, losses, targets, classes};
	if (!losses)
		return 0;
	train_chip_launch(TRAIN_KERNEL_loss, &job, (size_t)rows);
	return add_up(losses, (size_t)rows);
}

static void loss_backward(train_real *probabilities, const int32_t *targets, train_real scale,
			  int rows, int classes)
{
	struct train_loss_slope_job job = {probabilities, targets, scale, classes};
	train_chip_launch(TRAIN_KERNEL_loss_slope, &job, (size_t)rows * (size_t)classes);
}

/* ---- layers that know of rows ---------------------------------------------------------------- */

static struct train_rows_job rows_of(const struct train_sequences *layout)
{
	return (struct train_rows_job){layout->row_at, layout->row_of_at, layout->rows,
				       layout->tokens};
}

/* As train_drop(). */
static struct train_drop_rule rule_of(const struct train_sequences *layout, int place)
{
	return (struct train_drop_rule){
		.place = (uint64_t)place,
		.limit = (uint64_t)(layout->dropout * 0x1p32),
		.scale = (float)(1 / (1 - layout->dropout)),
	};
}

static size_t elements_of(const struct train_sequences *layout, int width)
{
	return (size_t)layout->tokens * (size_t)width;
}

static void embed(const struct train_sequences *layout, train_real *out, const int32_t *tokens,
		  const train_real *token_table, const train_real *position_table, int width)
{
	struct train_embed_job job = {rows_of(layout), out,  tokens, token_table,
				      position_table,  width};
	train_chip_launch(TRAIN_KERNEL_embed, &job, elements_of(layout, width));
}

static void embed_backward_positions(const struct train_sequences *layout,
				     train_real *d_position_table, const train_real *d_out,
				     int context, int width)
{
	struct train_embed_positions_job job = {rows_of(layout), d_position_table, d_out, width};
	train_chip_launch(TRAIN_KERNEL_embed_positions, &job, (size_t)context * (size_t)width);
}

static void embed_backward_tokens(const struct train_sequences *layout, train_real *d_token_table,
				  const train_real *d_out, const int32_t *tokens, int vocabulary,
				  int width)
{
	struct train_embed_tokens_job job = {d_token_table, d_out, tokens, layout->tokens, width};
	train_chip_launch(TRAIN_KERNEL_embed_tokens, &job, (size_t)vocabulary * (size_t)width);
}

static void drop(const struct train_sequences *layout, train_real *values, int width, int place)
{
	struct train_drop_job job = {rows_of(layout), rule_of(layout, place), values, width};
	if (layout->dropout > 0)
		train_chip_launch(TRAIN_KERNEL_drop, &job, elements_of(layout, width));
}

static struct train_attend_job attend_job(const struct train_sequences *layout,
					  const struct train_attention *attention,
					  const train_real *probabilities, const train_real *qkv,
					  int place)
{
	return (struct train_attend_job){
		.at = rows_of(layout),
		.rule = rule_of(layout, place),
		.probabilities = (train_real *)probabilities,
		.qkv = qkv,
		.width = attention->width,
		.heads = attention->heads,
		.split = attention->split,
		.scale = 1 / sqrtf((float)(attention->width / attention->heads)),
	};
}

static void attention_forward(const struct train_sequences *layout,
			      const struct train_attention *attention, train_real *out,
			      train_real *probabilities, train_real *scratch, const train_real *qkv,
			      int place)
{
	struct train_attend_job job = attend_job(layout, attention, probabilities, qkv, place);
	(void)scratch;
	job.out = out;
	train_chip_launch(TRAIN_KERNEL_scores, &job, elements_of(layout, attention->heads));
	train_chip_launch(TRAIN_KERNEL_values, &job, elements_of(layout, attention->width));
}

static void attention_backward(const struct train_sequences *layout,
			       const struct train_attention *attention, train_real *d_qkv,
			       train_real *scratch, const train_real *d_out,
			       const train_real *probabilities, const train_real *qkv, int place)
{
	struct train_attend_job job = attend_job(layout, attention, probabilities, qkv, place);
	size_t count = elements_of(layout, attention->width);
	job.d_qkv = d_qkv;
	job.d_out = d_out;
	job.scores = scratch;
	train_chip_launch(TRAIN_KERNEL_score_slopes, &job, elements_of(layout, attention->heads));
	train_chip_launch(TRAIN_KERNEL_query_slopes, &job, count);
	train_chip_launch(TRAIN_KERNEL_key_slopes, &job, count);
}

/* ---- the optimizer's ------------------------------------------------------------------------- */

static double squares(const train_real *x, size_t count)
{
	struct train_squares_job job = {rooms.squares, x, count, PARTS};
	train_chip_launch(TRAIN_KERNEL_squares, &job, PARTS);
	return add_up(rooms.squares, PARTS);
}

static void step(enum train_kernel kernel, const struct train_slice *slice)
{
	struct train_step_job job = {
		.parameters = slice->parameters,
		.first = slice->first,
		.second = slice->second,
		.gradients = slice->gradients,
		.scale = slice->scale,
		.rate = slice->rate,
		.decay = slice->decay,
		.beta1 = slice->beta1,
		.beta2 = slice->beta2,
		.rest1 = slice->rest1,
		.rest2 = slice->rest2,
		.epsilon = slice->epsilon,
		.root = slice->root,
		.momentum = slice->momentum,
	};
	train_chip_launch(kernel, &job, slice->count);
}

static void adamw(const struct train_slice *slice)
{
	step(TRAIN_KERNEL_adamw, slice);
}

static void sgd(const struct train_slice *slice)
{
	step(TRAIN_KERNEL_sgd, slice);
}

static const struct train_device train_cuda = {
	.far = true,
	.all_rows = true,
	.alloc = train_chip_alloc,
	.free = train_chip_free,
	.read = train_chip_read,
	.write = train_chip_write,
	.copy = train_chip_copy,
	.clear = train_chip_clear,
	.bring = bring,
	.wait = train_chip_wait,
	.stream = train_chip_stream,
	.hand_over = train_chip_hand_over,
	.handed_over = train_chip_handed_over,
	.matmul_name = train_product_name,
	.matmul = train_product_multiply,
	.features = features,
	.linear_forward = linear_forward,
	.linear_backward_in = linear_backward_in,
	.linear_backward_weight = linear_backward_weight,
	.linear_backward_bias = linear_backward_bias,
	.norm_forward = norm_forward,
	.norm_backward = norm_backward,
	.activate = activate,
	.scale_each = scale_each,
	.add_each = add_each,
	.loss_forward = loss_forward,
	.loss_backward = loss_backward,
	.embed = embed,
	.embed_backward_positions = embed_backward_positions,
	.embed_backward_tokens = embed_backward_tokens,
	.drop = drop,
	.attention_forward = attention_forward,
	.attention_backward = attention_backward,
	.squares = squares,
	.adamw = adamw,
	.sgd = sgd,
};

/* ---- opening --------------------------------------------------------------------------------- */

int train_cuda_count(void)
{
	int count = 0;
	if (!train_cuda_image()) {
		fputs("ring_train: --device cuda: this build has no kernels for GPUs: configure "
		      "found no nvcc\n",
		      stderr);
		return 0;
	}
	const struct train_cuda_driver *driver = train_cuda_driver();
	if (!driver || train_cuda_failed(driver->device_count(&count), "counting devices"))
		return 0;
	if (count == 0)
		fputs("ring_train: --device cuda: no GPU is visible: see CUDA_VISIBLE_DEVICES and "
		      "nvidia-smi\n",
		      stderr);
	return count;
}

const struct train_device *train_cuda_open(int number, enum train_products products)
{
	if (!train_chip_open(number))
		return NULL;
	rooms.squares = train_chip_alloc(PARTS * sizeof(*rooms.squares));
	return rooms.squares && train_product_open(products) ? &train_cuda : NULL;
}

void train_cuda_close(void)
{
	train_product_close();
	for (int i = 0; i < TRAIN_BRINGS; i++)
		train_chip_free(rooms.brought[i].at);
	train_chip_free(rooms.losses.at);
	train_chip_free(rooms.squares);
	free(rooms.sums);
	rooms = (__typeof__(rooms)){0};
	train_chip_close();
}
