/* SPDX-License-Identifier: MIT */
/*
 * The profile of a step without communication, from which ring_model predicts steps: how long its
 * parts take, and when in backward each bucket would be ready. The buckets are those of an
 * overlapped run, in any mode. In an overlapped run, only steps that hold their buckets back count.
 */
#ifndef TRAIN_PROFILE_H
#define TRAIN_PROFILE_H

#include <stdbool.h>

#include "train/step/buckets.h"
#include "train/step/ddp.h"
#include "train/step/measured.h"
#include "train/step/team.h"

struct train_profile {
	bool on; /* else nothing is noted */
	struct train_bucket *buckets;
	int count, next; /* of buckets; the bucket that is ready next */
	double begin;    /* of backward, on CLOCK_MONOTONIC */
	double *ready;   /* [rows][count] seconds after the start of backward, a row per step */
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
 * Writes the medians over steps without the first TRAIN_SKIPPED; each step's values are those of
 * the rank that computed longest. Collective; rank 0 writes.
 *
 * steps     this rank's, one for each row
 * lost      becomes true if the file could not be written
 * returns   0; a RING_E code. All sentences are on stderr
 */
int train_profile_write(const struct train_profile *profile, struct train_team *team,
			const struct train_steps *steps, const char *path, bool *lost);

#endif
