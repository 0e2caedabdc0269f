/* SPDX-License-Identifier: MIT */
/*
 * The kernels, as what one thread does for one item of a job. kernels.cu makes them a GPU's; tests
 * compile the same for the host and say first how a kernel gets to memory:
 *
 *	TRAIN_KERNEL                  of a function
 *	TRAIN_AT(pointer, count)      where it finds this many elements
 *	TRAIN_FUSED(a, b, sum)        a * b + sum
 *
 * Only products fuse, as the image is compiled without: a step of the optimizer has the bits that
 * the CPU's has.
 */
#ifndef TRAIN_CUDA_KERNELS_H
#define TRAIN_CUDA_KERNELS_H

#include <math.h>
#include <stdbool.h>

#include "jobs.h"
#include "train/model/random.h"
#include "train/model/sequence.h"

/* ---- products and linear layers -------------------------------------------------------------- */

TRAIN_KERNEL void train_product(const struct train_product_job *job, uint64_t item)
{
	int row = (int)(item / (uint64_t)job->columns),
	    column = (int)(item % (uint64_t)job->columns);
	const size_t steps = (size_t)job->depth - 1;
	const float *a = TRAIN_AT(job->a + (size_t)row * job->a_row, steps * job->a_step + 1);
	const float *b = TRAIN_AT(job->b + (size_t)column * job->b_column, steps * job->b_step + 1);
	float *c = TRAIN_AT(job->c + (size_t)row * job->stride + column, 1);
	float sum = 0;
	for (int k = 0; k < job->depth; k++)
		sum = TRAIN_FUSED(a[(size_t)k * job->a_step], b[(size_t)k * job->b_step], sum);
	*c = job->keep == 0 ? job->scale * sum : job->keep * *c + job->scale * sum;
}

TRAIN_KERNEL void train_spread(const struct train_spread_job *job, uint64_t item)
{
	*TRAIN_AT(job->out + item, 1) = *TRAIN_AT(job->bias + item % (uint64_t)job->columns, 1);
}

TRAIN_KERNEL void train_column(const struct train_column_job *job, uint64_t item)
{
	const float *values = TRAIN_AT(job->values + item,
				       ((size_t)job->rows - 1) * job->columns + 1);
	float *sum = TRAIN_AT(job->sums + item, 1), mine = *sum;
	for (int i = 0; i < job->rows; i++)
		mine += values[(size_t)i * job->columns];
	*sum = mine;
}

/* ---- normalisation --------------------------------------------------------------------------- */

TRAIN_KERNEL void train_norm(const struct train_norm_job *job, uint64_t item)
{
	const size_t width = (size_t)job->width;
	const float *in = TRAIN_AT(job->in + item * width, width);
	const float *weight = TRAIN_AT(job->weight, width);
	const float *bias = job->bias ? TRAIN_AT(job->bias, width) : NULL;
	float *out = TRAIN_AT(job->out + item * width, width);
	float *statistics = TRAIN_AT(job->statistics + 2 * item, 2);
	float sum = 0, squares = 0;
	for (size_t j = 0; j < width; j++)
		sum += in[j];
	float mean = sum / (float)width;
	for (size_t j = 0; j < width; j++)
		squares += (in[j] - mean) * (in[j] - mean);
	float scale = 1 / sqrtf(squares / (float)width + 1e-5f);
	for (size_t j = 0; j < width; j++)
		out[j] = (in[j] - mean) * scale * weight[j] + (bias ? bias[j] : 0);
	statistics[0] = mean;
	statistics[1] = scale;
}

