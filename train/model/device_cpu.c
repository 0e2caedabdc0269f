/* SPDX-License-Identifier: MIT */
/* The CPU as a device: the host's memory, and layers.c row by row. */
#include "device.h"

#include "layers.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>
#include <tgmath.h>

/* ---- memory ---------------------------------------------------------------------------------- */

static void *get(size_t bytes)
{
	const size_t line = 64;
	size_t whole = (bytes + line - 1) / line * line;
	void *memory = aligned_alloc(line, whole ? whole : line);
	return memory ? memset(memory, 0, bytes) : NULL;
}

static void copy(void *to, const void *from, size_t bytes)
{
	if (bytes > 0)
		memcpy(to, from, bytes);
}

static void clear(void *memory, size_t bytes)
{
	memset(memory, 0, bytes);
}

static const void *bring(enum train_brought what, const void *host, size_t bytes)
{
	(void)what;
	(void)bytes;
	return host;
}

/* ---- order: everything is done at once ------------------------------------------------------- */

static int wait(void)
{
	return 0;
}

static void *stream(void)
{
	return NULL;
}

static void hand_over(int bucket)
{
	(void)bucket;
}

static double handed_over(int bucket)
{
	(void)bucket;
	return 0;
}

/* ---- layers that know of rows ---------------------------------------------------------------- */

static void features(train_real *in, const float *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		in[i] = from[i];
}

static void embed(const struct train_sequences *layout, train_real *out, const int32_t *tokens,
		  const train_real *token_table, const train_real *position_table, int width)
{
	for (int i = 0; i < layout->rows; i++) {
		const struct train_sequence *row = &layout->row[i];
		train_embedding_forward(out + (size_t)row->first * width, tokens + row->first,
					token_table, position_table, row->length, width);
	}
}

static void embed_backward_positions(const struct train_sequences *layout,
				     train_real *d_position_table, const train_real *d_out,
				     int context, int width)
{
	(void)context;
	for (int i = 0; i < layout->rows; i++) {
		const struct train_sequence *row = &layout->row[i];
		train_add_each(d_position_table, d_out + (size_t)row->first * width,
			       (size_t)row->length * width);
	}
}

static void embed_backward_tokens(const struct train_sequences *layout, train_real *d_token_table,
				  const train_real *d_out, const int32_t *tokens, int vocabulary,
				  int width)
{
	(void)vocabulary;
	train_embedding_backward_tokens(d_token_table, d_out, tokens, layout->tokens, width);
}

static struct train_dropout dropout_of(const struct train_sequences *layout,
				       const struct train_sequence *row, int place)
{
	if (layout->dropout == 0)
		return (struct train_dropout){0};
	return (struct train_dropout){layout->dropout, train_random(row->random, (uint64_t)place)};
}

static void drop(const struct train_sequences *layout, train_real *values, int width, int place)
{
	for (int i = 0; i < layout->rows; i++) {
		const struct train_sequence *row = &layout->row[i];
		train_drop(values + (size_t)row->first * width, (size_t)row->length * width,
			   dropout_of(layout, row, place), 0);
	}
}

/* Attention of one row. */
static struct train_attention of_row(const struct train_attention *attention,
				     const struct train_sequence *row)
{
	struct train_attention own = *attention;
	own.context = row->length;
	return own;
}

static void attention_forward(const struct train_sequences *layout,
			      const struct train_attention *attention, train_real *out,
			      train_real *probabilities, train_real *scratch, const train_real *qkv,
			      int place)
{
	for (int i = 0; i < layout->rows; i++) {
		const struct train_sequence *row = &layout->row[i];
		const struct train_attention own = of_row(attention, row);
		size_t at = (size_t)row->first * attention->width;
		train_attention_forward(&own, out + at,
					probabilities + (size_t)attention->heads * row->squares,
					scratch, qkv + 3 * at, dropout_of(layout, row, place));
	}
}

static void attention_backward(const struct train_sequences *layout,
			       const struct train_attention *attention, train_real *d_qkv,
			       train_real *scratch, const train_real *d_out,
			       const train_real *probabilities, const train_real *qkv, int place)
{
	for (int i = 0; i < layout->rows; i++) {
		const struct train_sequence *row = &layout->row[i];
		const struct train_attention own = of_row(attention, row);
		size_t at = (size_t)row->first * attention->width;
		train_attention_backward(&own, d_qkv + 3 * at, scratch, d_out + at,
					 probabilities + (size_t)attention->heads * row->squares,
					 qkv + 3 * at, dropout_of(layout, row, place));
	}
}

/* ---- the optimizer's ------------------------------------------------------------------------- */

/* Eight sums side by side, so that vector instructions can add, in the same order on every CPU. */
static double squares(const train_real *x, size_t count)
{
	double sums[8] = {0}, sum = 0;
	size_t whole = count / 8 * 8;
	for (size_t i = 0; i < whole; i += 8)
		for (int j = 0; j < 8; j++)
			sums[j] += (double)x[i + j] * (double)x[i + j];
	for (size_t i = whole; i < count; i++)
		sums[i - whole] += (double)x[i] * (double)x[i];
	for (int j = 0; j < 8; j++)
		sum += sums[j];
	return sum;
}

static void adamw(const struct train_slice *slice)
{
	const struct train_slice s = *slice;
	for (size_t i = 0; i < s.count; i++) {
		train_real g = s.gradients[i] * s.scale;
		train_real mean = s.first[i] = s.beta1 * s.first[i] + s.rest1 * g;
		train_real square = s.second[i] = s.beta2 * s.second[i] + s.rest2 * g * g;
		train_real p = s.parameters[i] - s.decay * s.parameters[i];
		s.parameters[i] = p - s.rate * mean / (sqrt(square) * s.root + s.epsilon);
	}
}

static void sgd(const struct train_slice *slice)
{
	const struct train_slice s = *slice;
	for (size_t i = 0; i < s.count; i++) {
		train_real change = s.gradients[i] * s.scale;
		if (s.first)
			change = s.first[i] = s.momentum * s.first[i] + change;
		s.parameters[i] = s.parameters[i] - s.decay * s.parameters[i] - s.rate * change;
	}
}

const struct train_device train_cpu = {
	.alloc = get,
	.free = free,
	.read = copy,
	.write = copy,
	.copy = copy,
	.clear = clear,
	.bring = bring,
	.wait = wait,
	.stream = stream,
	.hand_over = hand_over,
	.handed_over = handed_over,
	.matmul_name = train_matmul_name,
	.matmul = train_matmul,
	.features = features,
	.linear_forward = train_linear_forward,
	.linear_backward_in = train_linear_backward_in,
	.linear_backward_weight = train_linear_backward_weight,
	.linear_backward_bias = train_linear_backward_bias,
	.norm_forward = train_norm_forward,
	.norm_backward = train_norm_backward,
	.activate = train_activate,
	.scale_each = train_scale_each,
	.add_each = train_add_each,
	.loss_forward = train_loss_forward,
	.loss_backward = train_loss_backward,
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
