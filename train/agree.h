/* SPDX-License-Identifier: MIT */
/*
 * What ranks must have in common: before the first step tensors and options, later the bits of the
 * parameters. All calls are collective, every rank gets the same answer and the same sentence on
 * stderr: who differs, and in what.
 */
#ifndef TRAIN_AGREE_H
#define TRAIN_AGREE_H

#include "ddp.h"

/* returns 0; RING_EMISMATCH; another RING_E code */
int train_agree_on_shapes(struct ring_comm *comm, const struct train_model *model);
int train_agree_on_options(struct ring_comm *comm, const struct train_ddp_options *options);
int train_agree_on_parameters(struct ring_comm *comm, const struct train_model *model);

/* Says on stderr what became of a call of the library. returns err */
int train_agree_failed(const struct ring_comm *comm, const char *what, int err);

#endif
