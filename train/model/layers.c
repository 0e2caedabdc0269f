/* SPDX-License-Identifier: MIT */
/*
 * All layers except attention. Inner loops run over consecutive elements, so that compilers
 * vectorise them.
 */
#include "layers.h"

#include "matmul.h"
#include "random.h"

#include <string.h>
#include <tgmath.h>

/* ---- linear ---------------------------------------------------------------------------------- */

void train_linear_forward(train_real *out, const train_real *in, const train_real *weight,
			  const train_real *bias, int rows, int inputs, int outputs)
{
	for (int i = 0; bias && i < rows; i++)
		memcpy(&out[(size_t)i * outputs], bias, outputs * sizeof(*out));
	train_matmul(out, outputs, bias ? 1 : 0, 1, train_matrix(in, rows, inputs),
		     train_transposed(train_matrix(weight, outputs, inputs)));
}

void train_linear_backward_in(train_real *d_in, const train_real *d_out, const train_real *weight,
			      int rows, int inputs, int outputs)
{
	train_matmul(d_in, inputs, 0, 1, train_matrix(d_out, rows, outputs),
		     train_matrix(weight, outputs, inputs));
}

void train_linear_backward_weight(train_real *d_weight, const train_real *d_out,
				  const train_real *in, int rows, int inputs, int outputs)
{
	train_matmul(d_weight, inputs, 1, 1, train_transposed(train_matrix(d_out, rows, outputs)),
		     train_matrix(in, rows, inputs));
}

void train_linear_backward_bias(train_real *d_bias, const train_real *d_out, int rows, int outputs)
{
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < outputs; j++)
			d_bias[j] += d_out[(size_t)i * outputs + j];
}

/* ---- normalisation --------------------------------------------------------------------------- */

/* The order of additions within a row does not matter, but is always the same. */
static train_real sum_of(const train_real *x, int count)
{
	train_real sum = 0;
#pragma omp simd reduction(+ : sum)
	for (int i = 0; i < count; i++)
		sum += x[i];
	return sum;
}

static train_real sum_of_squares(const train_real *x, train_real mean, int count)
{
	train_real sum = 0;
#pragma omp simd reduction(+ : sum)
	for (int i = 0; i < count; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return sum;
}

void train_norm_forward(train_real *out, train_real *statistics, const train_real *in,
			const train_real *weight, const train_real *bias, int rows, int width)
{
	const train_real epsilon = (train_real)1e-5;
	for (int i = 0; i < rows; i++, out += width, in += width, statistics += 2) {
		train_real mean = sum_of(in, width) / width;
		train_real scale = 1 / sqrt(sum_of_squares(in, mean, width) / width + epsilon);
		for (int j = 0; j < width; j++)
			out[j] = (in[j] - mean) * scale * weight[j];
		for (int j = 0; bias && j < width; j++)
			out[j] += bias[j];
		statistics[0] = mean;
		statistics[1] = scale;
	}
}

/*
 * With x' = (x - mean) * scale and g = d_out * weight: d_in = scale * (g - mean(g) - x' * mean(g *
 * x')), the last two because mean and scale change with every element.
 */
static void norm_row_backward(train_real *d_in, const train_real *d_out, const train_real *in,
			      const train_real *weight, train_real mean, train_real scale, int width)
{
	train_real sum = 0, sum_with_in = 0;
#pragma omp simd reduction(+ : sum, sum_with_in)
	for (int j = 0; j < width; j++) {
		train_real g = d_out[j] * weight[j];
		sum += g;
		sum_with_in += g * ((in[j] - mean) * scale);
	}
	train_real mean_g = sum / width, mean_g_in = sum_with_in / width;
	for (int j = 0; j < width; j++)
		d_in[j] += scale *
			   (d_out[j] * weight[j] - mean_g - (in[j] - mean) * scale * mean_g_in);
}

void train_norm_backward(train_real *d_in, train_real *d_weight, train_real *d_bias,
			 const train_real *d_out, const train_real *in,
			 const train_real *statistics, const train_real *weight, int rows, int width)
{
	for (int i = 0; i < rows; i++, d_in += width, d_out += width, in += width) {
		train_real mean = statistics[2 * i], scale = statistics[2 * i + 1];
		for (int j = 0; j < width; j++)
			d_weight[j] += d_out[j] * ((in[j] - mean) * scale);
		for (int j = 0; d_bias && j < width; j++)
			d_bias[j] += d_out[j];
		norm_row_backward(d_in, d_out, in, weight, mean, scale, width);
	}
}

/* ---- activations ----------------------------------------------------------------------------- */

/*
 * x * Phi(x), where Phi is the normal distribution; the slope is Phi(x) + x * phi(x). Exact, as in
 * PyTorch.
 */
static void gelu(train_real *out, train_real *in, size_t count)
{
	const train_real root_half = (train_real)0.70710678118654752440;    /* 1/sqrt(2) */
	const train_real density_at_0 = (train_real)0.39894228040143267794; /* 1/sqrt(2 pi) */
	for (size_t i = 0; i < count; i++) {
		train_real x = in[i], share = (1 + erf(x * root_half)) / 2;
		out[i] = x * share;
		in[i] = share + x * density_at_0 * exp(-x * x / 2);
	}
}

static void relu(train_real *out, train_real *in, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		out[i] = in[i] > 0 ? in[i] : 0;
		in[i] = in[i] > 0 ? 1 : 0;
	}
}

