/* SPDX-License-Identifier: MIT */
/*
 * One trace of all ranks. The library writes one of each, into a folder of this file's; rank 0 gets them all, puts
 * them behind one another and brings their clocks in line.
 */
#ifndef PERF_TRACE_H
#define PERF_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "ringccl.h"

struct perf_trace {
	char folder[64]; /* "": the library writes where the options say, or not at all */
	char own[80];    /* there, with %r for the rank */
	struct ring_comm *aside;
	int rank;
	int64_t behind_ns; /* to be added to this rank's clock for rank 0's */
};

/* Where the library is to write; NULL: nowhere. Valid as long as the trace. A folder that cannot be made is told. */
const char *perf_trace_begin(struct perf_trace *trace, const struct perf_options *options);

/* Once joined. Collective. returns 0; a RING_E code */
int perf_trace_join(struct perf_trace *trace, struct ring_comm *comm);

/* Once comm has been destroyed, and so each rank's trace written. Collective. returns false after a complaint */
bool perf_trace_end(struct perf_trace *trace, const char *path);

#endif
