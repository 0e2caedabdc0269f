/* SPDX-License-Identifier: MIT */
/*
 * Checks what ranks must have in common: tensors and options before the first step, the bits of the
 * parameters later. All calls are collective. Every rank gets the same answer, and the same
 * sentence on stderr, which names the rank that differs and the difference.
 */
#ifndef TRAIN_AGREE_H
#define TRAIN_AGREE_H

#include "ddp.h"

/* returns 0; RING_EMISMATCH; another RING_E code */
int train_agree_on_shapes(struct ring_comm *comm, const struct train_model *model);
int train_agree_on_options(struct ring_comm *comm, const struct train_ddp_options *options);
int train_agree_on_parameters(struct ring_comm *comm, const struct train_model *model);

/* Says on stderr how a call of the library failed. returns err */
int train_agree_failed(const struct ring_comm *comm, const char *what, int err);

#endif
