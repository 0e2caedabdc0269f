/* SPDX-License-Identifier: MIT */
/* Numbers with units, and lists of them. */
#include "parse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nobody means more or less; and no sum or quotient of these is too large for a number. */
#define SECONDS_MOST 1e6
#define RATE_LEAST 1 /* bytes per second */
#define RATE_MOST 1e14
#define REAL_MOST 1e9
#define SIZE_MOST 0x1p44

struct unit {
	const char *name;
	double factor;
};

static const struct unit sizes[] = {{"", 1},         {"B", 1},        {"K", 0x1p10},
				    {"M", 0x1p20},   {"G", 0x1p30},   {"T", 0x1p40},
				    {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
				    {"TiB", 0x1p40}, {NULL, 0}};
static const struct unit times[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};
static const struct unit rates[] = {{"B/s", 1},           {"KB/s", 1e3},
				    {"MB/s", 1e6},        {"GB/s", 1e9},
				    {"TB/s", 1e12},       {"Kbit/s", 1e3 / 8},
				    {"Mbit/s", 1e6 / 8},  {"Gbit/s", 1e9 / 8},
				    {"Tbit/s", 1e12 / 8}, {NULL, 0}};
static const struct unit none[] = {{"", 1}, {NULL, 0}};

/* A number of [least, most], with one of the units and nothing after it. */
static bool parse_number(const char *text, const struct unit *units, double least, double most,
			 double *value)
{
	char *end;
	double number = strtod(text, &end);
	const struct unit *unit = units;
	while (unit->name && strcmp(end, unit->name) != 0)
		unit++;
	number *= unit->factor;
	if (end == text || !unit->name || !(number >= least && number <= most))
		return false;
	*value = number;
	return true;
}

bool model_parse_real(const char *text, double *value)
{
	return parse_number(text, none, 0, REAL_MOST, value);
}

/* The same, without a fraction. */
static bool parse_whole(const char *text, double most, double *value)
{
	double number;
	if (!parse_number(text, none, 1, most, &number) || number != floor(number))
		return false;
	*value = number;
	return true;
}

bool model_parse_count(const char *text, double *value)
{
	return parse_whole(text, 0x1p53, value);
}

bool model_parse_ranks(const char *text, double *value)
{
	return parse_whole(text, MODEL_RANKS_MAX, value);
}

bool model_parse_size(const char *text, double *value)
{
	if (!parse_number(text, sizes, 0, SIZE_MOST, value))
		return false;
	*value = floor(*value);
	return true;
}

bool model_parse_time(const char *text, double *value)
{
	return parse_number(text, times, 0, SECONDS_MOST, value);
}

bool model_parse_rate(const char *text, double *value)
{
	return parse_number(text, rates, RATE_LEAST, RATE_MOST, value);
}

bool model_parse_link(const char *text, struct model_link *link)
{
	char rate[32];
	size_t length = strcspn(text, ",");
	struct model_link parsed = {0};
	if (length >= sizeof(rate))
		return false;
	memcpy(rate, text, length);
	rate[length] = 0;
	if (!model_parse_rate(rate, &parsed.bandwidth) ||
	    (text[length] && !model_parse_time(text + length + 1, &parsed.latency)))
		return false;
	*link = parsed;
	return true;
}

static bool append(struct model_list *list, double value)
{
	if (list->count == MODEL_LIST_MAX)
		return false;
	list->values[list->count++] = value;
	return true;
}

/* "2..8" or "1K..64M*4"; its dots are at `dots`, and the text is changed. */
static bool append_range(char *text, char *dots, model_parser *parse, struct model_list *list)
{
	double first, last, factor = 0;
	char *star = strchr(dots, '*');
	*dots = 0;
	if (star)
		*star++ = 0;
	if (!parse(text, &first) || !parse(dots + 2, &last) || first > last)
		return false;
	if (star && (!model_parse_real(star, &factor) || factor <= 1 || first == 0))
		return false;
	for (double value = first; value <= last; value = star ? value * factor : value + 1)
		if (!append(list, floor(value)))
			return false;
	return true;
}

static bool append_item(char *text, model_parser *parse, struct model_list *list)
{
	char *dots = strstr(text, "..");
	double value;
	if (dots)
		return append_range(text, dots, parse, list);
	return parse(text, &value) && append(list, value);
}

bool model_parse_list(const char *text, model_parser *parse, struct model_list *list)
{
	char copy[512], *rest = copy, *item;
	struct model_list parsed = {0};
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return false;
	while ((item = strsep(&rest, ",")))
		if (!append_item(item, parse, &parsed))
			return false;
	*list = parsed;
	return true;
}
