/* SPDX-License-Identifier: MIT */
/*
 * Reads traces that RING_TRACE has written, one file per rank or one of all, and finds the plan
 * that a recorded call followed, so that it can be shown like any other plan, with times.
 */
#ifndef STEPS_TRACE_H
#define STEPS_TRACE_H

#include <stdio.h>

#include "tools/steps/walk/walk.h"

/* An entry of a plan, as one rank recorded it. */
struct steps_record {
	uint64_t call, index, bytes;
	int rank, channel, peer, step;
	bool incoming;
	int line;                  /* in its file */
	uint64_t begin_ns, end_ns; /* 0: not recorded */
};

/* By call, rank, channel, sequence and index; those that are the same in these are one entry. */
int steps_record_compare(const void *left, const void *right);

/* So, and of one entry by line. */
void steps_records_sort(struct steps_record *records, size_t count);

/* A call of one rank. */
struct steps_call {
	uint64_t number, count, bytes, begin_ns, end_ns; /* end_ns 0: not recorded */
	int rank, kind;                                  /* kind -1: no collective */
	bool is_own;                                     /* the library's */
	char algorithm[16], error[64];                   /* error: why it failed; "" */
};

struct steps_trace {
	int ranks; /* one more than the highest that is there or spoken of */
	struct steps_record *records;
	struct steps_call *calls; /* by number */
	size_t record_count, record_room, call_count, call_room;
	bool here[STEPS_RANKS_MOST]; /* the trace of that rank was read */
};

/*
 * Adds the trace of one rank or several. returns false if it is damaged or something else; the
 * sentence names the line
 */
bool steps_trace_read(FILE *in, const char *path, struct steps_trace *trace, char *sentence,
		      size_t room);

/*
 * Finds the plan of a call. `choice` has chunks and depth, and perhaps the algorithm. *call 0
 * stands for the last collective of the program that all ranks recorded. returns false, with a
 * sentence, if there is no such plan
 */
bool steps_trace_find(struct steps_trace *trace, uint64_t *call, struct steps_choice *choice,
		      char *sentence, size_t room);

/* Notes in the walk when the call's entries were done, in time since the first rank began. */
void steps_trace_time(struct steps_trace *trace, uint64_t call, struct steps_walk *walk);

/* Whether a call failed; then the sentence says in which, and why. */
bool steps_trace_failed(const struct steps_trace *trace, char *sentence, size_t room);

/* Prints a table of the collectives. returns false for lack of memory */
bool steps_trace_list(struct steps_trace *trace, FILE *out);

void steps_trace_free(struct steps_trace *trace);

#endif
