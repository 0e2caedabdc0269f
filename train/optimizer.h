/* SPDX-License-Identifier: MIT */
/*
 * From averaged gradients to new parameters. Every rank does this by itself and must get the same bits,
 * also on a host with another CPU or C library: so only additions, multiplications, divisions and
 * square roots are used, in a fixed order, and nothing of libm that may differ.
 */
#ifndef TRAIN_OPTIMIZER_H
#define TRAIN_OPTIMIZER_H

#include "model.h"

enum train_optimizer_kind { TRAIN_SGD, TRAIN_ADAMW };

/* What decides about a step, beside gradients. */
struct train_optimizer_options {
	enum train_optimizer_kind kind;
	double rate;         /* highest learning rate */
	double least;        /* share of it that is left at the end of the cosine; 1: constant */
	long warmup;         /* steps in which the rate grows from 0 */
	long steps;          /* of the whole training: where the cosine ends */
	double beta1, beta2; /* AdamW: memory of gradients and of their squares */
	double epsilon;      /* AdamW */
	double momentum;     /* SGD; 0: none */
	double decay;        /* per step, rate * this of each parameter; not of vectors */
	double clip;         /* longest gradient over all parameters; 0: any */
};

struct train_optimizer {
	struct train_optimizer_options options;
	size_t count; /* of moments: twice the parameters, with SGD as many or none */
	/* As the parameters are laid out. AdamW: running means of gradients, then of their squares;
	   SGD: velocities, if it has momentum. Nothing else is to be saved. */
	train_real *moments;
};

/* AdamW at 3e-4, and its usual companions. */
void train_optimizer_defaults(struct train_optimizer_options *options);

/* For so many parameters. returns 0; -1 with a sentence on stderr */
int train_optimizer_create(struct train_optimizer *optimizer,
			   const struct train_optimizer_options *options, size_t parameters);
void train_optimizer_destroy(struct train_optimizer *optimizer);

/* The learning rate of a step, counted from 0: linear from 0, then half a cosine. */
double train_optimizer_rate(const struct train_optimizer_options *options, long step);

/*
 * One step, counted from 0, after which the gradients are zero. They are multiplied by `scale` first,
 * then clipped. returns the gradient's length before it was clipped
 */
double train_optimizer_step(struct train_optimizer *optimizer, struct train_model *model,
			    double scale, long step);

/* How people usually train a preset. returns false if there is no such preset */
struct train_recipe {
	int rows; /* per rank */
	struct train_optimizer_options optimizer;
};
bool train_preset_recipe(const char *name, struct train_recipe *recipe);

#endif
