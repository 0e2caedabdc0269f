/* SPDX-License-Identifier: MIT */
/* Shapes of models. */
#include "shape.h"

#include <string.h>

static void add(struct model_tensors *tensors, double elements)
{
	tensors->elements[tensors->count++] = elements;
}

/* Adds the weight and bias of a linear layer; a bias is ready before its weight. */
static void add_linear(struct model_tensors *tensors, double inputs, double outputs)
{
	add(tensors, outputs);
	add(tensors, inputs * outputs);
}

/* The tutorial's model: only its size is known, and that it makes 50 to 100 calls. */
static void make_seed001(struct model_tensors *tensors)
{
	model_shape_equal(7e9, 100, tensors);
	tensors->element_bytes = 2;
}

/* 32 layers of 4096, feed-forward 11008, 32000 tokens: 291 tensors. */
static void make_llama7b(struct model_tensors *tensors)
{
	const double width = 4096, hidden = 11008, vocabulary = 32000;
	tensors->element_bytes = 2;
	add(tensors, vocabulary * width); /* head */
	add(tensors, width);              /* norm */
	for (int layer = 0; layer < 32; layer++) {
		add(tensors, width);
		add(tensors, width);
		for (int i = 0; i < 3; i++) /* down, up, gate */
			add(tensors, width * hidden);
		for (int i = 0; i < 4; i++) /* output, value, key, query */
			add(tensors, width * width);
	}
	add(tensors, vocabulary * width); /* embedding */
}

/* Three linear layers, 1024-1024-1024-1000. */
static void make_lab(struct model_tensors *tensors)
{
	tensors->element_bytes = 4;
	add_linear(tensors, 1024, 1000);
	add_linear(tensors, 1024, 1024);
	add_linear(tensors, 1024, 1024);
}

static void make_layers(struct model_tensors *tensors, int layers, double width)
{
	tensors->element_bytes = 4;
	for (int layer = 0; layer < layers; layer++)
		add_linear(tensors, width, width);
}

/* Like ring_train's preset of this name. */
static void make_mlp40(struct model_tensors *tensors)
{
	make_layers(tensors, 40, 1024);
}

static void make_seed002(struct model_tensors *tensors)
{
	make_layers(tensors, 40, 4096);
}

bool model_shape_find(const char *name, struct model_tensors *tensors)
{
	static const struct {
		const char *name;
		void (*make)(struct model_tensors *tensors);
	} shapes[] = {{"seed001", make_seed001},
		      {"llama7b", make_llama7b},
		      {"lab", make_lab},
		      {"mlp40", make_mlp40},
		      {"seed002", make_seed002}};
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (strcmp(shapes[i].name, name) == 0) {
			tensors->count = 0;
			shapes[i].make(tensors);
			return true;
		}
	return false;
}

void model_shape_equal(double parameters, size_t count, struct model_tensors *tensors)
{
	tensors->count = 0;
	for (size_t i = 0; i < count && i < MODEL_BUCKETS_MAX; i++)
		add(tensors, parameters / (double)count);
}

double model_shape_parameters(const struct model_tensors *tensors)
{
	double sum = 0;
	for (size_t i = 0; i < tensors->count; i++)
		sum += tensors->elements[i];
	return sum;
}

size_t model_buckets_of(const struct model_tensors *tensors, double first_cap, double cap,
			double backward, struct model_bucket buckets[MODEL_BUCKETS_MAX])
{
	double total = model_shape_parameters(tensors), made = 0, bytes = 0;
	size_t count = 0;
	for (size_t i = 0; i < tensors->count; i++) {
		made += tensors->elements[i];
		bytes += tensors->elements[i] * tensors->element_bytes;
		if (bytes < (count == 0 ? first_cap : cap) && i + 1 < tensors->count)
			continue;
		buckets[count++] = (struct model_bucket){.bytes = bytes,
							 .ready = backward * made / total};
		bytes = 0;
	}
	return count;
}
