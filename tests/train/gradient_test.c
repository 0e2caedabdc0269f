/* SPDX-License-Identifier: MIT */
/*
 * Every layer's backward, and that of whole models, against central differences in double. A layer's
 * loss is the sum of its outputs, each times a random number, which is then the gradient d_out.
 */
#include "train/model/layers.h"
#include "train/model/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STEP 1e-5
#define TOLERANCE 1e-7 /* of 1 + the gradient */

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

typedef double loss_function(void *context);

static double moved(loss_function *loss, void *context, double *x, double distance)
{
	double was = *x;
	*x = was + distance;
	double found = loss(context);
	*x = was;
	return found;
}

/* Two central differences, so that the third derivative cancels out. */
static double slope(loss_function *loss, void *context, double *x)
{
	double near = moved(loss, context, x, STEP) - moved(loss, context, x, -STEP);
	double far = moved(loss, context, x, 2 * STEP) - moved(loss, context, x, -2 * STEP);
	return (8 * near - far) / (12 * STEP);
}

/* d_x is the gradient of the loss by x */
static void check(const char *what, loss_function *loss, void *context, double *x,
		  const double *d_x, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		double expected = slope(loss, context, &x[i]);
		if (!(fabs(d_x[i] - expected) <= TOLERANCE * (1 + fabs(expected))))
			fail_msg("%s[%zu]: gradient %.12g, differences say %.12g", what, i, d_x[i],
				 expected);
	}
}

/* -1..1 */
static void fill(double *x, size_t count, uint64_t seed)
{
	for (size_t i = 0; i < count; i++)
		x[i] = (double)(train_random(seed, i) >> 11) * 0x1p-52 - 1;
}

static double weighted(const double *out, const double *weights, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += out[i] * weights[i];
	return sum;
}

/* ---- linear ---------------------------------------------------------------------------------- */

enum { ROWS = 5, INPUTS = 7, OUTPUTS = 9 };

struct linear {
	double in[ROWS * INPUTS], weight[OUTPUTS * INPUTS], bias[OUTPUTS];
	double out[ROWS * OUTPUTS], d_out[ROWS * OUTPUTS];
	bool biased;
};

static double linear_loss(void *context)
{
	struct linear *l = context;
	train_linear_forward(l->out, l->in, l->weight, l->biased ? l->bias : NULL, ROWS, INPUTS,
			     OUTPUTS);
	return weighted(l->out, l->d_out, LENGTH(l->out));
}

static void linear(void **state)
{
	(void)state;
	struct linear l = {.biased = false};
	fill(l.in, LENGTH(l.in), 1);
	fill(l.weight, LENGTH(l.weight), 2);
	fill(l.bias, LENGTH(l.bias), 3);
	fill(l.d_out, LENGTH(l.d_out), 4);
	for (int i = 0; i < 2; i++, l.biased = true) {
		double d_in[ROWS * INPUTS], d_weight[OUTPUTS * INPUTS] = {0}, d_bias[OUTPUTS] = {0};
		train_linear_backward_in(d_in, l.d_out, l.weight, ROWS, INPUTS, OUTPUTS);
		train_linear_backward_weight(d_weight, l.d_out, l.in, ROWS, INPUTS, OUTPUTS);
		train_linear_backward_bias(d_bias, l.d_out, ROWS, OUTPUTS);
		check("in", linear_loss, &l, l.in, d_in, LENGTH(d_in));
		check("weight", linear_loss, &l, l.weight, d_weight, LENGTH(d_weight));
		if (l.biased)
			check("bias", linear_loss, &l, l.bias, d_bias, LENGTH(d_bias));
	}
}

/* ---- normalisation --------------------------------------------------------------------------- */

enum { WIDTH = 11 };

struct norm {
	double in[ROWS * WIDTH], weight[WIDTH], bias[WIDTH];
	double out[ROWS * WIDTH], d_out[ROWS * WIDTH], statistics[ROWS * 2];
	bool biased;
};

static double norm_loss(void *context)
{
	struct norm *n = context;
	train_norm_forward(n->out, n->statistics, n->in, n->weight, n->biased ? n->bias : NULL,
			   ROWS, WIDTH);
	return weighted(n->out, n->d_out, LENGTH(n->out));
}

