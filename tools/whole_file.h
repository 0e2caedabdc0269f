/* SPDX-License-Identifier: MIT */
/*
 * Writes files for programs, as base/output.h describes; that also says what a path may name.
 * Complaints go to stderr.
 */
#ifndef TOOLS_WHOLE_FILE_H
#define TOOLS_WHOLE_FILE_H

#include <stdbool.h>
#include <stdio.h>

/*
 * program   the name in complaints: "ring_perf"
 * write     writes the content; errors stay in the stream
 * returns   false, with a complaint, if it could not be written
 */
bool whole_file_write(const char *program, const char *path,
		      void (*write)(void *context, FILE *out), void *context);

/* Likewise, with content from memory. */
bool whole_file_put(const char *program, const char *path, const char *text, size_t bytes);

/* Whether the path means a device, a descriptor or the like, to which others may write as well. */
bool whole_file_is_shared(const char *path);

/* Call it before any work: whether the file can be written. NULL, no file, is always fine. */
bool whole_file_check(const char *program, const char *path);

#endif
