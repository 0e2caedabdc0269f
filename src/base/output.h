/* SPDX-License-Identifier: MIT */
/*
 * Files that are written whole, for the library and for programs, wherever a path may lead.
 *
 * A new file, or one that can be replaced by its like, is written beside and renamed: it appears
 * complete or not at all. In place are written devices, FIFOs, files with several names, a foreign
 * owner or an ACL, and those whose folder is not ours; they are emptied first. A path to a
 * descriptor of this process (/dev/stdout, /dev/fd/3) means that descriptor. Symbolic links stay.
 */
#ifndef RING_OUTPUT_H
#define RING_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Writes the content; what fails of it shows in the stream. It may be called again for the same
 * file.
 */
typedef void ring_output_content(void *context, FILE *out);

/* returns 0; -1 with errno, and a file that was replaced would still be the old one */
int ring_output_write(const char *path, ring_output_content *content, void *context);

/*
 * Whether that can begin, as far as can be told without changing anything: a disk may be full
 * later. returns 0; -1 with errno
 */
int ring_output_check(const char *path);

/*
 * Whether the path means a device, a descriptor or the like, and so the same thing to whoever else
 * writes to it.
 */
bool ring_output_is_shared(const char *path);

#endif
