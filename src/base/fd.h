/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that a forked child must not keep. Every descriptor of the library that another rank
 * may be watching is opened, or adopted, through here: a child made by fork() closes its copies at
 * once, so that a rank's death is seen even while its children live. All are close-on-exec.
 *
 * Opening and noting happen under one lock that fork() also takes, so no descriptor slips through.
 */
#ifndef RING_FD_H
#define RING_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define RING_FDS_PASSED_MAX 16

int ring_fd_socket(int domain, int type, int protocol); /* as socket(2): -1 and errno on failure */
int ring_fd_accept(int listener);                       /* as accept4(2); non-blocking */
int ring_fd_memory(const char *name);                   /* as memfd_create(2), sealable */
int ring_fd_event(void);                                /* as eventfd(2), non-blocking */
int ring_fd_epoll(void);                                /* as epoll_create1(2) */
int ring_fd_timer(void); /* as timerfd_create(2) of CLOCK_MONOTONIC, non-blocking */

/*
 * As sendmsg/recvmsg of `bytes` bytes and up to `max` descriptors, at most RING_FDS_PASSED_MAX;
 * received ones are noted. Neither blocks; more descriptors than `max` are refused with EPROTO.
 */
ssize_t ring_fd_send_with(int fd, const void *data, size_t bytes, const int *fds, int nfds);
ssize_t ring_fd_recv_with(int fd, void *data, size_t bytes, int *fds, int max, int *nfds);

void ring_fd_close(int fd); /* -1 is allowed */

/* Grows by one in every child of fork(): an object made under another generation is the parent's. */
unsigned ring_fork_generation(void);

#endif