TRAIN_KERNEL void train_norm_column(const struct train_norm_column_job *job, uint64_t item)
{
	const size_t rows = (size_t)job->rows, width = (size_t)job->width;
	const size_t many = (rows - 1) * width + 1;
	const float *d_out = TRAIN_AT(job->d_out + item, many), *in = TRAIN_AT(job->in + item, many);
	const float *statistics = TRAIN_AT(job->statistics, 2 * rows);
	float *d_weight = TRAIN_AT(job->d_weight + item, 1);
	float *d_bias = job->d_bias ? TRAIN_AT(job->d_bias + item, 1) : NULL;
	float weight = *d_weight, bias = d_bias ? *d_bias : 0;
	for (size_t i = 0; i < rows; i++) {
		weight += d_out[i * width] *
			  ((in[i * width] - statistics[2 * i]) * statistics[2 * i + 1]);
		bias += d_out[i * width];
	}
	*d_weight = weight;
	if (d_bias)
		*d_bias = bias;
}

TRAIN_KERNEL void train_norm_row(const struct train_norm_row_job *job, uint64_t item)
{
	const size_t width = (size_t)job->width;
	const float *d_out = TRAIN_AT(job->d_out + item * width, width);
	const float *in = TRAIN_AT(job->in + item * width, width);
	const float *weight = TRAIN_AT(job->weight, width);
	const float *statistics = TRAIN_AT(job->statistics + 2 * item, 2);
	float *d_in = TRAIN_AT(job->d_in + item * width, width);
	float mean = statistics[0], scale = statistics[1], sum = 0, sum_with_in = 0;
	for (size_t j = 0; j < width; j++) {
		float g = d_out[j] * weight[j];
		sum += g;
		sum_with_in += g * ((in[j] - mean) * scale);
	}
	float mean_g = sum / (float)width, mean_g_in = sum_with_in / (float)width;
	for (size_t j = 0; j < width; j++)
		d_in[j] += scale *
			   (d_out[j] * weight[j] - mean_g - (in[j] - mean) * scale * mean_g_in);
}

/* ---- element by element ---------------------------------------------------------------------- */

TRAIN_KERNEL void train_activate(const struct train_activate_job *job, uint64_t item)
{
	float *in = TRAIN_AT(job->in + item, 1), *out = TRAIN_AT(job->out + item, 1), x = *in;
	if (job->is_relu) {
		*out = x > 0 ? x : 0;
		*in = x > 0 ? 1 : 0;
		return;
	}
	float share = (1 + erff(x * 0.70710678118654752440f)) / 2;
	*out = x * share;
	*in = share + x * 0.39894228040143267794f * expf(-x * x / 2);
}

TRAIN_KERNEL void train_pair(const struct train_pair_job *job, uint64_t item)
{
	float *value = TRAIN_AT(job->values + item, 1);
	float other = *TRAIN_AT(job->others + item, 1);
	*value = job->adds ? *value + other : *value * other;
}

/* ---- loss ------------------------------------------------------------------------------------ */

TRAIN_KERNEL void train_loss(const struct train_loss_job *job, uint64_t item)
{
	const size_t classes = (size_t)job->classes;
	float *logits = TRAIN_AT(job->logits + item * classes, classes);
	int32_t target = *TRAIN_AT(job->targets + item, 1);
	float largest = logits[0], sum = 0;
	for (size_t j = 1; j < classes; j++)
		largest = logits[j] > largest ? logits[j] : largest;
	double to_target = target < 0 ? 0 : (double)logits[target] - (double)largest;
	for (size_t j = 0; j < classes; j++)
		sum += logits[j] = expf(logits[j] - largest);
	float scale = 1 / sum;
	for (size_t j = 0; j < classes; j++)
		logits[j] *= scale;
	*TRAIN_AT(job->losses + item, 1) = target < 0 ? 0 : log((double)sum) - to_target;
}

TRAIN_KERNEL void train_loss_slope(const struct train_loss_slope_job *job, uint64_t item)
{
	int32_t target = *TRAIN_AT(job->targets + item / (uint64_t)job->classes, 1);
	float *value = TRAIN_AT(job->probabilities + item, 1);
	float slope = target < 0 ? 0 : *value * job->scale;
	bool is_target = target == (int32_t)(item % (uint64_t)job->classes);
	*value = is_target ? slope - job->scale : slope;
}

