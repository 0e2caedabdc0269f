/* SPDX-License-Identifier: MIT */
/*
 * One trace of all ranks. The library writes one for each rank, into a folder that this module
 * makes; rank 0 collects them, translates their times to its own clock, and writes one file.
 */
#ifndef PERF_TRACE_H
#define PERF_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/temporary.h"
#include "options.h"
#include "ringccl.h"

struct perf_trace {
	char folder[TEMPORARY_MAX];  /* "": the library writes where the options say, if they do */
	char own[TEMPORARY_MAX + 8]; /* a path in the folder, with %r for the rank */
	struct ring_comm *aside;
	int rank;
	int64_t behind_ns; /* this rank's clock + behind_ns == rank 0's clock */
};

/*
 * The path to give to the library; NULL: no trace. Valid as long as the trace. Complains if it
 * cannot make the folder.
 */
const char *perf_trace_begin(struct perf_trace *trace, const struct perf_options *options);

/* Call it once joined. Collective. returns 0; a RING_E code */
int perf_trace_join(struct perf_trace *trace, struct ring_comm *comm);

/*
 * Call it once comm is destroyed: each rank's trace is written then. Collective. returns false
 * after a complaint
 */
bool perf_trace_end(struct perf_trace *trace, const char *path);

#endif
