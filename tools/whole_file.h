/* SPDX-License-Identifier: MIT */
/* Files that programs write: base/output.h says how, and what all a path may name. Complaints go to stderr. */
#ifndef TOOLS_WHOLE_FILE_H
#define TOOLS_WHOLE_FILE_H

#include <stdbool.h>
#include <stdio.h>

/*
 * program   who complains: "ring_perf"
 * write     writes the content; what fails of it shows in the stream
 * returns   false, with a complaint, if it could not be written
 */
bool whole_file_write(const char *program, const char *path,
		      void (*write)(void *context, FILE *out), void *context);

/* Likewise what is in memory already. */
bool whole_file_put(const char *program, const char *path, const char *text, size_t bytes);

/* Before any work is done: whether it could be written. NULL is no file, and so never wrong. */
bool whole_file_check(const char *program, const char *path);

#endif
