/* SPDX-License-Identifier: MIT */
/*
 * The examples of a step depend on the seed and on the number of examples before it, not on the
 * number of ranks.
 */
#include "feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * How many examples this rank has in an epoch: those of whole steps only, or all that the sampler
 * gives.
 */
static size_t length_of_epoch(const struct train_feed *feed, const struct train_options *options,
			      int rank)
{
	size_t length = train_sampler_length(&feed->sampler);
	if (!options->drop_last)
		return length;
	size_t steps = length / feed->share, fewer = (size_t)options->uneven * (size_t)rank;
	return (steps > fewer ? steps - fewer : 0) * feed->share;
}

size_t train_feed_budget(const struct train_options *options, const struct train_source *source)
{
	size_t tokens = 0, longest = (size_t)source->tokens;
	if (options->token_budget > 0)
		return (size_t)options->token_budget;
	for (size_t i = 0; i < source->examples; i++)
		tokens += (size_t)train_source_length(source, i);
	size_t budget = (size_t)options->batch * tokens / source->examples;
	return budget > longest ? budget : longest;
}

/* Without a sampler each rank trains on all examples, in the same order as the others. */
static void share_out(struct train_feed *feed, const struct train_options *options, int ranks,
		      int rank, uint64_t seed)
{
	bool shares = options->sampler == TRAIN_SHARED_OUT;
	feed->sampler = (struct train_sampler){.examples = feed->source->examples,
					       .ranks = shares ? ranks : 1,
					       .rank = shares ? rank : 0,
					       .seed = seed,
					       .shuffles = true,
					       .drops_last = options->drop_last};
	feed->length = length_of_epoch(feed, options, rank);
}

static int complain(const char *sentence)
{
	fprintf(stderr, "ring_train: %s\n", sentence);
	return -1;
}

/* Plans an epoch; all ranks plan the same. returns 0; -1 with a sentence on stderr */
static int plan_epoch(struct train_feed *feed, uint64_t epoch)
{
	struct train_sampler all = feed->sampler;
	all.ranks = 1;
	all.rank = 0;
	size_t count = train_sampler_length(&all);
	uint64_t *examples = calloc(count, sizeof(*examples));
	int *lengths = calloc(count, sizeof(*lengths));
	train_batches_free(&feed->plan);
	for (size_t i = 0; examples && lengths && i < count; i++) {
		examples[i] = train_sampler_example(&all, epoch, i);
		lengths[i] = train_source_length(feed->source, examples[i]);
	}
	feed->rules.seed = all.seed + epoch;
	if (!lengths || !examples)
		free(examples);
	int err = lengths && examples
			  ? train_batches_plan(&feed->plan, &feed->rules, examples, lengths, count)
			  : -1;
	free(lengths);
	feed->planned = epoch;
	return err ? complain("out of memory for batches") : 0;
}

int train_feed_create(struct train_feed *feed, const struct train_options *options,
		      const struct train_source *source, int ranks, int rank, uint64_t seed)
{
	*feed = (struct train_feed){
		.source = source,
		.ranks = ranks,
		.batch = (size_t)options->batch,
		.share = (size_t)options->batch * (size_t)options->accumulate,
		.pads = options->lengths != NULL,
	};
	share_out(feed, options, ranks, rank, seed);
	if (options->batching == TRAIN_BY_SAMPLES)
		return 0;
	feed->rules = (struct train_batch_rules){
		.batching = (enum train_batching)options->batching,
		.samples = feed->batch,
		.budget = train_feed_budget(options, source),
		.ranks = (size_t)feed->sampler.ranks,
		.accumulate = (size_t)options->accumulate,
	};
	int err = plan_epoch(feed, 0);
	if (!err && feed->plan.count == 0)
		err = complain("there are too few examples for a step");
	return err;
}

void train_feed_destroy(struct train_feed *feed)
{
	train_batches_free(&feed->plan);
}

/* Steps before this position, where epochs are planned. */
static size_t steps_before(const struct train_feed *feed, uint64_t position)
{
	return (size_t)position / (feed->share * (size_t)feed->ranks);
}

bool train_feed_has_more(const struct train_feed *feed, uint64_t position)
{
	if (feed->plan.count > 0)
		return steps_before(feed, position) <
		       feed->plan.count / (feed->rules.ranks * feed->rules.accumulate);
	return (size_t)position / (size_t)feed->ranks < feed->length;
}

static int load_samples(const struct train_feed *feed, struct train_loaded *loaded, uint64_t epoch,
			uint64_t position, int micro)
{
	size_t first = (size_t)position / (size_t)feed->ranks + (size_t)micro * feed->batch;
	size_t rows = first < feed->length ? feed->length - first : 0;
	if (rows > feed->batch)
		rows = feed->batch;
	for (size_t row = 0; row < rows; row++)
		loaded->examples[row] = train_sampler_example(&feed->sampler, epoch, first + row);
	return (int)rows;
}

static int load_planned(const struct train_feed *feed, struct train_loaded *loaded,
			uint64_t position, int micro)
{
	size_t before = steps_before(feed, position) * feed->rules.accumulate + (size_t)micro;
	size_t batch = before * feed->rules.ranks + (size_t)feed->sampler.rank;
	const size_t *first = &feed->plan.first[batch];
	memcpy(loaded->examples, &feed->plan.examples[first[0]],
	       (first[1] - first[0]) * sizeof(*loaded->examples));
	return (int)(first[1] - first[0]);
}

int train_feed_load(struct train_feed *feed, struct train_loaded *loaded, uint64_t epoch,
		    uint64_t position, int micro)
{
	enum train_layout layout = feed->rules.batching == TRAIN_PACKED ? TRAIN_RAGGED
				   : feed->pads                         ? TRAIN_PADDED
									: TRAIN_FULL;
	if (feed->plan.count > 0 && feed->planned != epoch && plan_epoch(feed, epoch) != 0)
		return -1;
	int rows = feed->plan.count > 0 ? load_planned(feed, loaded, position, micro)
					: load_samples(feed, loaded, epoch, position, micro);
	train_source_load(feed->source, loaded, rows, layout);
	return rows;
}
