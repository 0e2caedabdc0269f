/* SPDX-License-Identifier: MIT */
/*
 * A program started without standard input, output or error behaves as with /dev/null there. Else
 * the next file it opened would take that place, and what it prints would go into that file.
 */
#ifndef STANDARD_FILES_H
#define STANDARD_FILES_H

#include <fcntl.h>
#include <unistd.h>

/* First of all in main(). */
static inline void standard_files_open(void)
{
	int fd;
	do {
		fd = open("/dev/null", O_RDWR); /* takes the lowest free number */
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

#endif
