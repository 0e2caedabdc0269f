/* SPDX-License-Identifier: MIT */
/*
 * Lists what is known without training: the tensors of a model, and the buckets of its gradients.
 */
#ifndef TRAIN_SHOW_H
#define TRAIN_SHOW_H

#include "train/step/options.h"

/* Both return an exit status. */
int train_show_model(const struct train_options *options);
int train_show_plan(const struct train_options *options);

#endif
