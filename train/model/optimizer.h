/* SPDX-License-Identifier: MIT */
/*
 * Updates parameters by averaged gradients. Every rank does this by itself and must get the same
 * bits, also on a host with another CPU or C library. So it uses only additions, multiplications,
 * divisions and square roots, in a fixed order, and no functions of libm that may differ.
 */
#ifndef TRAIN_OPTIMIZER_H
#define TRAIN_OPTIMIZER_H

#include "model.h"

enum train_optimizer_kind { TRAIN_SGD, TRAIN_ADAMW };

/* What decides a step, beside the gradients. */
struct train_optimizer_options {
	enum train_optimizer_kind kind;
	double rate;         /* highest learning rate */
	double least;        /* the share of it at the end of the cosine; 1: constant */
	long warmup;         /* steps in which the rate grows from 0 */
	long steps;          /* of the whole training: where the cosine ends */
	double beta1, beta2; /* AdamW: decay of the means of gradients and of their squares */
	double epsilon;      /* AdamW */
	double momentum;     /* SGD; 0: none */
	double decay;        /* a parameter loses rate * decay of itself per step; not vectors */
	double clip;         /* the longest gradient, over all parameters; 0: any length */
};

struct train_optimizer {
	struct train_optimizer_options options;
	size_t count; /* of moments: twice the parameters, with SGD as many or none */
	/* In the order of the parameters. AdamW: running means of gradients, then of their squares;
	   SGD: velocities, if it has momentum. A checkpoint needs nothing else. */
	train_real *moments;
	const struct train_device *device; /* whose memory that is */
};

/* AdamW with a rate of 3e-4 and the usual values of the others. */
void train_optimizer_defaults(struct train_optimizer_options *options);

/* On the model's device. returns 0; -1 with a sentence on stderr */
int train_optimizer_create(struct train_optimizer *optimizer,
			   const struct train_optimizer_options *options,
			   const struct train_model *model);
void train_optimizer_destroy(struct train_optimizer *optimizer);

/* The learning rate of a step, counted from 0: linear from 0, then half a cosine. */
double train_optimizer_rate(const struct train_optimizer_options *options, long step);

/*
 * Makes one step, counted from 0, and sets the gradients to zero. They are multiplied by `scale`
 * first, then clipped. returns the gradient's length before clipping
 */
double train_optimizer_step(struct train_optimizer *optimizer, struct train_model *model,
			    double scale, long step);

/* How a preset is usually trained. */
struct train_recipe {
	int rows; /* per rank */
	struct train_optimizer_options optimizer;
};

/* returns false if there is no such preset */
bool train_preset_recipe(const char *name, struct train_recipe *recipe);

#endif
