/* SPDX-License-Identifier: MIT */
/*
 * Files that are written whole, for the library and for programs, wherever a path may lead.
 *
 * A new file, or one that can be replaced by its like, is written beside and renamed: it appears
 * complete or not at all, with the owner and the mode of the old one. Devices, FIFOs, files with
 * several names, a foreign owner or an access control list, and files in folders that are not ours
 * are emptied and written in place. What standard output leads to, and /dev/fd/3, are written to as
 * the descriptors that they are. Symbolic links stay.
 */
#ifndef RING_OUTPUT_H
#define RING_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Writes the content; a failure shows in the stream. It may be called again for the same file. */
typedef void ring_output_content(void *context, FILE *out);

/* returns 0; -1 with errno, and a file that was replaced would still be the old one */
int ring_output_write(const char *path, ring_output_content *content, void *context);

/*
 * Whether that can begin, as far as can be told without changing anything: a disk may be full
 * later. returns 0; -1 with errno
 */
int ring_output_check(const char *path);

/*
 * Whether the path means a device, a descriptor or the like: something that others may write to as
 * well.
 */
bool ring_output_is_shared(const char *path);

#endif
