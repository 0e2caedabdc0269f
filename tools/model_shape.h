/* SPDX-License-Identifier: MIT */
/*
 * The gradients of well-known models as tensors, and buckets of them.
 */
#ifndef MODEL_SHAPE_H
#define MODEL_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "model_ddp.h"

#define MODEL_BUCKETS_MAX 4096

/* Elements of a model's gradient tensors, the first that backward finishes first. */
struct model_tensors {
	size_t count;
	double elements[MODEL_BUCKETS_MAX];
	double element_bytes; /* as that model is usually trained */
};

/* returns false if there is no such shape: seed001, llama7b, lab, mlp40 or seed002 */
bool model_shape_find(const char *name, struct model_tensors *tensors);

/* `parameters` in equal tensors. */
void model_shape_equal(double parameters, size_t count, struct model_tensors *tensors);

double model_shape_parameters(const struct model_tensors *tensors);

/*
 * Buckets as PyTorch closes them: after the tensor with which the cap is reached; tensors are never
 * split. Their gradients become ready evenly during `backward` seconds. returns how many
 */
size_t model_buckets_of(const struct model_tensors *tensors, double first_cap, double cap,
			double backward, struct model_bucket buckets[MODEL_BUCKETS_MAX]);

#endif
