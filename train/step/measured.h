/* SPDX-License-Identifier: MIT */
/* One step as one rank measured it. Everything that is reported of a run is computed from these. */
#ifndef TRAIN_MEASURED_H
#define TRAIN_MEASURED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Seconds, unless another unit is said. The eight parts follow one another, and all but rest fill
 * total.
 */
struct train_step {
	uint64_t step; /* from 1 */
	double begin;  /* on CLOCK_MONOTONIC */
	double total;  /* from before the data to after the optimizer */

	double data, forward, backward; /* of all micro-batches */
	double blocked; /* until gradients are averaged, in extra calls, in barriers */
	double agree;   /* adding up losses and tokens of all ranks */
	double optimizer;
	double host; /* work beside the training */
	double rest; /* comparing parameters, writing checkpoints, printing */

	/* Blocked is waiting and exposed; see waits.h: */
	double waiting; /* until the last rank came */
	double exposed; /* from then on: communication that nothing hides */
	double extra;   /* the part of exposed in calls that are not for gradients */

	/* Time in which a call for gradients ran, from when the last rank joined it: */
	double busy;   /* hidden or not */
	double hidden; /* before the last rank's backward was over */

	bool control; /* its buckets were held back */

	uint64_t payload_bytes, calls; /* of gradients, as sent by this rank */
	uint64_t examples, tokens;     /* that this rank trained on */
	uint64_t computed;             /* tokens, with padding */
	double loss;                   /* nats per token, mean over all ranks' tokens */
	double length;                 /* of the averaged gradient, before clipping */
	double rate;                   /* of learning */
};

struct train_steps {
	struct train_step *steps;
	size_t count, room;
};

#endif
