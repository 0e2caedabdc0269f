/* SPDX-License-Identifier: MIT */
/*
 * The time of one step of data-parallel training, under three assumptions:
 *
 *	sum     nothing overlaps: compute + communication
 *	max     everything overlaps: the longer of the two
 *	event   bucket k starts when backward has finished it and bucket k-1 is done
 *
 *	forward   backward                              optimizer
 *	|--------|------t0-----t1---------------t2-----|...........|-----|
 *	                 [ c0 ]  [     c1     ] [  c2    ]         exposed: from the end of backward
 *	                                                            to the end of c2
 */
#ifndef MODEL_DDP_H
#define MODEL_DDP_H

#include <stddef.h>

/* The times of a rank's computing; seconds. */
struct model_compute {
	double data, forward, backward, optimizer;
	double slowdown; /* backward takes 1 + slowdown as long while there is communication */
};

struct model_bucket {
	double bytes;
	double ready; /* seconds after the start of backward */
	double cost;  /* seconds of its all-reduce            */
};

struct model_step {
	double compute, communication;
	double sum, max, event;
	double exposed; /* communication after backward */
};

double model_compute_total(const struct model_compute *compute);

/* When a bucket's all-reduce begins: it is ready, and the one before it has ended. */
double model_bucket_begin(const struct model_bucket *bucket, double before_ended);

/* buckets[count] are in the order in which they are sent */
struct model_step model_step_of(const struct model_compute *compute,
				const struct model_bucket buckets[], size_t count);

#endif
