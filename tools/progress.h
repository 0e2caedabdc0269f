/* SPDX-License-Identifier: MIT */
/*
 * What a long work is at, and how long it will take: one line on standard error that the next
 * overwrites. Only on a terminal, and not with --quiet.
 */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stddef.h>

struct progress {
	double begun, shown; /* seconds; 0: not yet */
	size_t first;        /* what was done as it began */
};

/*
 * "measuring all_reduce of 64 bytes (12 of 60, 8 s left)"; all 0: not known. At most ten a second.
 */
void progress_show(struct progress *progress, size_t done, size_t all, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Before a line of output, and at the end. */
void progress_wipe(void);

#endif
