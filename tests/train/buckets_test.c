/* SPDX-License-Identifier: MIT */
/*
 * The bucket planner against values that others published or measured: pytorch issue #48880 for
 * ResNet-18, and what PyTorch's own planner says of other models. Tensors are written down as models
 * define them; gradients become ready in the opposite order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "train/step/buckets.h"

#define TENSORS 512
#define MIB ((size_t)1 << 20)

/* Elements of a model's tensors, in the order of its definition. */
struct tensors {
	int count;
	size_t elements[TENSORS];
};

static void add(struct tensors *tensors, size_t elements)
{
	assert_true(tensors->count < TENSORS);
	tensors->elements[tensors->count++] = elements;
}

static int plan(const struct tensors *tensors, size_t element_bytes, size_t cap,
		struct train_bucket *buckets)
{
	size_t bytes[TENSORS];
	for (int i = 0; i < tensors->count; i++)
		bytes[i] = tensors->elements[tensors->count - 1 - i] * element_bytes;
	return train_buckets_plan(bytes, tensors->count, TRAIN_FIRST_BUCKET_BYTES, cap, buckets);
}

/* ResNet-18: the 62 parameters of torchvision's, batch norms as weight and bias. */
static const size_t resnet18[] = {
	/* conv1, bn1 */
	64 * 3 * 7 * 7, 64, 64,
	/* layer1: two blocks of two convolutions */
	64 * 64 * 3 * 3, 64, 64, 64 * 64 * 3 * 3, 64, 64, /* 0 */
	64 * 64 * 3 * 3, 64, 64, 64 * 64 * 3 * 3, 64, 64, /* 1 */
	/* layer2: its first block also has a downsampling one */
	128 * 64 * 3 * 3, 128, 128, 128 * 128 * 3 * 3, 128, 128,  /* 0 */
	128 * 64, 128, 128,                                       /* 0.downsample */
	128 * 128 * 3 * 3, 128, 128, 128 * 128 * 3 * 3, 128, 128, /* 1 */
	/* layer3 */
	256 * 128 * 3 * 3, 256, 256, 256 * 256 * 3 * 3, 256, 256, 256 * 128, 256, 256,
	256 * 256 * 3 * 3, 256, 256, 256 * 256 * 3 * 3, 256, 256,
	/* layer4 */
	512 * 256 * 3 * 3, 512, 512, 512 * 512 * 3 * 3, 512, 512, 512 * 256, 512, 512,
	512 * 512 * 3 * 3, 512, 512, 512 * 512 * 3 * 3, 512, 512,
	/* fc */
	1000 * 512, 1000};

static void resnet18_has_the_buckets_of_issue_48880(void **state)
{
	static const struct {
		size_t cap, bytes[3];
	} golden[] = {
		{25 * MIB, {2052000, 28852224, 15853824}},
		{35 * MIB, {2052000, 38297600, 6408448}},
	};
	(void)state;
	struct tensors model = {0};
	for (size_t i = 0; i < sizeof(resnet18) / sizeof(resnet18[0]); i++)
		add(&model, resnet18[i]);
	assert_int_equal(model.count, 62);
	for (int g = 0; g < 2; g++) {
		struct train_bucket buckets[TENSORS];
		assert_int_equal(plan(&model, 4, golden[g].cap, buckets), 3);
		for (int b = 0; b < 3; b++)
			assert_int_equal(buckets[b].bytes, golden[g].bytes[b]);
		assert_int_equal(buckets[0].tensors, 2); /* fc */
	}
}

static struct tensors perceptron(int layers, size_t inputs, size_t width, size_t outputs)
{
	struct tensors model = {0};
	for (int layer = 0; layer < layers; layer++) {
		size_t rows = layer == layers - 1 ? outputs : width;
		add(&model, rows * (layer == 0 ? inputs : width));
		add(&model, rows);
	}
	return model;
}

static void the_lab_has_two_buckets(void **state)
{
	(void)state;
	struct tensors model = perceptron(3, 1024, 1024, 1000);
	struct train_bucket buckets[TENSORS];
	assert_int_equal(plan(&model, 4, TRAIN_BUCKET_BYTES, buckets), 2);
	assert_int_equal(buckets[0].bytes, 4100000); /* 3.91 MiB */
	assert_int_equal(buckets[1].bytes, 8396800); /* 8.01 MiB */
}

