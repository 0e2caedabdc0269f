/* SPDX-License-Identifier: MIT */
/* The results of a run after its steps: the summary, files and plots. */
#ifndef TRAIN_OUTCOME_H
#define TRAIN_OUTCOME_H

#include "loop.h"

/* Collective: rank 0 gathers all ranks' steps, and reports. returns an exit status */
int train_outcome(const struct train_run *run);

#endif
