/* SPDX-License-Identifier: MIT */
/* Presets and their tensors, ready order, the start, and batches: in float, as they are trained. */
#include "train/model/optimizer.h"
#include "train/model/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct train_model *make_preset(const char *name, uint64_t seed)
{
	struct train_shape shape;
	struct train_model *model;
	assert_true(train_preset(name, &shape));
	assert_int_equal(train_model_create(&model, &shape, 1, seed), 0);
	return model;
}

static void sizes_of_presets(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t parameters;
		int tensors;
	} presets[] = {
		{"seed000", 816705, 94},        {"lab", 3124200, 6},     {"gpt4m", 4017152, 33},
		{"nanogpt-char", 10745088, 39}, {"mlp40", 41984000, 80},
	};
	for (size_t i = 0; i < sizeof(presets) / sizeof(*presets); i++) {
		struct train_model *model = make_preset(presets[i].name, 1);
		struct train_recipe recipe;
		assert_int_equal(model->parameter_count, presets[i].parameters);
		assert_int_equal(model->tensor_count, presets[i].tensors);
		assert_true(train_preset_recipe(presets[i].name, &recipe));
		assert_true(recipe.rows > 0 && recipe.optimizer.rate > 0);
		train_model_destroy(model);
	}
	assert_false(train_preset("none", NULL));
	assert_false(train_preset_recipe("none", NULL));
}

/* The tensors of a preset, from one on, have these names and shapes. */
static void assert_tensors(const struct train_model *model, int first, const char *const *lines,
			   int count)
{
	for (int i = 0; i < count; i++) {
		const struct train_tensor *tensor = &model->tensors[first + i];
		char line[96];
		snprintf(line, sizeof(line), "%s %d x %d", tensor->name, tensor->rows,
			 tensor->columns);
		assert_string_equal(line, lines[i]);
		assert_int_equal(tensor->decays, tensor->columns > 1);
	}
}

/* The order in which PyTorch's DDP hears of the gradients of the same model. */
static void ready_order_of_seed000(void **state)
{
	(void)state;
	static const char *const first[] = {
		"head bias 65 x 1",
		"head weight 65 x 128",
		"final norm weight 128 x 1",
		"final norm bias 128 x 1",
		"block 3 feed-forward 2 bias 128 x 1",
		"block 3 feed-forward 2 weight 128 x 512",
		"block 3 feed-forward 1 bias 512 x 1",
		"block 3 feed-forward 1 weight 512 x 128",
		"block 3 norm 2 weight 128 x 1",
		"block 3 norm 2 bias 128 x 1",
		"block 3 projection bias 128 x 1",
		"block 3 projection weight 128 x 128",
		"block 3 head 3 value weight 32 x 128",
		"block 3 head 3 query weight 32 x 128",
		"block 3 head 3 key weight 32 x 128",
		"block 3 head 2 value weight 32 x 128",
	};
	static const char *const last[] = {
		"block 0 head 0 key weight 32 x 128", "block 0 norm 1 weight 128 x 1",
		"block 0 norm 1 bias 128 x 1",        "position embedding 64 x 128",
		"token embedding 65 x 128",
	};
	struct train_model *model = make_preset("seed000", 1);
	assert_tensors(model, 0, first, 16);
	assert_tensors(model, model->tensor_count - 5, last, 5);
	train_model_destroy(model);
}

static void ready_order_of_a_tied_head(void **state)
{
	(void)state;
	static const char *const first[] = {
		"final norm weight 256 x 1",
		"block 4 feed-forward 2 weight 256 x 1024",
		"block 4 feed-forward 1 weight 1024 x 256",
		"block 4 norm 2 weight 256 x 1",
		"block 4 projection weight 256 x 256",
		"block 4 attention weight 768 x 256",
		"block 4 norm 1 weight 256 x 1",
	};
	static const char *const last[] = {"position embedding 256 x 256",
					   "token embedding 65 x 256"};
	struct train_model *model = make_preset("gpt4m", 1);
	assert_tensors(model, 0, first, 7);
	assert_tensors(model, model->tensor_count - 2, last, 2);
	train_model_destroy(model);
}

static void ready_order_of_an_mlp(void **state)
{
	(void)state;
	static const char *const all[] = {
		"layer 2 bias 1000 x 1", "layer 2 weight 1000 x 1024",
		"layer 1 bias 1024 x 1", "layer 1 weight 1024 x 1024",
		"layer 0 bias 1024 x 1", "layer 0 weight 1024 x 1024",
	};
	struct train_model *model = make_preset("lab", 1);
	assert_tensors(model, 0, all, 6);
	train_model_destroy(model);
}

