/* SPDX-License-Identifier: MIT */
/*
 * Passes one output of one rank on, whole lines at a time, so that ranks never mix within a line.
 */
#ifndef RELAY_H
#define RELAY_H

#include <stdbool.h>
#include <stddef.h>

struct relay {
	int from;      /* the rank's output, never blocking; -1 once it has ended */
	int to;        /* ours                                                    */
	char tag[16];  /* put before every line; may be ""                        */
	bool mid_line; /* what was written last did not end a line                */
	size_t used;   /* bytes waiting in buffer for the end of their line       */
	char buffer[16384];
};

void relay_open(struct relay *relay, int from, int to, const char *tag);

/*
 * Passes on what can be read now without blocking. Closes `from` at its end.
 * returns   0, or the errno with which our own output failed
 */
int relay_forward(struct relay *relay);

/* Passes on an unfinished last line and closes. */
void relay_close(struct relay *relay);

#endif
