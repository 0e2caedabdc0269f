/* SPDX-License-Identifier: MIT */
/* Where temporary files of programs go: $TMPDIR, else /tmp, which may not be writable. */
#ifndef TOOLS_TEMPORARY_H
#define TOOLS_TEMPORARY_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define TEMPORARY_MAX (PATH_MAX - 64) /* leaves room for names in such a folder */

/* Makes a template for mkstemp or mkdtemp, FOLDER/NAME.XXXXXX. returns false if it is too long */
static inline bool temporary_name(char path[TEMPORARY_MAX], const char *name)
{
	const char *folder = getenv("TMPDIR");
	int length = snprintf(path, TEMPORARY_MAX, "%s/%s.XXXXXX",
			      folder && *folder ? folder : "/tmp", name);
	return length < TEMPORARY_MAX;
}

#endif
