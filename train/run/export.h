/* SPDX-License-Identifier: MIT */
/*
 * Exports a training to other programs, so that they can repeat it: a line of JSON with the model's
 * shape and the optimizer's options, then arrays of 4-byte numbers. The line lists the arrays, with
 * offsets from its end:
 *
 *	{.., "arrays": [{"name": "head bias", "type": "<f4", "shape": [65], "offset": 0}, ..]}
 *	parameters   one array per tensor, in ready order
 *	rates        [steps], of learning
 *	inputs       "features" [steps][global batch][inputs], or "tokens" [..][..][context]
 *	targets      [steps][global batch][targets of an example]
 *
 * Rank r has every N-th example of a global batch, from the r-th on.
 */
#ifndef TRAIN_EXPORT_H
#define TRAIN_EXPORT_H

#include "loop.h"

/*
 * Call it before the first step: rank 0 writes the file if the options ask for one.
 * returns an exit status: STATUS_OK, or another, with a sentence on stderr
 */
int train_export(struct train_run *run);

#endif
