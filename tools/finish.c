/* SPDX-License-Identifier: MIT */
#include "finish.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "statuses.h"

int finish_output(const char *program, int status)
{
	bool had_failed = ferror(stdout);
	errno = 0;
	if (fclose(stdout) == 0 && !had_failed)
		return status;
	fprintf(stderr, "%s: cannot write to standard output%s%s\n", program, errno ? ": " : "",
		errno ? strerror(errno) : "");
	return status ? status : STATUS_SYSTEM;
}
