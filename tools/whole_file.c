/* SPDX-License-Identifier: MIT */
#include "whole_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool complain(const char *program, const char *doing, const char *path)
{
	fprintf(stderr, "%s: cannot %s %s: %s\n", program, doing, path, strerror(errno));
	return false;
}

bool whole_file_write(const char *program, const char *path,
		      void (*write)(void *context, FILE *out), void *context)
{
	char *temporary;
	if (asprintf(&temporary, "%s.%d.tmp", path, (int)getpid()) < 0)
		return complain(program, "write", path);
	FILE *out = fopen(temporary, "we");
	bool ok = out || complain(program, "create", temporary);
	if (out) {
		write(context, out);
		bool failed = fflush(out) != 0 || ferror(out) || fsync(fileno(out)) < 0;
		failed = fclose(out) != 0 || failed;
		ok = !failed || complain(program, "write", temporary);
		if (ok)
			ok = rename(temporary, path) == 0 || complain(program, "rename to", path);
		if (!ok)
			unlink(temporary);
	}
	free(temporary);
	return ok;
}
