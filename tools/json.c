/* SPDX-License-Identifier: MIT */
/*
 * A JSON printer (RFC 8259).
 */
#include "json.h"

#include <inttypes.h>
#include <math.h>

static void print_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else if (*at < 0x20)
			fprintf(out, "\\u%04x", *at);
		else
			fputc(*at, out);
	}
	fputc('"', out);
}

static void new_line(struct json *json)
{
	if (json->one_line)
		return;
	fputc('\n', json->out);
	for (int i = 0; i < json->depth; i++)
		fputs("  ", json->out);
}

/* What stands before every value. */
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

void json_put_bool(struct json *json, const char *key, bool value)
{
	begin_value(json, key);
	fputs(value ? "true" : "false", json->out);
}
