/* SPDX-License-Identifier: MIT */
/* The results of a run after its steps: the summary, files and plots. */
#ifndef TRAIN_OUTCOME_H
#define TRAIN_OUTCOME_H

#include "loop.h"
#include "train/report/summary.h"

/* Collective: rank 0 reports, and writes the files. returns an exit status */
int train_outcome(struct train_run *run);

/* After a failure, on the rank that speaks for all: writes trace and plot of what is known. */
void train_outcome_rescue(const struct train_run *run);

/* What is known of the run beside its steps. */
void train_outcome_facts(const struct train_run *run, struct train_facts *facts);

#endif
