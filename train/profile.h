/* SPDX-License-Identifier: MIT */
/*
 * What a step is without communication, for ring_model to predict it with: how long its parts take,
 * and when in backward each bucket would be ready. The buckets are those of an overlapped run,
 * whatever the mode is; of a run that does overlap, the steps are those that hold their buckets back.
 */
#ifndef TRAIN_PROFILE_H
#define TRAIN_PROFILE_H

#include <stdbool.h>

#include "buckets.h"
#include "ddp.h"
#include "step.h"
#include "team.h"

struct train_profile {
	bool on; /* else nothing is noted */
	struct train_bucket *buckets;
	int count, next; /* buckets, and the one that gets ready next */
	double begin;    /* of backward, on CLOCK_MONOTONIC */
	double *ready;   /* [rows][count] seconds behind the start of backward, a row per step */
	size_t rows, room;
};

/* returns 0; -1 without memory, with a sentence on stderr */
int train_profile_create(struct train_profile *profile, const struct train_model *model,
			 const struct train_ddp_options *options);
void train_profile_destroy(struct train_profile *profile);

/* A micro-batch's backward begins; those before it in this step took `earlier` seconds. */
void train_profile_begin(struct train_profile *profile, double earlier);
void train_profile_ready(struct train_profile *profile, int tensor);

/* The step's last backward is done. returns 0; -1 without memory, with a sentence on stderr */
int train_profile_end(struct train_profile *profile);

/*
 * Writes the medians over all steps but the first TRAIN_SKIPPED, of each the rank's that computed
 * longest. Collective; rank 0 writes.
 *
 * steps     this rank's, one for each row
 * lost      becomes true if the file could not be written
 * returns   0; a RING_E code. All sentences are on stderr
 */
int train_profile_write(const struct train_profile *profile, struct train_team *team,
			const struct train_steps *steps, const char *path, bool *lost);

#endif
