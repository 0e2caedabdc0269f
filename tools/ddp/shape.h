/* SPDX-License-Identifier: MIT */
/*
 * The gradient tensors of well-known models, and their buckets.
 */
#ifndef MODEL_SHAPE_H
#define MODEL_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "ddp.h"

#define MODEL_BUCKETS_MAX 4096

/* Elements of a model's gradient tensors, in the order in which backward finishes them. */
struct model_tensors {
	size_t count;
	double elements[MODEL_BUCKETS_MAX];
	double element_bytes; /* usual for that model */
};

/* returns false if there is no such shape: seed001, llama7b, lab, mlp40 or seed002 */
bool model_shape_find(const char *name, struct model_tensors *tensors);

/* `parameters` in equal tensors. */
void model_shape_equal(double parameters, size_t count, struct model_tensors *tensors);

double model_shape_parameters(const struct model_tensors *tensors);

/*
 * Makes buckets as PyTorch does: each is closed after the tensor that reaches the cap; tensors are
 * never split. Gradients become ready evenly during `backward` seconds. returns how many buckets
 * there are
 */
size_t model_buckets_of(const struct model_tensors *tensors, double first_cap, double cap,
			double backward, struct model_bucket buckets[MODEL_BUCKETS_MAX]);

#endif
