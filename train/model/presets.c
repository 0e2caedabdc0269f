/* SPDX-License-Identifier: MIT */
/* Models with a name, and how people usually train them. */
#include "optimizer.h"

#include <string.h>

#define ADAMW(...)                                                                                 \
	{                                                                                          \
		TRAIN_ADAMW, .beta1 = 0.9, .epsilon = 1e-8, __VA_ARGS__                            \
	}

static const struct {
	const char *name;
	struct train_shape shape;
	struct train_recipe recipe;
} presets[] = {
	/* The GPT of a lecture: split heads, biases. 816,705 parameters in 94 tensors. */
	{"seed000",
	 {TRAIN_GPT, TRAIN_RELU, .layers = 4, .width = 128, .heads = 4, .context = 64,
	  .vocabulary = 65, .split_heads = true, .biases = true},
	 {32, ADAMW(.rate = 1e-3, .beta2 = 0.999, .decay = 0.01, .least = 1)}},
	/* A perceptron of three layers. 3,124,200 parameters. */
	{"lab",
	 {TRAIN_MLP, TRAIN_GELU, .layers = 3, .width = 1024, .inputs = 1024, .outputs = 1000},
	 {128, ADAMW(.rate = 1e-3, .beta2 = 0.999, .decay = 0.01, .least = 1)}},
	/* As in nanoGPT: one matrix for queries, keys and values, a tied head, no biases. */
	{"gpt4m",
	 {TRAIN_GPT, TRAIN_GELU, .layers = 5, .width = 256, .heads = 8, .context = 256,
	  .vocabulary = 65, .tied = true},
	 {8, ADAMW(.rate = 1e-3, .beta2 = 0.99, .decay = 0.1, .clip = 1, .warmup = 100,
		   .steps = 5000, .least = 0.1)}},
	{"nanogpt-char",
	 {TRAIN_GPT, TRAIN_GELU, .layers = 6, .width = 384, .heads = 6, .context = 256,
	  .vocabulary = 65, .tied = true, .dropout = 0.2},
	 {64, ADAMW(.rate = 1e-3, .beta2 = 0.99, .decay = 0.1, .clip = 1, .warmup = 100,
		    .steps = 5000, .least = 0.1)}},
	/* Deep, with equal layers: 80 tensors. */
	{"mlp40",
	 {TRAIN_MLP, TRAIN_RELU, .layers = 40, .width = 1024, .inputs = 1024, .outputs = 1024},
	 {64, {TRAIN_SGD, .rate = 0.01, .momentum = 0.9, .least = 1}}},
};

static int find(const char *name)
{
	const int count = sizeof(presets) / sizeof(*presets);
	int i = 0;
	while (i < count && strcmp(presets[i].name, name) != 0)
		i++;
	return i < count ? i : -1;
}

bool train_preset(const char *name, struct train_shape *shape)
{
	int preset = find(name);
	if (preset >= 0)
		*shape = presets[preset].shape;
	return preset >= 0;
}

bool train_preset_recipe(const char *name, struct train_recipe *recipe)
{
	int preset = find(name);
	if (preset >= 0)
		*recipe = presets[preset].recipe;
	return preset >= 0;
}
