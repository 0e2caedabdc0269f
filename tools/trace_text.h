/* SPDX-License-Identifier: MIT */
/*
 * Traces as the library writes them, one of each rank, put behind one another as one of all:
 *
 *	head            {"displayTimeUnit":"ns","otherData":{"dropped":0},"traceEvents":[
 *	rank 0's events {"name":"process_name",...},
 *	...
 *	rank 1's
 *	tail            ]}
 */
#ifndef TOOLS_TRACE_TEXT_H
#define TOOLS_TRACE_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* Reads one rank's head. returns how many records found no room there */
uint64_t trace_text_read_head(FILE *in);

/* Copies the events behind a head, `behind_ns` later, without the end of the last line. */
void trace_text_copy(FILE *in, FILE *out, int64_t behind_ns);

void trace_text_write_head(FILE *out, uint64_t dropped);
void trace_text_write_tail(FILE *out);

#endif
