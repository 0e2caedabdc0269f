/* SPDX-License-Identifier: MIT */
/* The recorded calls of all ranks. */
#ifndef STEPS_CALLS_H
#define STEPS_CALLS_H

#include "trace.h"

/* Puts collectives before sends and receives, by number and rank; all others here need that. */
void steps_calls_sort(struct steps_trace *trace);

/* NULL: that rank recorded no such collective */
const struct steps_call *steps_calls_find(const struct steps_trace *trace, uint64_t number,
					  int rank);

/* The last collective of the program that all ranks completed; 0: there is none. */
uint64_t steps_calls_last(const struct steps_trace *trace);

/* Whether all ranks made the same call; if not, the sentence says what is missing. */
bool steps_calls_check(const struct steps_trace *trace, uint64_t number, char *sentence,
		       size_t room);

#endif