/* ---- embedding and dropout ------------------------------------------------------------------- */

TRAIN_KERNEL struct train_sequence train_row_at(const struct train_rows_job *at, uint64_t token)
{
	return *TRAIN_AT(at->row + *TRAIN_AT(at->row_of + token, 1), 1);
}

TRAIN_KERNEL void train_embed(const struct train_embed_job *job, uint64_t item)
{
	const uint64_t width = (uint64_t)job->width, token = item / width, column = item % width;
	struct train_sequence row = train_row_at(&job->at, token);
	int32_t id = *TRAIN_AT(job->tokens + token, 1);
	uint64_t position = token - (uint64_t)row.first;
	*TRAIN_AT(job->out + item,
		  1) = *TRAIN_AT(job->token_table + (uint64_t)id * width + column, 1) +
		       *TRAIN_AT(job->position_table + position * width + column, 1);
}

TRAIN_KERNEL void train_embed_positions(const struct train_embed_positions_job *job, uint64_t item)
{
	const uint64_t width = (uint64_t)job->width, position = item / width;
	float *place = TRAIN_AT(job->d_table + item, 1), sum = *place;
	for (int i = 0; i < job->at.rows; i++) {
		const struct train_sequence *row = TRAIN_AT(job->at.row + i, 1);
		if (position < (uint64_t)row->length)
			sum += *TRAIN_AT(job->d_out + (uint64_t)row->first * width + item, 1);
	}
	*place = sum;
}

TRAIN_KERNEL void train_embed_tokens(const struct train_embed_tokens_job *job, uint64_t item)
{
	const uint64_t width = (uint64_t)job->width, id = item / width, column = item % width;
	const int32_t *tokens = TRAIN_AT(job->tokens, (size_t)job->count);
	float *place = TRAIN_AT(job->d_table + item, 1), sum = *place;
	for (int i = 0; i < job->count; i++)
		if ((uint64_t)tokens[i] == id)
			sum += *TRAIN_AT(job->d_out + (uint64_t)i * width + column, 1);
	*place = sum;
}

/* By what dropout multiplies a value: the numbers of train/model/random.h. */
TRAIN_KERNEL float train_kept(const struct train_drop_rule *rule, const struct train_sequence *row,
			      uint64_t index)
{
	if (rule->limit == 0)
		return 1;
	uint64_t stream = train_random(row->random, rule->place);
	return train_random(stream, index) >> 32 >= rule->limit ? rule->scale : 0;
}

