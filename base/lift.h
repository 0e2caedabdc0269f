/* SPDX-License-Identifier: MIT */
/*
 * If a program has closed its standard input, output or error, the kernel hands out that number
 * next, and what is printed would go there: into memory that ranks share, to a peer or into a file.
 */
#ifndef RING_LIFT_H
#define RING_LIFT_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/*
 * Moves a file that was just opened to a number above 2, close-on-exec. returns it; -1 with errno
 */
static inline int ring_fd_lift(int fd)
{
	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	int lifted = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int err = errno;
	close(fd);
	errno = err;
	return lifted;
}

#endif
