/* SPDX-License-Identifier: MIT */
/*
 * Where a program has closed its standard input, output or error, the kernel hands that number out
 * next, and whatever is printed would be written there: into memory that ranks share, to a peer or
 * into a file.
 */
#ifndef RING_LIFT_H
#define RING_LIFT_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/*
 * The same open file under a number above 2, close-on-exec, for one that was just opened. -1 with
 * errno if there is none.
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