static void tensors_fill_the_arrays(void **state)
{
	(void)state;
	struct train_model *model = make_preset("seed000", 1);
	size_t offset = 0;
	for (int i = 0; i < model->tensor_count; i++) {
		assert_int_equal(model->tensors[i].offset, offset);
		assert_int_equal(model->tensors[i].count,
				 model->tensors[i].rows * model->tensors[i].columns);
		offset += model->tensors[i].count;
	}
	assert_int_equal(offset, model->parameter_count);
	train_model_destroy(model);
}

/* ---- the start ------------------------------------------------------------------------------- */

static uint64_t hash_of(const struct train_model *model)
{
	uint64_t hash = 0;
	for (size_t i = 0; i < model->parameter_count; i++) {
		uint32_t bits;
		memcpy(&bits, &model->parameters[i], sizeof(bits));
		hash = train_mix(hash ^ bits) + i;
	}
	return hash;
}

/* These numbers are the same on every machine. */
static void starts_alike_everywhere(void **state)
{
	(void)state;
	struct train_model *gpt = make_preset("seed000", 1), *again = make_preset("seed000", 1);
	struct train_model *other = make_preset("seed000", 2), *lab = make_preset("lab", 1);
	assert_int_equal(hash_of(gpt), hash_of(again));
	assert_int_not_equal(hash_of(gpt), hash_of(other));
	assert_int_equal(hash_of(gpt), UINT64_C(0xb46a8fe268ba6819));
	assert_int_equal(hash_of(lab), UINT64_C(0x3885a023a9674bce));
	train_model_destroy(gpt);
	train_model_destroy(again);
	train_model_destroy(other);
	train_model_destroy(lab);
}

static void starts_as_drawn(void **state)
{
	(void)state;
	static const char *const presets[] = {"seed000", "lab"};
	for (int i = 0; i < 2; i++) {
		struct train_model *model = make_preset(presets[i], 1);
		for (int j = 0; j < model->tensor_count; j++) {
			const struct train_tensor *tensor = &model->tensors[j];
			double sum = 0, squares = 0, count = (double)tensor->count;
			for (size_t k = 0; k < tensor->count; k++) {
				double x = model->parameters[tensor->offset + k] / tensor->spread;
				sum += x;
				squares += x * x;
			}
			double mean = sum / count, deviation = 5 / sqrt(count);
			if (tensor->draw == TRAIN_NORMAL) {
				assert_true(fabs(mean) < deviation);
				assert_true(fabs(squares / count - 1) < 2 * deviation);
			} else if (tensor->draw == TRAIN_UNIFORM) {
				assert_true(fabs(mean) < deviation);
				assert_true(fabs(squares / count - 1.0 / 3) < deviation);
			} else if (tensor->spread != 0) {
				assert_true(mean == 1 && squares == count);
			}
		}
		train_model_destroy(model);
	}
}

static void starts_knowing_nothing(void **state)
{
	(void)state;
	struct train_model *model = make_preset("seed000", 1);
	int32_t tokens[64], targets[64];
	for (int i = 0; i < 64; i++) {
		tokens[i] = i;
		targets[i] = i % 2 ? 64 - i : -1;
	}
	long counted;
	double loss = train_model_forward(
		model, &(struct train_batch){1, .tokens = tokens, .targets = targets}, &counted);
	assert_int_equal(counted, 32);
	assert_true(fabs(loss / 32 - log(65)) < 0.1);
	train_model_destroy(model);
}

/* ---- batches --------------------------------------------------------------------------------- */

enum { ROWS = 6, CONTEXT = 16 };
static const struct train_shape small = {TRAIN_GPT,        TRAIN_GELU,   .layers = 2,
					 .width = 32,      .heads = 4,   .context = CONTEXT,
					 .vocabulary = 20, .tied = true, .dropout = 0.2};
static int32_t tokens[ROWS * CONTEXT], targets[ROWS * CONTEXT];
static const uint64_t examples[ROWS] = {4, 1, 9, 2, 2, 7};

static int fill_batch(void **state)
{
	(void)state;
	for (int i = 0; i < ROWS * CONTEXT; i++) {
		tokens[i] = (int32_t)(train_random(1, i) % 20);
		targets[i] = (int32_t)(train_random(2, i) % 21) - 1;
	}
	return 0;
}

