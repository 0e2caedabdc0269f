/* SPDX-License-Identifier: MIT */
/*
 * Causal attention, head after head; T = context, S = columns of a head:
 *
 *	scores [T][T]         = query [T][S] * key^T [S][T] / sqrt(S)
 *	probabilities [T][T]  = softmax of each row up to the diagonal, 0 after it
 *	out [T][S]            = probabilities, some left out, * value [T][S]
 */
#include "layers.h"

#include "matmul.h"

#include <string.h>
#include <tgmath.h>

/* One head's columns of qkv. */
struct head {
	int query_at, key_at, value_at;        /* first columns in qkv */
	int out_at;                            /* in out */
	train_real scale;                      /* of scores */
	struct train_matrix query, key, value; /* [context][size] */
};

static struct train_matrix columns(const train_real *at, int rows, int count, int stride)
{
	return (struct train_matrix){at, rows, count, stride, false};
}

static struct head find_head(const struct train_attention *attention, const train_real *qkv,
			     int number)
{
	int context = attention->context, width = attention->width;
	int size = width / attention->heads, own = number * size;
	int last_first = 3 * (attention->heads - 1 - number) * size;

	struct head head = {own, width + own, 2 * width + own, .out_at = own};
	if (attention->split) {
		head.value_at = last_first;
		head.query_at = last_first + size;
		head.key_at = last_first + 2 * size;
	}
	head.scale = 1 / sqrt((train_real)size);
	head.query = columns(qkv + head.query_at, context, size, 3 * width);
	head.key = columns(qkv + head.key_at, context, size, 3 * width);
	head.value = columns(qkv + head.value_at, context, size, 3 * width);
	return head;
}

/* Turns rows of scores into probabilities; those after the diagonal become 0. */
static void causal_softmax(train_real *scores, int context)
{
	for (int t = 0; t < context; t++) {
		train_real *row = &scores[(size_t)t * context];
		train_real largest = row[0], sum = 0;
		for (int u = 1; u <= t; u++)
			largest = row[u] > largest ? row[u] : largest;
		for (int u = 0; u <= t; u++)
			sum += row[u] = exp(row[u] - largest);
		train_real scale = 1 / sum;
		for (int u = 0; u <= t; u++)
			row[u] *= scale;
		memset(row + t + 1, 0, (context - t - 1) * sizeof(*row));
	}
}

/* Turns d_probabilities into d_scores = p * (d_p - sum of p * d_p), also 0 after the diagonal. */
static void causal_softmax_backward(train_real *d, const train_real *probabilities, int context)
{
	for (int t = 0; t < context; t++, d += context, probabilities += context) {
		train_real sum = 0;
#pragma omp simd reduction(+ : sum)
		for (int u = 0; u <= t; u++)
			sum += d[u] * probabilities[u];
		for (int u = 0; u <= t; u++)
			d[u] = probabilities[u] * (d[u] - sum);
		memset(d + t + 1, 0, (context - t - 1) * sizeof(*d));
	}
}

/* Drops some of a head's values[context][context] up to the diagonal; those after it are 0. */
static void causal_drop(train_real *values, int head, int context, struct train_dropout dropout)
{
	for (int t = 0; t < context; t++)
		train_drop(values + (size_t)t * context, t + 1, dropout,
			   ((uint64_t)head * context + t) * context);
}

/* The probabilities of a head after dropout. */
static const train_real *drop_some(train_real *scratch, const train_real *probabilities, int head,
				   int context, struct train_dropout dropout)
{
	if (dropout.rate == 0)
		return probabilities;
	memcpy(scratch, probabilities, (size_t)context * context * sizeof(*scratch));
	causal_drop(scratch, head, context, dropout);
	return scratch;
}

void train_attention_forward(const struct train_attention *attention, train_real *out,
			     train_real *probabilities, train_real *scratch, const train_real *qkv,
			     struct train_dropout dropout)
{
	int context = attention->context, width = attention->width;
	for (int i = 0; i < attention->heads; i++, probabilities += (size_t)context * context) {
		struct head head = find_head(attention, qkv, i);
		train_matmul(probabilities, context, 0, head.scale, head.query,
			     train_transposed(head.key));
		causal_softmax(probabilities, context);
		const train_real *weights = drop_some(scratch, probabilities, i, context, dropout);
		train_matmul(out + head.out_at, width, 0, 1,
			     train_matrix(weights, context, context), head.value);
	}
}

static void head_backward(const struct train_attention *attention, int number, train_real *d_qkv,
			  train_real *scratch, const train_real *d_out,
			  const train_real *probabilities, const train_real *qkv,
			  struct train_dropout dropout)
{
	int context = attention->context, width = attention->width;
	size_t count = (size_t)context * context;
	struct head head = find_head(attention, qkv, number);
	struct train_matrix d_head = columns(d_out + head.out_at, context, head.value.columns,
					     width);
	const train_real *weights = drop_some(scratch + count, probabilities, number, context,
					      dropout);
	train_matmul(d_qkv + head.value_at, 3 * width, 0, 1,
		     train_transposed(train_matrix(weights, context, context)), d_head);

	train_real *d_scores = scratch;
	train_matmul(d_scores, context, 0, 1, d_head, train_transposed(head.value));
	causal_drop(d_scores, number, context, dropout);
	causal_softmax_backward(d_scores, probabilities, context);
	struct train_matrix scores = train_matrix(d_scores, context, context);
	train_matmul(d_qkv + head.query_at, 3 * width, 0, head.scale, scores, head.key);
	train_matmul(d_qkv + head.key_at, 3 * width, 0, head.scale, train_transposed(scores),
		     head.query);
}

void train_attention_backward(const struct train_attention *attention, train_real *d_qkv,
			      train_real *scratch, const train_real *d_out,
			      const train_real *probabilities, const train_real *qkv,
			      struct train_dropout dropout)
{
	size_t count = (size_t)attention->context * attention->context;
	for (int i = 0; i < attention->heads; i++)
		head_backward(attention, i, d_qkv, scratch, d_out, probabilities + i * count, qkv,
			      dropout);
}
