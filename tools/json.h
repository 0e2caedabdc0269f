/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON, value after value. It minds commas, indentation and escapes; the caller minds that
 * what is opened is closed. Names of files and hosts may be any bytes: each that is no UTF-8 is written as U+FFFD.
 */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	int depth;
	bool has_items; /* the innermost object or array is not empty */
	bool one_line;  /* set by the caller: nothing is indented */
};

/* key is NULL within an array and for the outermost value. */
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);
void json_put_string(struct json *json, const char *key, const char *text);
void json_put_integer(struct json *json, const char *key, uint64_t value);
void json_put_signed(struct json *json, const char *key, int64_t value);
void json_put_real(struct json *json, const char *key, double value); /* null unless finite */
/*
 * Nanoseconds as microseconds with a fraction, as Chrome traces have times. Whoever multiplies them by 1000 in doubles
 * gets the same nanoseconds back, rounded to the nearest or cut off: what ends where something else begins still does.
 */
void json_put_us(struct json *json, const char *key, uint64_t nanoseconds);
void json_put_bool(struct json *json, const char *key, bool value);

/*
 * Text from a file or for one, such as a JSON string made elsewhere: as much as fits to[room], in whole characters of
 * UTF-8, and U+FFFD for controls, which a terminal or gnuplot would obey, and for bytes that are none.
 */
void json_copy_text(char *to, size_t room, const char *text);

#endif