void train_activate(train_real *out, train_real *in, size_t count, enum train_activation activation)
{
	if (activation == TRAIN_GELU)
		gelu(out, in, count);
	else
		relu(out, in, count);
}

void train_scale_each(train_real *values, const train_real *factors, size_t count)
{
	for (size_t i = 0; i < count; i++)
		values[i] *= factors[i];
}

void train_add_each(train_real *sum, const train_real *terms, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sum[i] += terms[i];
}

/* ---- loss ------------------------------------------------------------------------------------ */

static double loss_of_row(train_real *logits, int32_t target, int classes)
{
	train_real largest = logits[0];
	for (int j = 1; j < classes; j++)
		largest = logits[j] > largest ? logits[j] : largest;
	double to_target = target < 0 ? 0 : (double)logits[target] - (double)largest;

	train_real sum = 0;
	for (int j = 0; j < classes; j++)
		sum += logits[j] = exp(logits[j] - largest);
	train_real scale = 1 / sum;
	for (int j = 0; j < classes; j++)
		logits[j] *= scale;
	return target < 0 ? 0 : log((double)sum) - to_target;
}

double train_loss_forward(train_real *logits, const int32_t *targets, int rows, int classes)
{
	double loss = 0;
	for (int i = 0; i < rows; i++)
		loss += loss_of_row(&logits[(size_t)i * classes], targets[i], classes);
	return loss;
}

void train_loss_backward(train_real *probabilities, const int32_t *targets, train_real scale,
			 int rows, int classes)
{
	for (int i = 0; i < rows; i++, probabilities += classes) {
		train_real row_scale = targets[i] < 0 ? 0 : scale;
		for (int j = 0; j < classes; j++)
			probabilities[j] *= row_scale;
		if (targets[i] >= 0)
			probabilities[targets[i]] -= scale;
	}
}

/* ---- embedding ------------------------------------------------------------------------------- */

void train_embedding_forward(train_real *out, const int32_t *tokens, const train_real *token_table,
			     const train_real *position_table, int length, int width)
{
	for (int i = 0; i < length; i++, out += width) {
		const train_real *token = &token_table[(size_t)tokens[i] * width];
		const train_real *position = &position_table[(size_t)i * width];
		for (int j = 0; j < width; j++)
			out[j] = token[j] + position[j];
	}
}

void train_embedding_backward_tokens(train_real *d_token_table, const train_real *d_out,
				     const int32_t *tokens, int count, int width)
{
	for (int i = 0; i < count; i++)
		train_add_each(&d_token_table[(size_t)tokens[i] * width], d_out + (size_t)i * width,
			       width);
}

/* ---- dropout --------------------------------------------------------------------------------- */

void train_drop(train_real *values, size_t count, struct train_dropout dropout, uint64_t first)
{
	if (dropout.rate == 0)
		return;
	const uint64_t limit = (uint64_t)(dropout.rate * 0x1p32);
	const train_real scale = (train_real)(1 / (1 - dropout.rate));
	for (size_t i = 0; i < count; i++) {
		bool stays = train_random(dropout.stream, first + i) >> 32 >= limit;
		values[i] *= stays ? scale : 0;
	}
}