static struct train_batch rows_of_batch(int first, int rows, uint64_t key)
{
	return (struct train_batch){
		.rows = rows,
		.tokens = tokens + first * CONTEXT,
		.targets = targets + first * CONTEXT,
		.dropout_key = key,
		.examples = examples + first,
	};
}

static struct train_model *make_small(void)
{
	struct train_model *model;
	assert_int_equal(train_model_create(&model, &small, ROWS, 1), 0);
	return model;
}

static double forward(struct train_model *model, const struct train_batch *batch)
{
	long counted;
	return train_model_forward(model, batch, &counted);
}

struct watch {
	const struct train_model *model;
	int calls;
	train_real *seen; /* gradients, each as it was when it was ready */
};

static void watch_ready(void *context, int tensor)
{
	struct watch *watch = context;
	const struct train_tensor *t = &watch->model->tensors[tensor];
	assert_int_equal(tensor, watch->calls++);
	memcpy(watch->seen + t->offset, watch->model->gradients + t->offset,
	       t->count * sizeof(*watch->seen));
}

static void each_is_ready_once_in_order_and_final(void **state)
{
	(void)state;
	static const struct train_shape mlp = {TRAIN_MLP, .layers = 2, .width = 8, .inputs = 4,
					       .outputs = 3};
	static const float features[ROWS * 4] = {1, -1, 2};
	static const int32_t classes[ROWS] = {0, 1, 2, 1, 0, -1};
	for (int rows = 0; rows <= ROWS; rows += ROWS) {
		for (int i = 0; i < 2; i++) {
			struct train_model *model;
			assert_int_equal(train_model_create(&model, i ? &mlp : &small, ROWS, 1), 0);
			struct train_batch batch = rows_of_batch(0, rows, 1);
			if (i)
				batch = (struct train_batch){rows, features, .targets = classes};
			size_t bytes = model->parameter_count * sizeof(train_real);
			struct watch watch = {.model = model, .seen = malloc(bytes)};
			forward(model, &batch);
			train_model_backward(model, &batch, 1, watch_ready, &watch);
			assert_int_equal(watch.calls, model->tensor_count);
			assert_memory_equal(watch.seen, model->gradients, bytes);
			free(watch.seen);
			train_model_destroy(model);
		}
	}
}

/* However a batch is divided, the same is left out, and gradients add up. */
static void parts_add_up_to_the_whole(void **state)
{
	(void)state;
	struct train_model *whole = make_small(), *parts = make_small();
	struct train_batch batch = rows_of_batch(0, ROWS, 5);
	double loss = forward(whole, &batch), sum = 0;
	train_model_backward(whole, &batch, (train_real)0.125, NULL, NULL);
	for (int first = 0; first < ROWS; first += 2) {
		batch = rows_of_batch(first, 2, 5);
		sum += forward(parts, &batch);
		train_model_backward(parts, &batch, (train_real)0.125, NULL, NULL);
	}
	assert_true(fabs(loss - sum) < 1e-5 * loss);
	double largest = 0, difference = 0;
	for (size_t i = 0; i < whole->parameter_count; i++) {
		largest = fmax(largest, fabs(whole->gradients[i]));
		difference = fmax(difference, fabs(whole->gradients[i] - parts->gradients[i]));
	}
	assert_true(largest > 0 && difference < 1e-5 * largest);
	train_model_destroy(whole);
	train_model_destroy(parts);
}

static train_real *find_tensor(const struct train_model *model, const char *name)
{
	int i = 0;
	while (i < model->tensor_count && strcmp(model->tensors[i].name, name) != 0)
		i++;
	if (i == model->tensor_count)
		fail_msg("there is no tensor %s", name);
	return model->parameters + model->tensors[i].offset;
}

/* [3 * width][width]: queries of all heads, their keys, their values */
static void copy_heads(const struct train_model *split, train_real *fused, int block)
{
	static const char *const parts[] = {"query", "key", "value"};
	size_t count = (size_t)small.width / small.heads * small.width;
	for (int part = 0; part < 3; part++) {
		for (int head = 0; head < small.heads; head++, fused += count) {
			char name[48];
			snprintf(name, sizeof(name), "block %d head %d %s weight", block, head,
				 parts[part]);
			memcpy(fused, find_tensor(split, name), count * sizeof(*fused));
		}
	}
}

