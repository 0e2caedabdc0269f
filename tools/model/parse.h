/* SPDX-License-Identifier: MIT */
/*
 * Reads sizes, times, rates and lists of them, as people write them on a command line. Each parser
 * returns whether the whole text is one, sets its value only then, and prints nothing.
 */
#ifndef MODEL_PARSE_H
#define MODEL_PARSE_H

#include <stdbool.h>

#include "call.h"

#define MODEL_LIST_MAX 128

struct model_link {
	double latency, bandwidth; /* seconds; bytes per second and direction */
};

struct model_list {
	int count;
	double values[MODEL_LIST_MAX];
};

typedef bool model_parser(const char *text, double *value);

model_parser model_parse_real;  /* "0.25", at least 0 and at most 1e9                  */
model_parser model_parse_count; /* "16", a whole number from 1 on; "7e9" is one        */
model_parser model_parse_ranks; /* a count up to MODEL_RANKS_MAX                       */
model_parser model_parse_size;  /* "1.5M": bytes, units are binary; 0 is a size        */
model_parser model_parse_time;  /* "20us": seconds, at most 1e6; ns, us, ms, s         */
model_parser model_parse_rate;  /* "1GB/s", "10Gbit/s": from 1 B/s to 100 TB/s         */

/* "1GB/s,20us": bandwidth and latency; "1GB/s" has none, as in RING_LINK. */
bool model_parse_link(const char *text, struct model_link *link);

/* "2,4,8", "2..8" (every whole number) or "1K..64M*4" (times 4 from one to the next), and mixed. */
bool model_parse_list(const char *text, model_parser *parse, struct model_list *list);

#endif
