/* SPDX-License-Identifier: MIT */
#include "option_values.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_whole(enum option_kind kind)
{
	return kind == OPTION_INT || kind == OPTION_LONG || kind == OPTION_COUNT;
}

static bool refuse_number(const struct option_given *given)
{
	const struct option_row *row = given->row;
	char wanted[96];
	if (is_whole(row->kind))
		snprintf(wanted, sizeof(wanted), "a whole number from %.0f to %.0f", row->low,
			 row->high);
	else if (row->kind == OPTION_ABOVE)
		snprintf(wanted, sizeof(wanted), "a number above %g and below %g", row->low,
			 row->high);
	else
		snprintf(wanted, sizeof(wanted), "a number from %g to %g", row->low, row->high);
	return option_refuse(given, wanted);
}

/* A number of the row's range, whole if the row's are. */
static bool read_number(const struct option_given *given, double *number)
{
	const struct option_row *row = given->row;
	char *end;
	*number = strtod(given->text, &end);
	bool above = row->kind == OPTION_ABOVE;
	bool fits = end != given->text && !*end &&
		    (above ? *number > row->low && *number < row->high
			   : *number >= row->low && *number <= row->high);
	if (fits && (!is_whole(row->kind) || *number == floor(*number)))
		return true;
	return refuse_number(given);
}

static bool store_number(const struct option_given *given, void *field)
{
	double number;
	if (!read_number(given, &number))
		return false;
	if (given->row->kind == OPTION_INT)
		*(int *)field = (int)number;
	else if (given->row->kind == OPTION_LONG)
		*(long *)field = (long)number;
	else if (given->row->kind == OPTION_MEGABYTES)
		*(size_t *)field = (size_t)(number * (1 << 20));
	else
		*(double *)field = number;
	return true;
}

bool option_read_int(const struct option_given *given, int low, int high, int *value)
{
	struct option_row row = *given->row;
	struct option_given as_int = *given;
	row.kind = OPTION_INT;
	row.low = low;
	row.high = high;
	as_int.row = &row;
	return store_number(&as_int, value);
}

/* Doubles do not hold all of these numbers. */
static bool read_count(const struct option_given *given, uint64_t *count)
{
	const char *text = given->text;
	const uint64_t low = (uint64_t)given->row->low, high = (uint64_t)given->row->high;
	char *end;
	errno = 0;
	uint64_t number = strtoull(text, &end, 10);
	int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 0;
	if (end == text || strchr(text, '-') || end[shift > 0] || errno || number > high >> shift ||
	    number << shift < low)
		return refuse_number(given);
	*count = number << shift;
	return true;
}

/* JSON's whole numbers are read as signed ones of 64 bits. */
static bool read_any(const struct option_given *given, uint64_t *number)
{
	char *end;
	*number = strtoull(given->text, &end, 0);
	return (end != given->text && !*end && !strchr(given->text, '-') && *number <= INT64_MAX) ||
	       option_refuse(given, "a number from 0 to 9223372036854775807");
}

size_t option_read_size(const char *text, char **end)
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

static bool read_size(const struct option_given *given, size_t *bytes)
{
	char *end;
	size_t size = option_read_size(given->text, &end);
	if (size == 0 || *end)
		return option_refuse(given, "a size such as 8, 64K or 1.5G");
	*bytes = size;
	return true;
}

/* The number of a word in "weak|strong". */
static bool read_choice(const struct option_given *given, int *value)
{
	size_t length = strlen(given->text);
	int number = 0;
	for (const char *word = given->row->choices; word; number++) {
		if (strncmp(word, given->text, length) == 0 &&
		    (word[length] == '|' || !word[length])) {
			*value = number;
			return true;
		}
		word = strchr(word, '|');
		word += word ? 1 : 0;
	}
	return option_refuse(given, given->row->choices);
}

const char *option_word(const char *choices, int number)
{
	static _Thread_local char word[32];
	const char *at = choices;
	for (; number > 0 && at; number--)
		at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL;
	snprintf(word, sizeof(word), "%.*s", at ? (int)strcspn(at, "|") : 0, at ? at : "");
	return word;
}

bool option_store(const struct option_given *given, void *options)
{
	const struct option_row *row = given->row;
	void *field = (char *)options + row->offset;
	switch (row->kind) {
	case OPTION_FLAG:
	case OPTION_UNFLAG:
		*(bool *)field = row->kind == OPTION_FLAG;
		return true;
	case OPTION_TEXT:
		*(const char **)field = given->text;
		return true;
	case OPTION_FILE:
		*(const char **)field = strcmp(given->text, "-") ? given->text : "/dev/stdout";
		return true;
	case OPTION_CHOICE:
		return read_choice(given, field);
	case OPTION_COUNT:
		return read_count(given, field);
	case OPTION_NUMBER:
		return read_any(given, field);
	case OPTION_SIZE:
		return read_size(given, field);
	case OPTION_QUIET:
		return true;
	case OPTION_OWN:
		return row->read(given, options);
	default:
		return store_number(given, field);
	}
}
