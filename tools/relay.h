/* SPDX-License-Identifier: MIT */
/*
 * Passes one output of one rank on, whole lines at a time, so that ranks never mix within a line.
 */
#ifndef RELAY_H
#define RELAY_H

#include <stdbool.h>
#include <stddef.h>

#include "outlet.h"

struct relay {
	int from;           /* the rank's output, never blocking; -1 once it has ended  */
	struct outlet *to;  /* ours                                                     */
	char tag[16];       /* put before every line; may be ""                         */
	bool mid_line;      /* what was put last did not end a line                     */
	bool stalled;       /* there was no room for what is waiting                    */
	bool finishing;     /* the rank is gone: what is in the pipe now is all         */
	bool ended;         /* nothing more can be read                                 */
	size_t begin, used; /* bytes waiting in buffer for the end of their line or room */
	char buffer[16384];
};

void relay_open(struct relay *relay, int from, struct outlet *to, const char *tag);

/*
 * Passes on what can be read now, at most a buffer of it: others want their turn. Neither reads nor
 * writes so that it blocks. Closes `from` at its end, or when our own output fails.
 */
void relay_forward(struct relay *relay);

/* What to poll for reading; -1 if that would not help. */
int relay_source(const struct relay *relay);

/* Drops what is waiting. */
void relay_close(struct relay *relay);

#endif
