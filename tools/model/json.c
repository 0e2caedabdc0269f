/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <ctype.h>
#include <string.h>

#include "tools/json.h"
#include "tools/whole_file.h"

#define FLAGS (JSON_DECODE_INT_AS_REAL | JSON_DISABLE_EOF_CHECK)

bool model_json_refuse(const char *path, const char *why)
{
	fprintf(stderr, "ring_model: %s: %s\n", path, why);
	return false;
}

FILE *model_json_open(const char *path)
{
	FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	if (!in)
		fprintf(stderr, "ring_model: cannot read %s: %m\n", path);
	return in;
}

static void complain(FILE *in, const char *path, const json_error_t *error)
{
	if (ferror(in))
		fprintf(stderr, "ring_model: cannot read %s: %m\n", path);
	else
		fprintf(stderr, "ring_model: %s, line %d is not JSON: %s\n", path, error->line,
			error->text);
}

/* Whether there is more than blanks; then the next character is the first of it. */
static bool has_more(FILE *in)
{
	int character;
	do
		character = getc(in);
	while (isspace(character));
	ungetc(character, in);
	return character != EOF;
}

static json_t *load(FILE *in, const char *path)
{
	json_error_t error;
	json_t *root = json_loadf(in, FLAGS, &error);
	if (!root)
		complain(in, path, &error);
	return root;
}

json_t *model_json_next(FILE *in, const char *path, bool *wrong)
{
	bool more = has_more(in);
	json_t *value = more ? load(in, path) : NULL;
	*wrong = more && !value;
	return value;
}

json_t *model_json_read(const char *path)
{
	FILE *in = model_json_open(path);
	json_t *root = in ? load(in, path) : NULL;
	if (root && has_more(in)) {
		model_json_refuse(path, json_object_get(root, "record")
						? "this is a record of ring_train; ring_model ddp "
						  "--compare reads those"
						: "there is more than one object");
		json_decref(root);
		root = NULL;
	}
	if (in && in != stdin)
		fclose(in);
	return root;
}

static void write_json(void *root, FILE *out)
{
	if (json_dumpf(root, out, JSON_INDENT(2)) == 0)
		fputc('\n', out);
}

bool model_json_write(const char *path, json_t *root)
{
	if (!root)
		return model_json_refuse(path, "out of memory");
	bool written = whole_file_write("ring_model", path, write_json, root);
	json_decref(root);
	return written;
}

double model_json_number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

void model_json_text(char *to, size_t room, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	json_copy_text(to, room, text ? text : "");
}
