/* SPDX-License-Identifier: MIT */
/*
 * Makes one trace of all ranks that a launcher starts, if RING_TRACE names a file. The library
 * writes a trace of each rank into a folder that this module makes; once all have ended, it joins
 * them.
 */
#ifndef TOOLS_ONE_TRACE_H
#define TOOLS_ONE_TRACE_H

#include <stdbool.h>

#include "tools/temporary.h"

struct one_trace {
	const char *path; /* RING_TRACE; NULL: none, or with %r, one file per rank */
	char folder[TEMPORARY_MAX];
};

/*
 * Call it before ranks are started. returns false, with a complaint, if the trace cannot be written
 */
bool one_trace_begin(struct one_trace *trace, const char *program);

/* Call it once all ranks have ended. returns false, with a complaint, if the trace is lost */
bool one_trace_end(struct one_trace *trace, const char *program);

#endif
