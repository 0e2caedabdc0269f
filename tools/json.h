/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON, value after value, with commas, indentation and escapes; the caller closes what it
 * opens. Names of files and hosts may have any bytes: each byte that is not UTF-8 is written as
 * U+FFFD.
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
	bool one_line;  /* set by the caller: no line breaks */
};

/* key is NULL within an array and for the outermost value. */
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);
void json_put_string(struct json *json, const char *key, const char *text);
void json_put_integer(struct json *json, const char *key, uint64_t value);
void json_put_signed(struct json *json, const char *key, int64_t value);
void json_put_real(struct json *json, const char *key, double value); /* null unless finite */
/*
 * Nanoseconds as microseconds with a fraction, as in Chrome traces. A reader that multiplies them
 * by 1000 in doubles gets the same nanoseconds back, whether it rounds or truncates, so events that
 * touch still touch.
 */
void json_put_us(struct json *json, const char *key, uint64_t nanoseconds);
void json_put_bool(struct json *json, const char *key, bool value);

/*
 * Copies as much text as fits into to[room], in whole characters of UTF-8. U+FFFD replaces control
 * characters, which a terminal or gnuplot would obey, and bytes that are not UTF-8.
 */
void json_copy_text(char *to, size_t room, const char *text);

#endif
