/* SPDX-License-Identifier: MIT */
#include "finish.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>

int finish_output(const char *program, int status, int failed)
{
	bool had_failed = ferror(stdout), has_more = __fpending(stdout) > 0;
	errno = 0;
	bool closed = fclose(stdout) == 0;
	/* A program that was started without standard output, and said nothing, has lost nothing. */
	if (!had_failed && (closed || (errno == EBADF && !has_more)))
		return status;
	fprintf(stderr, "%s: cannot write to standard output%s%s\n", program, errno ? ": " : "",
		errno ? strerror(errno) : "");
	return status ? status : failed;
}
