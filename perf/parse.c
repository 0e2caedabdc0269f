/* SPDX-License-Identifier: MIT */
/*
 * Reads numbers, sizes and names, and complains about wrong ones.
 */
#include "parse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

bool perf_refuse(const char *option, const char *wanted, const char *text)
{
	fprintf(stderr, "ring_perf: %s wants %s, not '%s'\n", option, wanted, text);
	return false;
}

bool perf_parse_int(const char *option, const char *text, int low, int high, int *value)
{
	char *end;
	long number = strtol(text, &end, 10);
	if (end == text || *end || number < low || number > high) {
		char wanted[64];
		snprintf(wanted, sizeof(wanted), "a number from %d to %d", low, high);
		return perf_refuse(option, wanted, text);
	}
	*value = (int)number;
	return true;
}

bool perf_parse_real(const char *option, const char *text, double above, double *value)
{
	char *end;
	double number = strtod(text, &end);
	if (end == text || *end || !(number > above && number < 1e6)) {
		char wanted[64];
		snprintf(wanted, sizeof(wanted), "a number above %g and below 1e6", above);
		return perf_refuse(option, wanted, text);
	}
	*value = number;
	return true;
}

/* Reads a number and a binary unit, and sets where they end; 0 if there are none. */
static size_t read_size(const char *text, char **end)
{
	static const char units[] = "KMGT";
	double number = strtod(text, end);
	const char *unit = **end ? strchr(units, **end & ~0x20) : NULL;
	if (unit) {
		number = ldexp(number, 10 * (int)(unit - units + 1));
		++*end;
	}
	return number >= 1 && number < 0x1p50 ? (size_t)number : 0;
}

bool perf_parse_size(const char *option, const char *text, size_t *bytes)
{
	char *end;
	size_t size = read_size(text, &end);
	if (size == 0 || *end)
		return perf_refuse(option, "a size such as 8, 64K or 1.5G", text);
	*bytes = size;
	return true;
}

int perf_parse_sizes(const char *option, const char *text, int most, size_t *sizes)
{
	const char *at = text;
	size_t before = 0;
	for (int count = 0; count < most; count++) {
		char *end;
		sizes[count] = read_size(at, &end);
		if (sizes[count] <= before || (*end && *end != ','))
			break;
		if (!*end)
			return count + 1;
		before = sizes[count];
		at = end + 1;
	}
	perf_refuse(option, "sizes from small to large such as 8,64K,1.5G", text);
	return 0;
}

bool perf_parse_name(const char *option, const char *text, const char *const *names, int count,
		     int *value)
{
	if (strcmp(text, "all") == 0) {
		*value = PERF_ALL;
		return true;
	}
	char wanted[256] = "";
	for (int i = 0; i < count; i++) {
		if (strcmp(text, names[i]) == 0) {
			*value = i;
			return true;
		}
		strcat(strcat(wanted, names[i]), ", ");
	}
	return perf_refuse(option, strcat(wanted, "or all"), text);
}
