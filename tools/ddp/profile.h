/* SPDX-License-Identifier: MIT */
/*
 * Reads what ring_train writes: profiles of a step without communication, and records of runs.
 *
 * A profile is one object; seconds, and buckets in the order in which they are sent:
 *
 *	{"data": 0.001, "forward": 0.02, "backward": 0.04, "optimizer": 0.003,
 *	 "buckets": [{"bytes": 4096000, "ready": 0.012}, ...]}
 *
 * A record (--json) has a JSON object per line. The one with "record": "run" has "ranks", "mode"
 * and "transports"; the last one, with "record": "summary", has the metrics.
 */
#ifndef MODEL_PROFILE_H
#define MODEL_PROFILE_H

#include <stdbool.h>

#include "ddp.h"
#include "tools/model/call.h"
#include "shape.h"

struct model_run {
	int ranks;
	char mode[16];                /* off, naive, flat, overlap */
	char transport[64], link[48]; /* RING_LINK; "": none */
	double hosts, host_cpus;      /* 0: the record does not say */
	double step, exposed;         /* seconds: median of a step, mean of exposed communication */

	/* what was trained, if the record says so */
	double gradient_bytes, buckets; /* else 0 */
	struct model_compute compute;
};

/* All return false with a sentence on stderr. */
bool model_profile_read(const char *path, struct model_compute *compute,
			struct model_bucket buckets[MODEL_BUCKETS_MAX], size_t *count);

bool model_run_read(const char *path, struct model_run *run);

/* Writes the prediction that ring_train --model shows beside its metrics. */
bool model_prediction_write(const char *path, const struct model_step *step, double seconds,
			    int ranks, double gradient_bytes);

#endif