static void norm(void **state)
{
	(void)state;
	struct norm n = {.biased = false};
	fill(n.in, LENGTH(n.in), 1);
	fill(n.weight, LENGTH(n.weight), 2);
	fill(n.bias, LENGTH(n.bias), 3);
	fill(n.d_out, LENGTH(n.d_out), 4);
	for (int i = 0; i < 2; i++, n.biased = true) {
		double d_in[ROWS * WIDTH] = {0}, d_weight[WIDTH] = {0}, d_bias[WIDTH] = {0};
		norm_loss(&n);
		train_norm_backward(d_in, d_weight, n.biased ? d_bias : NULL, n.d_out, n.in,
				    n.statistics, n.weight, ROWS, WIDTH);
		check("in", norm_loss, &n, n.in, d_in, LENGTH(d_in));
		check("weight", norm_loss, &n, n.weight, d_weight, LENGTH(d_weight));
		if (n.biased)
			check("bias", norm_loss, &n, n.bias, d_bias, LENGTH(d_bias));
	}
}

static void norm_gives_mean_0_and_variance_1(void **state)
{
	(void)state;
	double in[WIDTH], out[WIDTH], weight[WIDTH], statistics[2], sum = 0, squares = 0;
	fill(in, WIDTH, 5);
	for (int i = 0; i < WIDTH; i++)
		weight[i] = 1;
	train_norm_forward(out, statistics, in, weight, NULL, 1, WIDTH);
	for (int i = 0; i < WIDTH; i++) {
		sum += out[i];
		squares += out[i] * out[i];
	}
	assert_true(fabs(sum) < 1e-12);
	assert_true(fabs(squares / WIDTH - 1) < 1e-4);
}

/* ---- activations ----------------------------------------------------------------------------- */

struct activation {
	double in[32], out[32], d_out[32];
	enum train_activation which;
};

static double activation_loss(void *context)
{
	struct activation *a = context;
	double slopes[LENGTH(a->in)];
	memcpy(slopes, a->in, sizeof(slopes));
	train_activate(a->out, slopes, LENGTH(slopes), a->which);
	return weighted(a->out, a->d_out, LENGTH(a->out));
}

static void activations(void **state)
{
	(void)state;
	static const enum train_activation all[] = {TRAIN_GELU, TRAIN_RELU};
	for (size_t i = 0; i < LENGTH(all); i++) {
		struct activation a = {.which = all[i]};
		double d_in[LENGTH(a.in)];
		fill(a.in, LENGTH(a.in), 6);
		for (size_t j = 0; j < LENGTH(a.in); j++)
			a.in[j] *= 4;
		fill(a.d_out, LENGTH(a.d_out), 7);
		memcpy(d_in, a.in, sizeof(d_in));
		train_activate(a.out, d_in, LENGTH(d_in), a.which);
		train_scale_each(d_in, a.d_out, LENGTH(d_in));
		check("in", activation_loss, &a, a.in, d_in, LENGTH(d_in));
	}
}

static void known_values_of_activations(void **state)
{
	(void)state;
	double in[] = {-1, 0, 1, 2}, out[4];
	train_activate(out, in, 4, TRAIN_GELU);
	assert_true(fabs(out[0] + 0.15865525393145707) < 1e-15);
	assert_true(out[1] == 0 && in[1] == 0.5);
	assert_true(fabs(out[2] - 0.84134474606854293) < 1e-15);
	assert_true(fabs(out[3] - 1.9544997361036416) < 1e-15);
}

/* ---- loss ------------------------------------------------------------------------------------ */

enum { CLASSES = 6 };
static const int32_t classes[ROWS] = {3, -1, 0, 5, 3};

static double cross_entropy(void *context)
{
	double logits[ROWS * CLASSES];
	memcpy(logits, context, sizeof(logits));
	return train_loss_forward(logits, classes, ROWS, CLASSES);
}

