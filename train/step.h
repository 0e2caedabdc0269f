/* SPDX-License-Identifier: MIT */
/* One step as one rank saw it. What is told of a run is computed from these. */
#ifndef TRAIN_STEP_H
#define TRAIN_STEP_H

#include <stddef.h>
#include <stdint.h>

/* Seconds, unless another unit is said. The seven parts follow one another and fill total. */
struct train_step {
	uint64_t step; /* from 1 */
	double begin;  /* on CLOCK_MONOTONIC */
	double total;  /* from before the data to behind the optimizer */

	double data, forward, backward; /* of all micro-batches */
	double wait;                    /* exposed communication: blocked behind backward */
	double agree;                   /* adding up losses and tokens of all ranks */
	double optimizer;
	double rest; /* comparing parameters, writing checkpoints, talking */

	double busy;   /* communication of gradients under way, hidden or not */
	double hidden; /* of that, while backward ran */

	uint64_t payload_bytes, calls; /* of gradients, as sent by this rank */
	uint64_t examples, tokens;     /* that this rank trained on */
	double loss;                   /* nats per token, mean over all ranks' tokens */
	double length;                 /* of the averaged gradient, before clipping */
	double rate;                   /* of learning */
};

struct train_steps {
	struct train_step *steps;
	size_t count, room;
};

#endif
