/* SPDX-License-Identifier: MIT */
/*
 * A Chrome trace for Perfetto. Each rank is a process with three rows: what its CPU does beside
 * computing, what it computes, and the communication of gradients.
 */
#ifndef TRAIN_TRACE_H
#define TRAIN_TRACE_H

#include <stdbool.h>
#include <stddef.h>

#include "train/step/team.h"

enum train_row { TRAIN_ROW_CPU, TRAIN_ROW_COMPUTE, TRAIN_ROW_COMMUNICATION };

struct train_event {
	char name[24];
	enum train_row row;
	int bucket;        /* -1: none */
	double begin, end; /* seconds on CLOCK_MONOTONIC */
	uint64_t step, bytes;
};

struct train_trace {
	bool on;   /* else nothing is noted */
	bool full; /* out of memory: later events are missing */
	struct train_event *events;
	size_t count, room;
};

void train_trace_add(struct train_trace *trace, const struct train_event *event);
void train_trace_free(struct train_trace *trace);

/*
 * Collective; rank 0 writes all ranks' events. *lost becomes true if it could not.
 * returns 0; a RING_E code. All sentences are on stderr
 */
int train_trace_write(const struct train_trace *trace, struct train_team *team, const char *path,
		      bool *lost);

/* After a failure: this rank writes its own events. */
void train_trace_write_own(const struct train_trace *trace, const struct train_team *team,
			   const char *path);

#endif
