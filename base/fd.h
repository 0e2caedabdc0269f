/* SPDX-License-Identifier: MIT */
/*
 * The library's descriptors: all are opened, or adopted, through here. None is 0, 1 or 2: programs
 * print there even if they have closed them. All are close-on-exec. A child made by fork() closes
 * its copies at once, so that a rank's death is seen even while its children live; only files stay
 * open, for a moment. Files that are written are output.h's.
 *
 * Opening and noting happen under one lock that fork() also takes, so no descriptor slips through.
 */
#ifndef RING_FD_H
#define RING_FD_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define RING_FDS_PASSED_MAX 16

int ring_fd_socket(int domain, int type, int protocol); /* as socket(2): -1 and errno on failure */
int ring_fd_accept(int listener);                       /* as accept4(2); non-blocking */
int ring_fd_memory(const char *name);                   /* as memfd_create(2), sealable */
/* as eventfd(2), non-blocking; where there are none, a socket that wakes alike */
int ring_fd_event(void);
int ring_fd_epoll(void); /* as epoll_create1(2) */
int ring_fd_timer(void); /* as timerfd_create(2) of CLOCK_MONOTONIC, non-blocking */

/*
 * A descriptor that another library opened for ours counts as opened here from adopt() until
 * release(), before that library closes it. Adopting makes it non-blocking.
 */
void ring_fd_adopt(int fd);
void ring_fd_release(int fd);

/*
 * One that another library has opened and given away is ours from here on. A child forked before
 * that has a copy. returns it, perhaps under another number; -1: no memory, or no number, is left
 */
int ring_fd_take(int fd);

FILE *ring_fd_file(const char *path); /* for reading, as fopen(3); fclose() is its end */

/* For writing after what is there, also by children of fork(); -1 and errno on failure. */
int ring_fd_append(const char *path);
int ring_fd_rewrite(const char *path); /* over what is there; likewise, but of a file that exists */

/*
 * As sendmsg/recvmsg of `bytes` bytes and up to `max` descriptors, at most RING_FDS_PASSED_MAX;
 * received ones are noted. Neither blocks; more descriptors than `max` are refused with EPROTO, and
 * those for which this process has no number left with EMFILE.
 *
 * ETOOMANYREFS: as many descriptors are on their way as the kernel allows this user, whose ranks
 * all pass them at once. Send again in ring_fd_crowded_ms() milliseconds; earlier it is not tried.
 */
ssize_t ring_fd_send_with(int fd, const void *data, size_t bytes, const int *fds, int nfds);
ssize_t ring_fd_recv_with(int fd, void *data, size_t bytes, int *fds, int max, int *nfds);

/* 0 if this thread's last descriptors went through, or how long to wait before it sends more. */
int ring_fd_crowded_ms(void);

/* errno as words for people, which name the limit if descriptors ran out. Returns text. */
#define RING_FD_WORDS 128
const char *ring_fd_words(int cause, char text[RING_FD_WORDS]);

/* Whether a call failed because this system lacks or forbids it, not because anything ran out. */
bool ring_fd_is_forbidden(int cause);

/* Whether errno says that descriptors ran out: waiting does not help. */
bool ring_fd_ran_out(int cause);

void ring_fd_close(int fd); /* -1 is allowed; what is lost is left alone */

/*
 * Whether the program has closed this descriptor, as closefrom(3) does, and may have another file
 * there by now.
 */
bool ring_fd_is_lost(int fd);

/*
 * Ends a connection in order, before its descriptor is closed. Closing with unread data would
 * answer the peer with a reset, which also destroys what it has not read of ours; so what is here
 * is thrown away first. What the kernel has of ours it still delivers.
 */
void ring_fd_end(int fd);

/* At exit: ends all connections with other hosts, unless a thread was stopped while opening one. */
void ring_fd_part(void);

/*
 * Grows by one in every child of fork(): an object made under another generation is the parent's.
 */
unsigned ring_fork_generation(void);

/*
 * Moves a file that was just opened to a number above 2, close-on-exec: if a program has closed its
 * standard input, output or error, the kernel hands out that number next, and what is printed would
 * go there. returns it; -1 with errno
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
