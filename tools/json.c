/* SPDX-License-Identifier: MIT */
/*
 * A JSON printer (RFC 8259).
 */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/text.h"

/* Control characters are C0, DEL and C1; their last byte is their code. */
static void print_character(FILE *out, const char *at, size_t bytes, bool is_control)
{
	if (bytes == 0)
		fputs("\\ufffd", out);
	else if (is_control)
		fprintf(out, "\\u%04x", (unsigned char)at[bytes - 1]);
	else if (*at == '"' || *at == '\\')
		fprintf(out, "\\%c", *at);
	else
		fwrite(at, 1, bytes, out);
}

static void print_text(FILE *out, const char *text)
{
	fputc('"', out);
	while (*text) {
		bool is_control = false;
		size_t bytes = ring_text_character(text, &is_control);
		print_character(out, text, bytes, is_control);
		text += bytes > 0 ? bytes : 1;
	}
	fputc('"', out);
}

void json_copy_text(char *to, size_t room, const char *text)
{
	static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
	size_t used = 0;
	while (*text) {
		bool is_control = false;
		size_t bytes = ring_text_character(text, &is_control);
		bool is_shown = bytes > 0 && !is_control;
		const char *from = is_shown ? text : replacement;
		size_t length = is_shown ? bytes : strlen(replacement);
		if (used + length >= room)
			break;
		memcpy(to + used, from, length);
		used += length;
		text += bytes > 0 ? bytes : 1;
	}
	to[used] = '\0';
}

static void new_line(struct json *json)
{
	if (json->one_line)
		return;
	fputc('\n', json->out);
	for (int i = 0; i < json->depth; i++)
		fputs("  ", json->out);
}

/* Prints what comes before a value: comma, indentation, key. */
static void begin_value(struct json *json, const char *key)
{
	if (json->has_items)
		fputc(',', json->out);
	if (json->depth > 0)
		new_line(json);
	json->has_items = true;
	if (key) {
		print_text(json->out, key);
		fputs(": ", json->out);
	}
}

void json_open(struct json *json, const char *key, char bracket)
{
	begin_value(json, key);
	fputc(bracket, json->out);
	json->depth++;
	json->has_items = false;
}

void json_close(struct json *json, char bracket)
{
	bool was_empty = !json->has_items;
	json->depth--;
	if (!was_empty)
		new_line(json);
	fputc(bracket, json->out);
	json->has_items = true;
	if (json->depth == 0)
		fputc('\n', json->out);
}

void json_put_string(struct json *json, const char *key, const char *text)
{
	begin_value(json, key);
	print_text(json->out, text);
}

void json_put_integer(struct json *json, const char *key, uint64_t value)
{
	begin_value(json, key);
	fprintf(json->out, "%" PRIu64, value);
}

void json_put_signed(struct json *json, const char *key, int64_t value)
{
	begin_value(json, key);
	fprintf(json->out, "%" PRId64, value);
}

void json_put_real(struct json *json, const char *key, double value)
{
	begin_value(json, key);
	if (isfinite(value))
		fprintf(json->out, "%.10g", value);
	else
		fputs("null", json->out);
}

void json_put_us(struct json *json, const char *key, uint64_t nanoseconds)
{
	char text[32];
	snprintf(text, sizeof(text), "%" PRIu64 ".%03u", nanoseconds / 1000,
		 (unsigned)(nanoseconds % 1000));
	bool is_cut_off = (uint64_t)(strtod(text, NULL) * 1000.0) != nanoseconds;
	begin_value(json, key);
	fprintf(json->out, "%s%s", text, is_cut_off ? "1" : "");
}

void json_put_bool(struct json *json, const char *key, bool value)
{
	begin_value(json, key);
	fputs(value ? "true" : "false", json->out);
}
