/* SPDX-License-Identifier: MIT */
/*
 * Traces that RING_TRACE has written, one of each rank, or all in one file: reads them, and finds the plan that a recorded call followed,
 * so that it is shown like any other plan, with times.
 */
#ifndef STEPS_TRACE_H
#define STEPS_TRACE_H

#include <stdio.h>

#include "steps_walk.h"

/* An entry of a plan, as one rank recorded it. */
struct steps_record {
	uint64_t call, index;
	int rank, channel, peer, step;
	bool incoming;
	uint64_t begin_ns, end_ns; /* 0: it did not begin, or end */
};

/* A call of one rank. */
struct steps_call {
	uint64_t number, count, begin_ns;
	int rank, kind; /* -1: it is no collective */
};

struct steps_trace {
	int ranks;
	struct steps_record *records;
	struct steps_call *calls;
	size_t record_count, record_room, call_count, call_room;
	bool here[STEPS_RANKS_MOST]; /* the trace of that rank was read */
};

/* Adds the trace of one rank, or of several. returns false, with a sentence that names the line, if it is damaged or something else */
bool steps_trace_read(FILE *in, const char *path, struct steps_trace *trace, char *sentence,
		      size_t room);

/*
 * Finds the plan of a call: what `choice` says of chunks and depth, and tries algorithms unless it names one.
 * *call 0 is the last collective that all ranks recorded. returns false, with a sentence, if there is no such plan
 */
bool steps_trace_find(struct steps_trace *trace, uint64_t *call, struct steps_choice *choice,
		      char *sentence, size_t room);

/* Notes in the walk of that plan when the call's entries were done: so long after the first rank began. */
void steps_trace_time(struct steps_trace *trace, uint64_t call, struct steps_walk *walk);

void steps_trace_free(struct steps_trace *trace);

#endif