/* Only the order of tensors tells heads of their own from those in one matrix. */
static void split_heads_are_heads(void **state)
{
	(void)state;
	struct train_shape shape = small;
	struct train_model *fused = make_small(), *split;
	shape.split_heads = true;
	assert_int_equal(train_model_create(&split, &shape, ROWS, 1), 0);
	assert_int_equal(fused->parameter_count, split->parameter_count);
	for (int i = 0; i < fused->tensor_count; i++) {
		const struct train_tensor *tensor = &fused->tensors[i];
		train_real *to = fused->parameters + tensor->offset;
		int block, end = 0;
		sscanf(tensor->name, "block %d attention%n", &block, &end);
		if (end)
			copy_heads(split, to, block);
		else
			memcpy(to, find_tensor(split, tensor->name), tensor->count * sizeof(*to));
	}
	struct train_batch batch = rows_of_batch(0, ROWS, 5);
	double loss = forward(fused, &batch);
	assert_true(fabs(forward(split, &batch) - loss) < 1e-6 * loss);
	train_model_destroy(split);
	train_model_destroy(fused);
}

static void dropout_depends_on_key_and_example(void **state)
{
	(void)state;
	struct train_model *model = make_small();
	struct train_batch batch = rows_of_batch(3, 1, 5), same = rows_of_batch(3, 1, 5);
	double loss = forward(model, &batch);
	assert_true(forward(model, &same) == loss);
	same.dropout_key = 6;
	assert_true(forward(model, &same) != loss);
	same.dropout_key = 0;
	double kept = forward(model, &same);
	assert_true(kept != loss);
	same.examples = NULL; /* nobody asks who they are */
	assert_true(forward(model, &same) == kept);
	same = batch;
	same.examples = &examples[0];
	assert_true(forward(model, &same) != loss);
	train_model_destroy(model);
}

static void bad_shapes_are_refused(void **state)
{
	(void)state;
	struct train_shape shape = small;
	struct train_model *model = NULL;
	shape.heads = 5;
	assert_int_equal(train_model_create(&model, &shape, 1, 1), -1);
	shape = small;
	shape.dropout = 1;
	assert_int_equal(train_model_create(&model, &shape, 1, 1), -1);
	shape = small;
	shape.biases = true;
	assert_int_equal(train_model_create(&model, &shape, 1, 1), -1);
	assert_int_equal(train_model_create(&model, &small, 0, 1), -1);
	shape = (struct train_shape){TRAIN_MLP, .layers = 1, .width = 1, .inputs = 1};
	assert_int_equal(train_model_create(&model, &shape, 1, 1), -1);
	assert_null(model);
	train_model_destroy(NULL);
}

/* Forward, backward and optimizer together: a sequence is learned by heart. */
static void learns(void **state)
{
	(void)state;
	struct train_model *model = make_small();
	struct train_recipe recipe;
	struct train_optimizer optimizer;
	assert_true(train_preset_recipe("lab", &recipe));
	recipe.optimizer.rate = 1e-2;
	assert_int_equal(train_optimizer_create(&optimizer, &recipe.optimizer, model), 0);
	struct train_batch batch = rows_of_batch(0, 3, 0);
	long counted;
	double loss = train_model_forward(model, &batch, &counted);
	assert_true(loss / (double)counted > 2.5);
	for (int i = 0; i < 100; i++) {
		loss = train_model_forward(model, &batch, &counted);
		train_model_backward(model, &batch, 1, NULL, NULL);
		train_optimizer_step(&optimizer, model, 1 / (double)counted, i);
	}
	assert_true(loss / (double)counted < 0.2);
	train_optimizer_destroy(&optimizer);
	train_model_destroy(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_of_presets),
		cmocka_unit_test(ready_order_of_seed000),
		cmocka_unit_test(ready_order_of_a_tied_head),
		cmocka_unit_test(ready_order_of_an_mlp),
		cmocka_unit_test(tensors_fill_the_arrays),
		cmocka_unit_test(starts_alike_everywhere),
		cmocka_unit_test(starts_as_drawn),
		cmocka_unit_test(starts_knowing_nothing),
		cmocka_unit_test(each_is_ready_once_in_order_and_final),
		cmocka_unit_test(parts_add_up_to_the_whole),
		cmocka_unit_test(split_heads_are_heads),
		cmocka_unit_test(dropout_depends_on_key_and_example),
		cmocka_unit_test(bad_shapes_are_refused),
		cmocka_unit_test(learns),
	};
	return cmocka_run_group_tests(tests, fill_batch, NULL);
}
