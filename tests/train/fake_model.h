/* SPDX-License-Identifier: MIT */
/*
 * A model without layers: tensors of all sizes, and gradients that everybody can compute for every
 * rank, so that a test knows what the average should be.
 */
#ifndef FAKE_MODEL_H
#define FAKE_MODEL_H

#include "train/model/model.h"

/* `tensors` tensors, sizes and parameters drawn from seed. NULL without memory. */
struct train_model *fake_model_create(int tensors, uint64_t seed);
void fake_model_destroy(struct train_model *model);

/* Element `i` of the sum over `rows` examples that `rank` has in `step`. */
float fake_gradient(int rank, int step, int rows, size_t i);

/* Adds that to the gradients, tensor by tensor, and says so after every few of them. */
void fake_backward(struct train_model *model, int rank, int step, int rows, train_ready *ready,
		   void *context);

#endif
