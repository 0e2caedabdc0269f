/* SPDX-License-Identifier: MIT */
/*
 * Opens /dev/null for a standard input, output or error that is closed. Else the next file that the
 * program opens would take its place, and get what the program prints.
 */
#ifndef STANDARD_FILES_H
#define STANDARD_FILES_H

#include <fcntl.h>
#include <unistd.h>

/* Call it first in main(). */
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
