/* SPDX-License-Identifier: MIT */
/* Descriptors: a forked child has none of them, its parent is seen to die, and they can be passed. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fork_lock.h"

RING_FORK_LOCK(held)

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int run_in_child(int (*body)(const int *fds), const int *fds)
{
	int status;
	pid_t pid = fork();
	if (!pid)
		_exit(body(fds));
	waitpid(pid, &status, 0);
	return status;
}

static int check_child(const int *fds)
{
	for (int i = 0; i < 4; i++)
		if (is_open(fds[i]))
			return 1;
	if (ring_fork_generation() != (unsigned)fds[4] + 1)
		return 2;
	int mine = ring_fd_event(); /* a child's own are its own */
	return !is_open(mine);
}

static void child_has_none(void **state)
{
	(void)state;
	int fds[] = {ring_fd_socket(AF_INET, SOCK_STREAM, 0), ring_fd_memory("test"),
		     ring_fd_event(), ring_fd_take(dup(STDERR_FILENO)), (int)ring_fork_generation()};
	for (int i = 0; i < 4; i++) {
		assert_true(fds[i] >= 0);
		assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
	}
	assert_int_equal(run_in_child(check_child, fds), 0);
	for (int i = 0; i < 4; i++) {
		assert_true(is_open(fds[i]));
		ring_fd_close(fds[i]);
	}
	assert_int_equal(ring_fork_generation(), fds[4]);
	ring_fd_close(-1);
}

static int is_still_open(const int *fds)
{
	return !is_open(fds[0]);
}

/* A closed number that somebody else uses now is no longer ours to close. */
static void closed_is_forgotten(void **state)
{
	(void)state;
	int fd = ring_fd_event();
	ring_fd_close(fd);
	assert_int_equal(dup2(STDERR_FILENO, fd), fd);
	assert_int_equal(run_in_child(is_still_open, &fd), 0);
	close(fd);
}

static void passed_ones_are_noted(void **state)
{
	(void)state;
	int pair[2], sent[2] = {ring_fd_event(), ring_fd_memory("test")}, got[5], count;
	char byte = 'x';
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(ring_fd_send_with(pair[0], &byte, 1, sent, 2), 1);
	assert_int_equal(ring_fd_recv_with(pair[1], &byte, 1, got, 4, &count), 1);
	assert_int_equal(count, 2);
	got[2] = sent[0];
	got[3] = sent[1];
	got[4] = (int)ring_fork_generation();
	assert_int_equal(run_in_child(check_child, got), 0);

	assert_int_equal(ring_fd_recv_with(pair[1], &byte, 1, got + 4, 1, &count), -1);
	assert_int_equal(errno, EAGAIN);

	/* More than were asked for: none is kept. */
	assert_int_equal(ring_fd_send_with(pair[0], &byte, 1, sent, 2), 1);
	assert_int_equal(ring_fd_recv_with(pair[1], &byte, 1, got + 4, 1, &count), -1);
	assert_int_equal(errno, EPROTO);
	assert_int_equal(count, 0);
	for (int i = 0; i < 4; i++)
		ring_fd_close(got[i]);
	int next = ring_fd_event(); /* nothing leaked: the lowest free number is the first we closed */
	assert_int_equal(next, sent[0]);
	ring_fd_close(next);
	close(pair[0]);
	close(pair[1]);
}

/* In a child without 0, 1 and 2: descriptors of each kind. Returns 10 + the first that lies there. */
static int check_standard_ones(const int *unused)
{
	(void)unused;
	int pair[2], got[1], count;
	struct sockaddr_in any = {.sin_family = AF_INET};
	socklen_t length = sizeof(any);
	char byte = 'x';
	int listener = ring_fd_socket(AF_INET, SOCK_STREAM, 0);
	int caller = ring_fd_socket(AF_INET, SOCK_STREAM, 0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	listen(listener, 1);
	getsockname(listener, (struct sockaddr *)&any, &length);
	connect(caller, (struct sockaddr *)&any, sizeof(any));
	int made[] = {ring_fd_socket(AF_INET, SOCK_DGRAM, 0),
		      ring_fd_accept(listener),
		      ring_fd_memory("test"),
		      ring_fd_event(),
		      ring_fd_epoll(),
		      ring_fd_timer(),
		      ring_fd_take(dup(caller)),
		      ring_fd_send_with(pair[0], &byte, 1, &caller, 1) == 1 &&
				      ring_fd_recv_with(pair[1], &byte, 1, got, 1, &count) == 1
			      ? got[0]
			      : -1,
		      fileno(ring_fd_file("/dev/null"))};
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		if (made[i] < 3 || fcntl(made[i], F_GETFD) != FD_CLOEXEC)
			return 10 + (int)i;
	for (int fd = 0; fd < 3; fd++) /* nor is one left there */
		if (is_open(fd))
			return 3 + fd;
	return 0;
}

/* A program that had closed its output printed into shared memory and onto its peers' sockets. */
static void none_is_a_standard_one(void **state)
{
	(void)state;
	int status = run_in_child(check_standard_ones, NULL);
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(status, 0);
}

static atomic_bool enough;

static void *open_and_close(void *argument)
{
	while (!atomic_load(&enough))
		ring_fd_close(ring_fd_event());
	return argument;
}

static int count_events(const int *fds)
{
	(void)fds;
	int found = 0;
	for (int fd = 0; fd < 256; fd++) {
		char path[64], target[64] = "";
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, "eventfd"))
			found++;
	}
	return found;
}

/* Whatever another thread is just opening does not slip into the child. */
static void none_slips_through(void **state)
{
	(void)state;
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, open_and_close, NULL);
	for (int i = 0; i < 100; i++)
		assert_int_equal(run_in_child(count_events, NULL), 0);
	atomic_store(&enough, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void *fork_and_wait(void *unused)
{
	pid_t pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return unused;
}

/* One that waits for the lock, in fork(), must not have this module's already. */
static void holders_of_locks_may_open(void **state)
{
	pthread_t thread;
	(void)state;
	pthread_mutex_lock(&held);
	assert_int_equal(pthread_create(&thread, NULL, fork_and_wait, NULL), 0);
	usleep(100000); /* it is in fork() by now, most likely */
	int fd = ring_fd_event();
	pthread_mutex_unlock(&held);
	pthread_join(thread, NULL);
	ring_fd_close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(child_has_none),
		cmocka_unit_test(closed_is_forgotten),
		cmocka_unit_test(passed_ones_are_noted),
		cmocka_unit_test(none_is_a_standard_one),
		cmocka_unit_test(none_slips_through),
		cmocka_unit_test(holders_of_locks_may_open),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