static void loss(void **state)
{
	(void)state;
	double logits[ROWS * CLASSES], d[ROWS * CLASSES];
	fill(logits, LENGTH(logits), 8);
	memcpy(d, logits, sizeof(d));
	train_loss_forward(d, classes, ROWS, CLASSES);
	train_loss_backward(d, classes, 1, ROWS, CLASSES);
	check("logits", cross_entropy, logits, logits, d, LENGTH(d));
}

static void loss_of_equal_logits_is_log_of_classes(void **state)
{
	(void)state;
	double logits[CLASSES] = {700, 700, 700, 700, 700, 700};
	double found = train_loss_forward(logits, classes, 1, CLASSES);
	assert_true(fabs(found - log(CLASSES)) < 1e-14);
}

/* ---- embedding ------------------------------------------------------------------------------- */

enum { CONTEXT = 4, EXAMPLES = 3, VOCABULARY = 5 };
static const int32_t tokens[EXAMPLES * CONTEXT] = {0, 1, 2, 3, 4, 0, 1, 1, 1, 3, 0, 4};

struct embedding {
	double token_table[VOCABULARY * WIDTH], position_table[CONTEXT * WIDTH];
	double out[EXAMPLES * CONTEXT * WIDTH], d_out[EXAMPLES * CONTEXT * WIDTH];
};

static double embedding_loss(void *context)
{
	struct embedding *e = context;
	for (int i = 0; i < EXAMPLES; i++)
		train_embedding_forward(&e->out[i * CONTEXT * WIDTH], &tokens[i * CONTEXT],
					e->token_table, e->position_table, CONTEXT, WIDTH);
	return weighted(e->out, e->d_out, LENGTH(e->out));
}

static void embedding(void **state)
{
	(void)state;
	struct embedding e;
	double d_tokens[VOCABULARY * WIDTH] = {0}, d_positions[CONTEXT * WIDTH] = {0};
	fill(e.token_table, LENGTH(e.token_table), 9);
	fill(e.position_table, LENGTH(e.position_table), 10);
	fill(e.d_out, LENGTH(e.d_out), 11);
	for (int i = 0; i < EXAMPLES; i++)
		train_add_each(d_positions, &e.d_out[i * CONTEXT * WIDTH], CONTEXT * WIDTH);
	train_embedding_backward_tokens(d_tokens, e.d_out, tokens, EXAMPLES * CONTEXT, WIDTH);
	check("tokens", embedding_loss, &e, e.token_table, d_tokens, LENGTH(d_tokens));
	check("positions", embedding_loss, &e, e.position_table, d_positions, LENGTH(d_positions));
}

/* ---- attention ------------------------------------------------------------------------------- */

enum { T = 6, C = 8, HEADS = 2 };

struct attention {
	struct train_attention shape;
	struct train_dropout dropout;
	double qkv[T * 3 * C], out[T * C], d_out[T * C];
	double probabilities[HEADS * T * T], scratch[2 * T * T];
};

static double attention_loss(void *context)
{
	struct attention *a = context;
	train_attention_forward(&a->shape, a->out, a->probabilities, a->scratch, a->qkv, a->dropout);
	return weighted(a->out, a->d_out, LENGTH(a->out));
}

static void check_attention(bool split, double rate)
{
	struct attention a = {.shape = {T, C, HEADS, split}, .dropout = {rate, 77}};
	double d_qkv[T * 3 * C];
	fill(a.qkv, LENGTH(a.qkv), 12);
	fill(a.d_out, LENGTH(a.d_out), 13);
	attention_loss(&a);
	train_attention_backward(&a.shape, d_qkv, a.scratch, a.d_out, a.probabilities, a.qkv,
				 a.dropout);
	check("qkv", attention_loss, &a, a.qkv, d_qkv, LENGTH(d_qkv));
}

static void attention(void **state)
{
	(void)state;
	check_attention(false, 0);
	check_attention(true, 0);
	check_attention(false, 0.3);
	check_attention(true, 0.3);
}

