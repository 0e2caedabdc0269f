/* SPDX-License-Identifier: MIT */
/*
 * Sending without a copy: a pipe is given the pages of what is lent, and the socket takes them from there. Over loopback
 * whoever receives then copies from the sender's own memory, and a system where that can't be done gets copies as ever.
 */
#define _GNU_SOURCE 1 /* vmsplice(2), splice(2), F_SETPIPE_SZ */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "tcp_link.h"

/* The largest that a system lets everybody have, unless told otherwise; with fewer there are too many calls. */
#define PIPE_BYTES (1 << 20)

static void open_pipe(struct ring_tcp_pages *pages)
{
	pages->opened = pipe2(pages->ends, O_NONBLOCK | O_CLOEXEC) == 0;
	if (!pages->opened || fcntl(pages->ends[1], F_SETPIPE_SZ, PIPE_BYTES) < PIPE_BYTES)
		pages->refused = true;
}

size_t ring_tcp_pages_fill(struct ring_tcp_pages *pages, const void *source, size_t bytes)
{
	if (!pages->opened && !pages->refused)
		open_pipe(pages);
	if (pages->refused || pages->piped == bytes)
		return pages->piped;
	struct iovec rest = {.iov_base = (char *)source + pages->piped,
			     .iov_len = bytes - pages->piped};
	ssize_t taken = vmsplice(pages->ends[1], &rest, 1, SPLICE_F_NONBLOCK);
	if (taken > 0)
		pages->piped += (size_t)taken;
	else if (taken < 0 && errno != EAGAIN && errno != EINTR)
		pages->refused = true;
	return pages->piped;
}

/*
 * splice(2) knows no MSG_NOSIGNAL. The signal that it raises where nobody reads, also if some bytes went before, would be the
 * program's end, so it is kept from this thread and taken away, unless one was pending already.
 */
ssize_t ring_tcp_pages_send(struct ring_tcp_pages *pages, int fd)
{
	sigset_t broken_pipe, before, pending;
	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
	sigpending(&pending);
	ssize_t taken = splice(pages->ends[0], NULL, fd, NULL, pages->piped, SPLICE_F_NONBLOCK);
	int err = errno;
	bool whole = taken == (ssize_t)pages->piped;
	if (!whole && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&broken_pipe, NULL, &(struct timespec){0});
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (taken > 0)
		pages->piped -= (size_t)taken;
	errno = err;
	return taken;
}

void ring_tcp_pages_close(struct ring_tcp_pages *pages)
{
	if (!pages->opened)
		return;
	close(pages->ends[0]);
	close(pages->ends[1]);
}
