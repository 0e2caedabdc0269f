/* SPDX-License-Identifier: MIT */
/* What is made of a run once its steps are done: the summary, its files and plots. */
#ifndef TRAIN_OUTCOME_H
#define TRAIN_OUTCOME_H

#include "loop.h"

/* Collective: all ranks' steps meet on rank 0, which reports. returns an exit status */
int train_outcome(const struct train_run *run);

#endif
