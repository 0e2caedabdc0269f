/* SPDX-License-Identifier: MIT */
/* Which examples a rank trains on, step by step. */
#ifndef TRAIN_FEED_H
#define TRAIN_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/data/batches.h"
#include "options.h"
#include "train/data/sampler.h"
#include "train/data/source.h"

struct train_feed {
	const struct train_source *source;
	struct train_sampler sampler;
	int ranks;
	size_t batch;  /* examples of a micro-batch */
	size_t share;  /* of this rank in a step */
	size_t length; /* of this rank in an epoch */
	bool pads;     /* examples have different lengths */

	/* Not for TRAIN_BY_SAMPLES: whole epochs are planned. */
	struct train_batch_rules rules;
	struct train_batches plan;
	uint64_t planned; /* the epoch of the plan */
};

/* The default tokens of a micro-batch: as many as options->batch examples have on average. */
size_t train_feed_budget(const struct train_options *options, const struct train_source *source);

/*
 * The options are settled; the source stays the caller's, and must outlive the feed. returns 0; -1
 * with a sentence on stderr: no memory, or too few examples for a step
 */
int train_feed_create(struct train_feed *feed, const struct train_options *options,
		      const struct train_source *source, int ranks, int rank, uint64_t seed);
void train_feed_destroy(struct train_feed *feed);

/*
 * Whether this rank has examples left; position counts the examples that all ranks have done in
 * this epoch.
 */
bool train_feed_has_more(const struct train_feed *feed, uint64_t position);

/*
 * Loads the examples of a micro-batch. returns how many there are; 0 if the rank ran out; -1
 * without memory
 */
int train_feed_load(struct train_feed *feed, struct train_loaded *loaded, uint64_t epoch,
		    uint64_t position, int micro);

#endif
