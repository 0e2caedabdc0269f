/* SPDX-License-Identifier: MIT */
/*
 * Training on more and more ranks, each with the same batch: how its efficiency falls, and why. The
 * cause is found by removing one at a time.
 */
#ifndef MODEL_SCALING_H
#define MODEL_SCALING_H

#include "tools/model/call.h"
#include "ddp.h"

#define MODEL_GOOD_EFFICIENCY 0.8

enum model_cause {
	MODEL_NO_CAUSE,     /* nothing is removed                                            */
	MODEL_BUCKET_COUNT, /* costs per call come once per step                             */
	MODEL_LATENCY,      /* messages and calls cost only their bytes                      */
	MODEL_SLOW_TIER,    /* links between hosts are like those within a host              */
	MODEL_BANDWIDTH,    /* bytes cost nothing                                            */
	MODEL_CAUSES,
};

const char *model_cause_name(enum model_cause cause);
const char *model_cause_absence(enum model_cause cause); /* "if messages had no latency" */

struct model_training {
	struct model_compute compute;
	struct model_bucket *buckets; /* [count]; costs are filled in for each question */
	size_t count;
	double jitter; /* standard deviation of a rank's compute, seconds */
};

/* A step on `ranks` ranks, as if `away` did not exist. */
struct model_step model_training_step(const struct model_training *training,
				      const struct model_machine *machine, int ranks,
				      enum model_cause away);

/* The time of a step in ring_train's mode: "off", "naive", "flat" or "overlap". */
double model_step_in_mode(const struct model_training *training, const struct model_machine *machine,
			  int ranks, const char *mode, double *exposed);

/* Weak efficiency: computing alone / the step, by the event model. */
double model_training_efficiency(const struct model_training *training,
				 const struct model_machine *machine, int ranks,
				 enum model_cause away);

/*
 * The first cause, in the order above, without which efficiency is good. If no single one is
 * enough, the one without which it is best, and *enough is false.
 */
enum model_cause model_training_cause(const struct model_training *training,
				      const struct model_machine *machine, int ranks, bool *enough);

#endif
