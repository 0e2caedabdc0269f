/* SPDX-License-Identifier: MIT */
/*
 * Training that can go on after it was interrupted: all that decides about the steps to come, in one
 * file. A file appears complete under its name or not at all, and ends with a hash of everything
 * before; the one before it is kept. How many ranks there are is not in it.
 */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include "optimizer.h"

/* Where training stands. */
struct train_state {
	uint64_t step;         /* steps done */
	uint64_t epoch;        /* the current one, from 0 */
	uint64_t position;     /* examples of it that all ranks together have done */
	uint64_t seed;         /* of the order of examples and of dropout */
	uint64_t global_batch; /* examples of a step, all ranks together */
	uint64_t data;         /* train_source_fingerprint of the examples */
};

/* Makes the folder, and tries whether a file can be made there. returns 0; -1 with a sentence on stderr */
int train_checkpoint_prepare(const char *folder);

/*
 * Writes folder/latest.checkpoint; what had that name becomes folder/previous.checkpoint, unless its hash
 * is wrong: then it is lost, and the previous one stays. The folder is made if it is not there.
 * returns 0; -1 with a sentence on stderr, and the older files are whole
 */
int train_checkpoint_save(const char *folder, const struct train_state *state,
			  const struct train_model *model, const struct train_optimizer *optimizer);

/*
 * Reads the latest checkpoint or, if it is missing, truncated or changed, says so on stderr and
 * reads the previous one. Model and optimizer were created alike; *state and they are set only by a
 * file that is right to the last bit. returns 0; -1 with a sentence on stderr
 */
int train_checkpoint_load(const char *folder, struct train_state *state, struct train_model *model,
			  struct train_optimizer *optimizer);

#endif
