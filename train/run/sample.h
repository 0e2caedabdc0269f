/* SPDX-License-Identifier: MIT */
/* What a GPT has learned, as people read it: a text that it writes. */
#ifndef TRAIN_SAMPLE_H
#define TRAIN_SAMPLE_H

#include "loop.h"

/*
 * After a quarter, half, three quarters and all of the steps, if --sample is given: draws a text
 * from the model, and prints it on rank 0. Ranks with the same parameters draw the same text, so
 * none waits for another. returns an exit status
 */
int train_sample_if_due(struct train_run *run, bool last);

#endif
