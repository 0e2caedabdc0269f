/* SPDX-License-Identifier: MIT */
/*
 * Passes on one output of one rank, in whole lines, so that ranks never mix within a line.
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
	bool mid_line;      /* the last bytes passed on did not end a line              */
	bool stalled;       /* there was no room for what is waiting                    */
	bool finishing;     /* the rank is gone: the pipe gets no more                  */
	bool ended;         /* nothing more can be read                                 */
	size_t begin, used; /* bytes waiting in buffer for the end of their line or room */
	char buffer[16384];
};

void relay_open(struct relay *relay, int from, struct outlet *to, const char *tag);

/*
 * Passes on what can be read now, at most one buffer, so that other ranks get their turn. Never
 * blocks. Closes `from` at its end, or when our own output fails.
 */
void relay_forward(struct relay *relay);

/* The descriptor to poll for reading; -1: none */
int relay_source(const struct relay *relay);

/* Drops what is waiting. */
void relay_close(struct relay *relay);

#endif