static void a_wide_layer_is_a_bucket_of_its_own(void **state)
{
	(void)state;
	struct tensors wide = perceptron(40, 4096, 4096, 4096);
	struct tensors narrow = perceptron(40, 1024, 1024, 1024);
	struct train_bucket buckets[TENSORS];
	assert_int_equal(plan(&wide, 4, TRAIN_BUCKET_BYTES, buckets), 40);
	assert_int_equal(plan(&wide, 2, TRAIN_BUCKET_BYTES, buckets), 40);
	assert_int_equal(plan(&narrow, 4, TRAIN_BUCKET_BYTES, buckets), 7);
}

static void llama_7b_has_226_buckets(void **state)
{
	enum { WIDTH = 4096, INNER = 11008, VOCABULARY = 32000, LAYERS = 32 };
	(void)state;
	struct tensors model = {0};
	add(&model, (size_t)VOCABULARY * WIDTH);
	for (int layer = 0; layer < LAYERS; layer++) {
		for (int projection = 0; projection < 4; projection++) /* q, k, v, o */
			add(&model, WIDTH * WIDTH);
		for (int projection = 0; projection < 3; projection++) /* gate, up, down */
			add(&model, INNER * WIDTH);
		add(&model, WIDTH); /* norms of input and attention */
		add(&model, WIDTH);
	}
	add(&model, WIDTH);
	add(&model, (size_t)VOCABULARY * WIDTH);
	assert_int_equal(model.count, 291);
	struct train_bucket buckets[TENSORS];
	assert_int_equal(plan(&model, 2, 25 * MIB, buckets), 226);
	assert_int_equal(plan(&model, 2, 100 * MIB, buckets), 82);
	assert_int_equal(plan(&model, 2, 250 * MIB, buckets), 44);
}

static void a_bucket_closes_when_it_reaches_its_cap(void **state)
{
	static const size_t bytes[] = {4, 6, 6, 4, 20, 2};
	static const struct {
		size_t first_cap, cap;
		int count, tensors[6];
	} cases[] = {
		{10, 10, 4, {2, 2, 1, 1}},     /* just reached */
		{11, 11, 3, {3, 2, 1}},        /* just not: the next tensor goes in whole */
		{1, 30, 3, {1, 4, 1}},         /* the first cap is the first bucket's alone */
		{0, 0, 6, {1, 1, 1, 1, 1, 1}}, /* a bucket per tensor */
		{SIZE_MAX, SIZE_MAX, 1, {6}},  /* one for all */
	};
	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct train_bucket buckets[6];
		int count = train_buckets_plan(bytes, 6, cases[c].first_cap, cases[c].cap, buckets);
		assert_int_equal(count, cases[c].count);
		for (int b = 0; b < count; b++)
			assert_int_equal(buckets[b].tensors, cases[c].tensors[b]);
	}
	assert_int_equal(train_buckets_plan(bytes, 0, 1, 1, NULL), 0);
}

/* Whatever the sizes: no gap, no overlap, and no bucket but the last is below its cap. */
static void buckets_tile_the_gradients(void **state)
{
	uint32_t random = 1;
	(void)state;
	for (int round = 0; round < 1000; round++) {
		size_t bytes[40], caps[2], offset = 0;
		struct train_bucket buckets[40];
		int tensors = 1 + round % 40, tensor = 0;
		for (int i = 0; i < tensors + 2; i++) {
			random = random * 1664525 + 1013904223;
			*(i < tensors ? &bytes[i] : &caps[i - tensors]) = random >> 22;
		}
		int count = train_buckets_plan(bytes, tensors, caps[0], caps[1], buckets);
		for (int b = 0; b < count; b++) {
			size_t sum = 0;
			assert_int_equal(buckets[b].offset, offset);
			assert_int_equal(buckets[b].first_tensor, tensor);
			for (int i = 0; i < buckets[b].tensors; i++)
				sum += bytes[tensor++];
			assert_int_equal(buckets[b].bytes, sum);
			assert_true(b == count - 1 || sum >= caps[b > 0]);
			offset += sum;
		}
		assert_int_equal(tensor, tensors);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resnet18_has_the_buckets_of_issue_48880),
		cmocka_unit_test(the_lab_has_two_buckets),
		cmocka_unit_test(a_wide_layer_is_a_bucket_of_its_own),
		cmocka_unit_test(llama_7b_has_226_buckets),
		cmocka_unit_test(a_bucket_closes_when_it_reaches_its_cap),
		cmocka_unit_test(buckets_tile_the_gradients),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
