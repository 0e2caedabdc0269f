/* SPDX-License-Identifier: MIT */
/*
 * Joins traces of ranks, which the library writes, to one trace of all:
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

/* Reads one rank's head. returns how many records were dropped */
uint64_t trace_text_read_head(FILE *in);

/*
 * Copies the events after a head, with times `behind_ns` later, without the end of the last line.
 */
void trace_text_copy(FILE *in, FILE *out, int64_t behind_ns);

void trace_text_write_head(FILE *out, uint64_t dropped);
void trace_text_write_tail(FILE *out);

#endif