TRAIN_KERNEL void train_drop(const struct train_drop_job *job, uint64_t item)
{
	const uint64_t width = (uint64_t)job->width;
	struct train_sequence row = train_row_at(&job->at, item / width);
	float *value = TRAIN_AT(job->values + item, 1);
	*value *= train_kept(&job->rule, &row, item - (uint64_t)row.first * width);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* One head of one row, and where its columns are in qkv. */
struct train_head {
	struct train_sequence row;
	size_t size, length, wide;
	size_t query_at, key_at, value_at, out_at;
	uint64_t squares; /* of its probabilities */
	uint64_t number;
	uint64_t position; /* of the token in the row */
};

TRAIN_KERNEL struct train_head train_head_at(const struct train_attend_job *job, uint64_t token,
					     uint64_t number)
{
	struct train_head head;
	const size_t width = (size_t)job->width, heads = (size_t)job->heads;
	head.row = train_row_at(&job->at, token);
	head.size = width / heads;
	head.length = (size_t)head.row.length;
	head.wide = 3 * width;
	head.number = number;
	head.position = token - (uint64_t)head.row.first;
	head.out_at = number * head.size;
	head.query_at = head.out_at;
	head.key_at = width + head.out_at;
	head.value_at = 2 * width + head.out_at;
	if (job->split) {
		head.value_at = 3 * (heads - 1 - number) * head.size;
		head.query_at = head.value_at + head.size;
		head.key_at = head.query_at + head.size;
	}
	head.squares = heads * head.row.squares + number * head.length * head.length;
	return head;
}

/* Of the token at this position of the row. */
TRAIN_KERNEL const float *train_columns_of(const float *rows, const struct train_head *head,
					   uint64_t position, size_t stride, size_t at)
{
	return TRAIN_AT(rows + ((uint64_t)head->row.first + position) * stride + at, head->size);
}

TRAIN_KERNEL float train_dot(const float *a, const float *b, size_t count)
{
	float sum = 0;
	for (size_t i = 0; i < count; i++)
		sum = TRAIN_FUSED(a[i], b[i], sum);
	return sum;
}

TRAIN_KERNEL float train_kept_there(const struct train_attend_job *job,
				    const struct train_head *head, uint64_t t, uint64_t u)
{
	return train_kept(&job->rule, &head->row,
			  (head->number * head->length + t) * head->length + u);
}

/* The probabilities of a token's head: softmax up to the diagonal, 0 after it. */
TRAIN_KERNEL void train_scores(const struct train_attend_job *job, uint64_t item)
{
	const uint64_t heads = (uint64_t)job->heads;
	struct train_head head = train_head_at(job, item / heads, item % heads);
	const uint64_t t = head.position;
	const float *query = train_columns_of(job->qkv, &head, t, head.wide, head.query_at);
	float *row = TRAIN_AT(job->probabilities + head.squares + t * head.length, head.length);
	float largest = 0, sum = 0;
	for (uint64_t u = 0; u <= t; u++) {
		const float *key = train_columns_of(job->qkv, &head, u, head.wide, head.key_at);
		row[u] = job->scale * train_dot(query, key, head.size);
		largest = u == 0 || row[u] > largest ? row[u] : largest;
	}
	for (uint64_t u = 0; u <= t; u++)
		sum += row[u] = expf(row[u] - largest);
	float scale = 1 / sum;
	for (uint64_t u = 0; u < head.length; u++)
		row[u] = u <= t ? row[u] * scale : 0;
}

/* What a token's column gets of the values before it. */
TRAIN_KERNEL void train_values(const struct train_attend_job *job, uint64_t item)
{
	const uint64_t width = (uint64_t)job->width, token = item / width, column = item % width;
	const uint64_t size = width / (uint64_t)job->heads;
	struct train_head head = train_head_at(job, token, column / size);
	const uint64_t t = head.position;
	const float *row = TRAIN_AT(job->probabilities + head.squares + t * head.length,
				    head.length);
	const float *values = job->qkv + (uint64_t)head.row.first * head.wide + head.value_at +
			      column % size;
	values = TRAIN_AT(values, t * head.wide + 1);
	float sum = 0;
	for (uint64_t u = 0; u <= t; u++)
		sum = TRAIN_FUSED(row[u] * train_kept_there(job, &head, t, u),
				  values[u * head.wide], sum);
	*TRAIN_AT(job->out + item, 1) = sum;
}

/* d_scores = p * (d_p - sum of p * d_p), of a token's head. */
TRAIN_KERNEL void train_score_slopes(const struct train_attend_job *job, uint64_t item)
{
	const uint64_t heads = (uint64_t)job->heads, width = (uint64_t)job->width;
	struct train_head head = train_head_at(job, item / heads, item % heads);
	const uint64_t t = head.position, at = head.squares + t * head.length;
	const float *d_out = train_columns_of(job->d_out, &head, t, width, head.out_at);
	const float *row = TRAIN_AT(job->probabilities + at, head.length);
	float *scores = TRAIN_AT(job->scores + at, head.length);
	float sum = 0;
	for (uint64_t u = 0; u <= t; u++) {
		const float *value = train_columns_of(job->qkv, &head, u, head.wide, head.value_at);
		scores[u] = train_dot(d_out, value, head.size) * train_kept_there(job, &head, t, u);
		sum += scores[u] * row[u];
	}
	for (uint64_t u = 0; u <= t; u++)
		scores[u] = row[u] * (scores[u] - sum);
}

TRAIN_KERNEL void train_query_slopes(const struct train_attend_job *job, uint64_t item)
{
	const uint64_t width = (uint64_t)job->width, token = item / width, column = item % width;
	const uint64_t size = width / (uint64_t)job->heads;
	struct train_head head = train_head_at(job, token, column / size);
	const uint64_t t = head.position;
	const float *scores = TRAIN_AT(job->scores + head.squares + t * head.length, t + 1);
	const float *keys = job->qkv + (uint64_t)head.row.first * head.wide + head.key_at +
			    column % size;
	keys = TRAIN_AT(keys, t * head.wide + 1);
	float sum = 0;
	for (uint64_t u = 0; u <= t; u++)
		sum = TRAIN_FUSED(scores[u], keys[u * head.wide], sum);
	*TRAIN_AT(job->d_qkv + token * head.wide + head.query_at + column % size, 1) = job->scale *
										       sum;
}

/* A token's key and value have slopes from itself and those behind it. */
TRAIN_KERNEL void train_key_slopes(const struct train_attend_job *job, uint64_t item)
{
	const uint64_t width = (uint64_t)job->width, token = item / width, column = item % width;
	const uint64_t size = width / (uint64_t)job->heads;
	struct train_head head = train_head_at(job, token, column / size);
	const uint64_t u = head.position, first = (uint64_t)head.row.first, end = head.length;
	const size_t square = head.length * head.length;
	const float *scores = TRAIN_AT(job->scores + head.squares, square);
	const float *weights = TRAIN_AT(job->probabilities + head.squares, square);
	const float *queries = TRAIN_AT(job->qkv + first * head.wide + head.query_at + column % size,
					(end - 1) * head.wide + 1);
	const float *d_out = TRAIN_AT(job->d_out + first * width + column, (end - 1) * width + 1);
	float key = 0, value = 0;
	for (uint64_t t = u; t < end; t++) {
		key = TRAIN_FUSED(scores[t * end + u], queries[t * head.wide], key);
		value = TRAIN_FUSED(weights[t * end + u] * train_kept_there(job, &head, t, u),
				    d_out[t * width], value);
	}
	float *d_qkv = job->d_qkv + token * head.wide + column % size;
	*TRAIN_AT(d_qkv + head.key_at, 1) = job->scale * key;
	*TRAIN_AT(d_qkv + head.value_at, 1) = value;
}

/* ---- the optimizer's ------------------------------------------------------------------------- */

TRAIN_KERNEL void train_squares(const struct train_squares_job *job, uint64_t item)
{
	double sum = 0;
	for (uint64_t i = item; i < job->count; i += job->parts) {
		double x = (double)*TRAIN_AT(job->values + i, 1);
		sum += x * x;
	}
	*TRAIN_AT(job->sums + item, 1) = sum;
}

TRAIN_KERNEL void train_adamw(const struct train_step_job *job, uint64_t item)
{
	float *first = TRAIN_AT(job->first + item, 1), *second = TRAIN_AT(job->second + item, 1);
	float *parameter = TRAIN_AT(job->parameters + item, 1);
	float g = *TRAIN_AT(job->gradients + item, 1) * job->scale;
	float mean = *first = job->beta1 * *first + job->rest1 * g;
	float square = *second = job->beta2 * *second + job->rest2 * g * g;
	float p = *parameter - job->decay * *parameter;
	*parameter = p - job->rate * mean / (sqrtf(square) * job->root + job->epsilon);
}

TRAIN_KERNEL void train_sgd(const struct train_step_job *job, uint64_t item)
{
	float *parameter = TRAIN_AT(job->parameters + item, 1);
	float change = *TRAIN_AT(job->gradients + item, 1) * job->scale;
	if (job->first) {
		float *first = TRAIN_AT(job->first + item, 1);
		change = *first = job->momentum * *first + change;
	}
	*parameter = *parameter - job->decay * *parameter - job->rate * change;
}

#endif
