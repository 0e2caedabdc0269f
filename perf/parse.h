/* SPDX-License-Identifier: MIT */
/*
 * Values of command line options. Each parser returns true and sets its value, or complains to
 * stderr and returns false.
 */
#ifndef PERF_PARSE_H
#define PERF_PARSE_H

#include <stdbool.h>
#include <stddef.h>

/* Says what the option wants instead. returns false, so that parsers can return it */
bool perf_refuse(const char *option, const char *wanted, const char *text);

bool perf_parse_int(const char *option, const char *text, int low, int high, int *value);
bool perf_parse_real(const char *option, const char *text, double above, double *value);

/* "1.5G": a number and a binary unit. */
bool perf_parse_size(const char *option, const char *text, size_t *bytes);

/*
 * "8,64K,1M": at most `most` sizes, from small to large. returns how many; 0 if the list is wrong
 */
int perf_parse_sizes(const char *option, const char *text, int most, size_t *sizes);

/* A name's index among `count` names, or PERF_ALL. */
bool perf_parse_name(const char *option, const char *text, const char *const *names, int count,
		     int *value);

#endif
