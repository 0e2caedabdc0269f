/* SPDX-License-Identifier: MIT */
/* Reading numbers; see number.h. */
#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char suffixes[] = "KMG";

bool ring_number_read(const char *text, bool units, long long *number)
{
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (errno || end == text)
		return false;
	const char *suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
	if (units && suffix) {
		long long unit = 1LL << 10 * (suffix - suffixes + 1);
		if (value < 0 || value > LLONG_MAX / unit)
			return false;
		value *= unit;
		end++;
	}
	if (*end)
		return false;
	*number = value;
	return true;
}

const char *ring_number_write(uint64_t bytes, char text[RING_NUMBER_TEXT])
{
	int units = 0;
	for (; bytes > 0 && bytes % 1024 == 0 && suffixes[units]; units++)
		bytes /= 1024;
	char suffix[2] = {units > 0 ? suffixes[units - 1] : '\0'};
	snprintf(text, RING_NUMBER_TEXT, "%" PRIu64 "%s", bytes, suffix);
	return text;
}

#define DIGITS_MAX 12 /* so that nothing overflows */

bool ring_number_read_decimal(const char **text, double *number)
{
	const char *at = *text;
	double value = 0, weight = 1;
	int digits = 0;
	for (; isdigit((unsigned char)*at); at++, digits++)
		value = 10 * value + (*at - '0');
	bool whole = digits > 0;
	if (*at == '.') {
		at++;
		whole = whole && isdigit((unsigned char)*at);
		for (; isdigit((unsigned char)*at); at++, digits++, weight *= 10)
			value = 10 * value + (*at - '0');
	}
	*text = at;
	*number = value / weight;
	return whole && digits <= DIGITS_MAX;
}

#define MILLION 1000000

const char *ring_number_write_decimal(double number, char text[RING_NUMBER_TEXT])
{
	uint64_t millionths = (uint64_t)(number * MILLION + 0.5);
	int length = snprintf(text, RING_NUMBER_TEXT, "%llu.%06llu",
			      (unsigned long long)(millionths / MILLION),
			      (unsigned long long)(millionths % MILLION));
	while (text[length - 1] == '0')
		text[--length] = '\0';
	if (text[length - 1] == '.')
		text[length - 1] = '\0';
	return text;
}