/* Token t's value is the mean of those up to t, weighted by exp(query * key / sqrt(size)). */
static void attention_is_a_weighted_mean(void **state)
{
	(void)state;
	enum { SIZE = C / HEADS };
	struct attention a = {.shape = {T, C, HEADS, false}};
	fill(a.qkv, LENGTH(a.qkv), 15);
	attention_loss(&a);
	for (int t = 0; t < T; t++) {
		for (int j = 0; j < C; j++) {
			double sum = 0, weights = 0;
			for (int u = 0; u <= t; u++) {
				const double *query = &a.qkv[t * 3 * C + j / SIZE * SIZE];
				const double *key = &a.qkv[u * 3 * C + C + j / SIZE * SIZE];
				double weight = exp(weighted(query, key, SIZE) / sqrt(SIZE));
				sum += weight * a.qkv[u * 3 * C + 2 * C + j];
				weights += weight;
			}
			assert_true(fabs(a.out[t * C + j] - sum / weights) < 1e-14);
		}
	}
}

static void nobody_sees_the_future(void **state)
{
	(void)state;
	struct attention a = {.shape = {T, C, HEADS, false}};
	double before[T * C];
	fill(a.qkv, LENGTH(a.qkv), 14);
	attention_loss(&a);
	memcpy(before, a.out, sizeof(before));
	a.qkv[(T - 1) * 3 * C] += 1;
	a.qkv[(T - 1) * 3 * C + 2 * C] += 1;
	attention_loss(&a);
	assert_memory_equal(a.out, before, (T - 1) * C * sizeof(double));
	assert_memory_not_equal(a.out + (T - 1) * C, before + (T - 1) * C, C * sizeof(double));
}

/* ---- dropout --------------------------------------------------------------------------------- */

static void dropout_leaves_out_its_share(void **state)
{
	(void)state;
	enum { COUNT = 100000 };
	static double x[COUNT], part[1000];
	for (int i = 0; i < COUNT; i++)
		x[i] = 1;
	for (int i = 0; i < 1000; i++)
		part[i] = 1;
	train_drop(x, COUNT, (struct train_dropout){0.2, 5}, 0);
	int dropped = 0;
	for (int i = 0; i < COUNT; i++) {
		assert_true(x[i] == 0 || x[i] == 1.25);
		dropped += x[i] == 0;
	}
	assert_in_range(dropped, 19400, 20600); /* 20000 +- 5 standard deviations */
	train_drop(part, 1000, (struct train_dropout){0.2, 5}, 3000);
	assert_memory_equal(part, x + 3000, sizeof(part));
}

/* ---- whole models ---------------------------------------------------------------------------- */

struct run {
	struct train_model *model;
	struct train_batch batch;
};

static double model_loss(void *context)
{
	struct run *run = context;
	long counted;
	return train_model_forward(run->model, &run->batch, &counted);
}

static void check_model(const struct train_shape *shape, const struct train_batch *batch)
{
	struct run run = {.batch = *batch};
	assert_int_equal(train_model_create(&run.model, shape, batch->rows, 3), 0);
	struct train_model *model = run.model;
	/* Far from the start, where gradients are larger. */
	for (size_t i = 0; i < model->parameter_count; i++)
		model->parameters[i] *= 5;
	model_loss(&run);
	train_model_backward(model, batch, 1, NULL, NULL);
	for (int i = 0; i < model->tensor_count; i++) {
		const struct train_tensor *tensor = &model->tensors[i];
		check(tensor->name, model_loss, &run, model->parameters + tensor->offset,
		      model->gradients + tensor->offset, tensor->count);
	}
	train_model_destroy(model);
}

static void mlp(void **state)
{
	(void)state;
	struct train_shape shape = {.kind = TRAIN_MLP, .width = 6, .inputs = 4, .outputs = 5};
	static const float features[] = {1, 2, 3, 4, -1, 0, 1, 0.5f, 2, -2, 0.25f, 1};
	static const int32_t targets[] = {4, -1, 0};
	struct train_batch batch = {.rows = 3, .features = features, .targets = targets};
	for (shape.layers = 1; shape.layers <= 3; shape.layers++) {
		shape.activation = TRAIN_GELU;
		check_model(&shape, &batch);
		shape.activation = TRAIN_RELU;
		check_model(&shape, &batch);
	}
}

