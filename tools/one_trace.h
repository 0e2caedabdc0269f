/* SPDX-License-Identifier: MIT */
/*
 * RING_TRACE, of all ranks that a launcher starts here, as one file. The library writes one of each
 * rank, into a folder of ours; once all have ended what is there is put together.
 */
#ifndef TOOLS_ONE_TRACE_H
#define TOOLS_ONE_TRACE_H

#include <stdbool.h>

struct one_trace {
	const char *path; /* what RING_TRACE was; NULL: none, or one of each rank by %r */
	char folder[64];
};

/* Before ranks are started. returns false, with a complaint, if it cannot be written */
bool one_trace_begin(struct one_trace *trace, const char *program);

/* Once all have ended. returns false, with a complaint, if it is lost */
bool one_trace_end(struct one_trace *trace, const char *program);

#endif
