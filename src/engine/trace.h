/* SPDX-License-Identifier: MIT */
/*
 * Trace records: which counter moved when. The one format that library, simulator, trainer and
 * viewer share; written as a Chrome trace, which Perfetto and chrome://tracing open.
 */
#ifndef RING_TRACE_H
#define RING_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum ring_trace_counter {
	RING_POSTED,
	RING_SENT,
	RING_STARTED,
	RING_REDUCED,
	RING_CALLED,
	RING_RETURNED
};

/* The channel of calls: the program's, and the library's own. */
#define RING_TRACE_CALL (-1)
#define RING_TRACE_OWN (-2)

struct ring_trace_record {
	uint64_t time_ns;
	uint64_t call;  /* sequence number in its communicator */
	uint64_t index; /* entry of the plan's sequence; a call's count */
	int32_t channel, peer;
	int32_t step;    /* the plan's; a call's enum ring_kind */
	int32_t counter; /* enum ring_trace_counter */
	int32_t block;   /* an entry's, see ring_plan_block_of(); RETURNED: 0 or the error */
	int32_t action;  /* an entry's, enum ring_action; RETURNED: enum ring_algorithm */
	uint64_t bytes;  /* an entry's; a call's count in bytes */
	uint32_t tag;    /* CALLED: what ring_trace_tag() returned; else 0 */
};

struct ring_trace;

/*
 * Opens a trace for one rank of `size`. %r in path becomes its number; without %r, if there are
 * several ranks, the number goes before the suffix. A process's further traces of that name get
 * "-2", "-3". *trace is NULL, with a warning that nobody can turn off, if that could not be
 * written. returns 0; RING_ENOMEM; RING_EINVAL: the path is too long
 */
int ring_trace_open(struct ring_trace **trace, const char *path, int rank, int size,
		    struct ring_failure *failure);

/* Adds a record; after a million of them the rest is only counted. One thread at a time. */
void ring_trace_add(struct ring_trace *trace, const struct ring_trace_record *record);

/* The number of a call's tag in the trace, for its record; 0: it has none. As ring_trace_add(). */
uint32_t ring_trace_tag(struct ring_trace *trace, const char *tag);

/* Bytes that it holds; NULL is allowed. */
size_t ring_trace_memory(const struct ring_trace *trace);

/* Writes the file, or warns that it could not, and frees; NULL is allowed. */
void ring_trace_close(struct ring_trace *trace);

#endif
