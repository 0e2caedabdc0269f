/* SPDX-License-Identifier: MIT */
/*
 * Saves training so that it can go on later: one file has everything that decides the next steps. A
 * file appears complete under its name or not at all, and ends with a hash of everything before it.
 * The previous file is kept. The number of ranks is not in it.
 */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include <stdbool.h>

#include "train/model/optimizer.h"

/* Where training stands. */
struct train_state {
	uint64_t step;         /* steps done */
	uint64_t epoch;        /* the current one, from 0 */
	uint64_t position;     /* examples of the epoch that all ranks together have done */
	uint64_t seed;         /* of the order of examples, and of dropout */
	uint64_t global_batch; /* examples of a step, all ranks together */
	uint64_t data;         /* train_source_fingerprint of the examples */
};

/*
 * Makes the folder, and checks that a file can be made in it. returns 0; -1 with a sentence on
 * stderr
 */
int train_checkpoint_prepare(const char *folder);

/*
 * Locks the folder for this process, which rank 0 does for as long as it lives.
 *
 * seconds   how long to wait for it
 * returns   a descriptor for train_checkpoint_unlock; -1 with errno, EWOULDBLOCK if it is locked
 */
int train_checkpoint_lock(const char *folder, double seconds);
void train_checkpoint_unlock(int lock);

/* Whether there is a checkpoint, damaged or not; and its step, 0 if none can be read. */
bool train_checkpoint_find(const char *folder, uint64_t *step);

/*
 * Writes folder/latest.checkpoint. The old latest becomes folder/previous.checkpoint; if its hash
 * is wrong, it is dropped, and the previous one stays. Makes the folder if it is missing. returns
 * 0; -1 with a sentence on stderr, and the older files are whole
 */
int train_checkpoint_save(const char *folder, const struct train_state *state,
			  const struct train_model *model, const struct train_optimizer *optimizer);

/*
 * Reads the latest checkpoint. If it is missing, truncated or changed, says so on stderr and reads
 * the previous one. Model and optimizer must have been created with the same options. They and
 * *state are set only from a file that is right to the last bit. returns 0; -1 with a sentence on
 * stderr
 */
int train_checkpoint_load(const char *folder, struct train_state *state, struct train_model *model,
			  struct train_optimizer *optimizer);

#endif
