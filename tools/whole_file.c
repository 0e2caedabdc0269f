/* SPDX-License-Identifier: MIT */
#include "whole_file.h"

#include <errno.h>
#include <string.h>

#include "base/output.h"

#define PATH_SHOWN 200 /* bytes; the path may come from a variable of any length */

static bool complain(const char *program, const char *path)
{
	fprintf(stderr, "%s: cannot write %.*s%s: %s\n", program, PATH_SHOWN, path,
		strlen(path) > PATH_SHOWN ? "..." : "", strerror(errno));
	return false;
}

bool whole_file_write(const char *program, const char *path,
		      void (*write)(void *context, FILE *out), void *context)
{
	return ring_output_write(path, write, context) == 0 || complain(program, path);
}

struct text {
	const char *bytes;
	size_t count;
};

static void write_text(void *context, FILE *out)
{
	const struct text *text = context;
	fwrite(text->bytes, 1, text->count, out);
}

bool whole_file_put(const char *program, const char *path, const char *text, size_t bytes)
{
	struct text all = {text, bytes};
	return whole_file_write(program, path, write_text, &all);
}

bool whole_file_is_shared(const char *path)
{
	return ring_output_is_shared(path);
}

bool whole_file_check(const char *program, const char *path)
{
	return !path || ring_output_check(path) == 0 || complain(program, path);
}