static void gpt(void **state)
{
	(void)state;
	static const uint64_t examples[EXAMPLES] = {8, 3, 5};
	static const int32_t targets[EXAMPLES * CONTEXT] = {1, 2, 3, 4, 0, -1, 1, 1, 3, 0, 4, 2};
	struct train_shape shape = {TRAIN_GPT,
				    TRAIN_GELU,
				    .layers = 2,
				    .width = 8,
				    .heads = 2,
				    .context = CONTEXT,
				    .vocabulary = VOCABULARY};
	struct train_batch batch = {EXAMPLES, .tokens = tokens, .targets = targets,
				    .dropout_key = 9, .examples = examples};
	for (int variant = 0; variant < 8; variant++) {
		shape.split_heads = variant & 1;
		shape.tied = variant & 2;
		shape.biases = !shape.tied;
		shape.dropout = variant & 4 ? 0.25 : 0;
		check_model(&shape, &batch);
	}
}

/* Rows of different lengths, one behind the other. */
static void ragged_gpt(void **state)
{
	(void)state;
	static const int lengths[EXAMPLES] = {3, 1, CONTEXT};
	static const int32_t targets[EXAMPLES * CONTEXT] = {1, 2, 3, 4, 0, -1, 1, 1, 3, 0, 4, 2};
	struct train_shape shape = {TRAIN_GPT,
				    TRAIN_GELU,
				    .layers = 2,
				    .width = 8,
				    .heads = 2,
				    .context = CONTEXT,
				    .vocabulary = VOCABULARY,
				    .biases = true};
	struct train_batch batch = {EXAMPLES, .tokens = tokens, .targets = targets,
				    .lengths = lengths};
	check_model(&shape, &batch);
}

/* Each row's loss is what it has alone: rows do not look at one another, nor at what pads them. */
static void rows_are_by_themselves(void **state)
{
	(void)state;
	static const int lengths[EXAMPLES] = {3, 1, CONTEXT};
	static const int32_t targets[EXAMPLES * CONTEXT] = {1, 2, 3, 4, 0, 1, 1, 1, 3, 0, 4, 2};
	const struct train_shape shape = {TRAIN_GPT,
					  TRAIN_GELU,
					  .layers = 2,
					  .width = 8,
					  .heads = 2,
					  .context = CONTEXT,
					  .vocabulary = VOCABULARY};
	struct train_batch batch = {EXAMPLES, .tokens = tokens, .targets = targets,
				    .lengths = lengths};
	struct train_model *model;
	double sum = 0;
	long counted;
	assert_int_equal(train_model_create(&model, &shape, EXAMPLES, 3), 0);
	double together = train_model_forward(model, &batch, &counted);
	assert_int_equal(counted, 3 + 1 + CONTEXT);
	for (int row = 0, at = 0; row < EXAMPLES; at += lengths[row++]) {
		int32_t padded[CONTEXT] = {0}, aimed[CONTEXT];
		for (int i = 0; i < CONTEXT; i++) {
			padded[i] = i < lengths[row] ? tokens[at + i] : 0;
			aimed[i] = i < lengths[row] ? targets[at + i] : -1;
		}
		struct train_batch alone = {1, .tokens = padded, .targets = aimed};
		sum += train_model_forward(model, &alone, &counted);
	}
	assert_float_equal(together, sum, 1e-12 * sum);
	train_model_destroy(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linear),
		cmocka_unit_test(norm),
		cmocka_unit_test(norm_gives_mean_0_and_variance_1),
		cmocka_unit_test(activations),
		cmocka_unit_test(known_values_of_activations),
		cmocka_unit_test(loss),
		cmocka_unit_test(loss_of_equal_logits_is_log_of_classes),
		cmocka_unit_test(embedding),
		cmocka_unit_test(attention),
		cmocka_unit_test(attention_is_a_weighted_mean),
		cmocka_unit_test(nobody_sees_the_future),
		cmocka_unit_test(dropout_leaves_out_its_share),
		cmocka_unit_test(mlp),
		cmocka_unit_test(gpt),
		cmocka_unit_test(ragged_gpt),
		cmocka_unit_test(rows_are_by_themselves),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
