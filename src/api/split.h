/* SPDX-License-Identifier: MIT */
/* Splits, several at the same time: ranks of one thread need one another for them. */
#ifndef RING_SPLIT_H
#define RING_SPLIT_H

#include "comm/comm.h"

struct ring_split;

/* Behind others, in the order in which they were asked for. */
void ring_splits_append(struct ring_split **splits, struct ring_split *split);

/*
 * Carries all of them out, and frees them. returns 0; or the error of the first that failed, whose
 * communicator has the sentence
 */
int ring_splits_run(struct ring_split *splits);

/* Frees splits that were not run. */
void ring_splits_drop(struct ring_split *splits);

#endif
