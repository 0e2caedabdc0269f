/* SPDX-License-Identifier: MIT */
/*
 * The layers as functions of arrays: forward computes outputs, backward gradients. d_x is the
 * gradient of the loss by x. Backward adds to gradients of parameters; each function says whether
 * it adds to others or sets them. Rows are examples, or tokens of examples; only attention mixes
 * them.
 */
#ifndef TRAIN_LAYERS_H
#define TRAIN_LAYERS_H

#include "model.h"

/*
 * out[rows][outputs] = in[rows][inputs] * weight[outputs][inputs]^T + bias[outputs], which may be
 * NULL
 */
void train_linear_forward(train_real *out, const train_real *in, const train_real *weight,
			  const train_real *bias, int rows, int inputs, int outputs);
/* Sets d_in. */
void train_linear_backward_in(train_real *d_in, const train_real *d_out, const train_real *weight,
			      int rows, int inputs, int outputs);
void train_linear_backward_weight(train_real *d_weight, const train_real *d_out,
				  const train_real *in, int rows, int inputs, int outputs);
void train_linear_backward_bias(train_real *d_bias, const train_real *d_out, int rows, int outputs);

/*
 * out = (in - mean) / deviation * weight + bias in each row; bias may be NULL. statistics[rows][2]
 * keeps mean and 1/deviation for backward.
 */
void train_norm_forward(train_real *out, train_real *statistics, const train_real *in,
			const train_real *weight, const train_real *bias, int rows, int width);
/* Adds to d_in. d_bias may be NULL. */
void train_norm_backward(train_real *d_in, train_real *d_weight, train_real *d_bias,
			 const train_real *d_out, const train_real *in, const train_real *statistics,
			 const train_real *weight, int rows, int width);

/* out = f(in). `in` becomes the slope f'(in), by which backward multiplies. */
void train_activate(train_real *out, train_real *in, size_t count, enum train_activation activation);

/* values *= factors, sum += terms */
void train_scale_each(train_real *values, const train_real *factors, size_t count);
void train_add_each(train_real *sum, const train_real *terms, size_t count);

/*
 * Replaces logits[rows][classes] by their softmax. Returns the sum of the losses, in nats, over
 * rows whose target is not -1.
 */
double train_loss_forward(train_real *logits, const int32_t *targets, int rows, int classes);
/* Replaces probabilities by scale * the gradient of the logits. */
void train_loss_backward(train_real *probabilities, const int32_t *targets, train_real scale,
			 int rows, int classes);

/* out[length][width] = token_table[token] + position_table[position] */
void train_embedding_forward(train_real *out, const int32_t *tokens, const train_real *token_table,
			     const train_real *position_table, int length, int width);
void train_embedding_backward_tokens(train_real *d_token_table, const train_real *d_out,
				     const int32_t *tokens, int count, int width);

/* Decides which values dropout drops; one per example and layer. */
struct train_dropout {
	double rate;     /* 0: none */
	uint64_t stream; /* of train_random */
};

/* values *= 0 or 1/(1 - rate), by random numbers first, first + 1, .. of the stream */
void train_drop(train_real *values, size_t count, struct train_dropout dropout, uint64_t first);

/* Causal attention: a token looks at itself and those before it. */
struct train_attention {
	int context, width, heads; /* a head has width / heads columns */
	bool split; /* columns of qkv are value, query, key of the last head, .., of the first;
		       else query of all heads, key of all, value of all */
};

/*
 * For one example: out[context][width] from qkv[context][3 * width]. probabilities[heads][context]
 * [context] are kept for backward; scratch[context][context].
 */
void train_attention_forward(const struct train_attention *attention, train_real *out,
			     train_real *probabilities, train_real *scratch, const train_real *qkv,
			     struct train_dropout dropout);
/* Sets d_qkv. scratch[2][context][context] */
void train_attention_backward(const struct train_attention *attention, train_real *d_qkv,
			      train_real *scratch, const train_real *d_out,
			      const train_real *probabilities, const train_real *qkv,
			      struct train_dropout dropout);

#endif
