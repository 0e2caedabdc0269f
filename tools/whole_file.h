/* SPDX-License-Identifier: MIT */
/* A file that appears complete under its name, or not at all. */
#ifndef TOOLS_WHOLE_FILE_H
#define TOOLS_WHOLE_FILE_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Writes a temporary file beside `path`, brings it to disk and renames it.
 *
 * program   who complains on stderr: "ring_perf"
 * write     writes the content; what fails of it shows in the stream
 * returns   false, with a complaint, if there is no new file
 */
bool whole_file_write(const char *program, const char *path,
		      void (*write)(void *context, FILE *out), void *context);

#endif
