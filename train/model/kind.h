/* SPDX-License-Identifier: MIT */
/* What a kind of model, mlp.c or gpt.c, provides to model.c. */
#ifndef TRAIN_KIND_H
#define TRAIN_KIND_H

#include "parts.h"

struct train_kind {
	/* What is wrong with the shape, "heads do not divide the width"; NULL: nothing */
	const char *(*complaint)(const struct train_shape *shape);
	int (*most_tensors)(const struct train_shape *shape);
	/* Adds the tensors, in ready order, and allocates work. returns 0, or -1 without memory */
	int (*create)(struct train_model *model);
	/* Sets where the activations lie, or only counts them. */
	void (*place)(const struct train_model *model, struct train_pieces *pieces);
	double (*forward)(struct train_model *model, const struct train_batch *batch, long *counted);
	void (*backward)(struct train_pass *pass, const struct train_batch *batch, train_real scale);
};

extern const struct train_kind train_mlp, train_gpt;

/* [tokens][vocabulary], the device's; see train_model_probabilities() */
const train_real *train_gpt_probabilities(const struct train_model *model);

#endif
