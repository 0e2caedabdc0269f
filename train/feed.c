/* SPDX-License-Identifier: MIT */
/*
 * Which examples a step has depends on the seed and on how many all ranks have done before, not on how
 * many ranks there are.
 */
#include "feed.h"

/* How many examples this rank has in an epoch: whole steps only, or whatever the sampler gives. */
static size_t length_of_epoch(const struct train_feed *feed, const struct train_options *options,
			      int rank)
{
	size_t length = train_sampler_length(&feed->sampler);
	if (!options->drop_last)
		return length;
	size_t steps = length / feed->share, fewer = (size_t)options->uneven * (size_t)rank;
	return (steps > fewer ? steps - fewer : 0) * feed->share;
}

/* Without a sampler each rank goes through all examples, in the same order as the others. */
void train_feed_create(struct train_feed *feed, const struct train_options *options,
		       const struct train_source *source, int ranks, int rank, uint64_t seed)
{
	bool shares = options->sampler == TRAIN_SHARED_OUT;
	*feed = (struct train_feed){
		.source = source,
		.sampler = {.examples = source->examples,
			    .ranks = shares ? ranks : 1,
			    .rank = shares ? rank : 0,
			    .seed = seed,
			    .shuffles = true,
			    .drops_last = options->drop_last},
		.ranks = ranks,
		.batch = (size_t)options->batch,
		.share = (size_t)options->batch * (size_t)options->accumulate,
	};
	feed->length = length_of_epoch(feed, options, rank);
}

bool train_feed_has_more(const struct train_feed *feed, uint64_t position)
{
	return (size_t)position / (size_t)feed->ranks < feed->length;
}

int train_feed_load(const struct train_feed *feed, struct train_loaded *loaded, uint64_t epoch,
		    uint64_t position, int micro)
{
	size_t first = (size_t)position / (size_t)feed->ranks + (size_t)micro * feed->batch;
	size_t rows = first < feed->length ? feed->length - first : 0;
	if (rows > feed->batch)
		rows = feed->batch;
	for (size_t row = 0; row < rows; row++)
		loaded->examples[row] = train_sampler_example(&feed->sampler, epoch, first + row);
	train_source_load(feed->source, loaded, (int)rows);
	return (int)rows;
}
