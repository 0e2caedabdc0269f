/* SPDX-License-Identifier: MIT */
/*
 * Keeps the list of descriptors that a forked child must close, and closes them there. Everything
 * that opens or closes one holds the lock, and fork() waits for it.
 */
#include "fd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "fork_lock.h"
#include "waits.h"

#define DISCARD_BYTES (64 << 20) /* most that is thrown away: more than any receive buffer */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What is at a number that was noted: the program may close it, and open another file there. */
struct note {
	bool is_there;
	dev_t device;
	ino_t file;
};

static struct note *noted; /* noted[fd] */
static size_t noted_room;
static unsigned generation; /* changes only in a child, before it has a second thread */

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static bool is_lost(int fd)
{
	struct stat now;
	if ((size_t)fd >= noted_room || !noted[fd].is_there)
		return false;
	int err = fstat(fd, &now);
	return err ? errno == EBADF : now.st_dev != noted[fd].device || now.st_ino != noted[fd].file;
}

static void in_child(void)
{
	for (size_t fd = 0; fd < noted_room; fd++) {
		if (noted[fd].is_there && !is_lost((int)fd))
			close((int)fd);
		noted[fd].is_there = false;
	}
	generation++;
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor(RING_FORK_FIRST))) static void watch_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

/* False: no memory. */
static bool write_down(int fd)
{
	if ((size_t)fd >= noted_room) {
		size_t room = (size_t)fd * 2 + 64;
		struct note *larger = realloc(noted, room * sizeof(*larger));
		if (!larger)
			return false;
		memset(larger + noted_room, 0, (room - noted_room) * sizeof(*larger));
		noted = larger;
		noted_room = room;
	}
	struct stat made = {0};
	(void)!fstat(fd, &made);
	noted[fd] = (struct note){true, made.st_dev, made.st_ino};
	return true;
}

/*
 * Lifts a descriptor that was just opened, and notes it. Closes it if there is no memory.
 * Returns it, or -1.
 */
static int note(int fd)
{
	fd = ring_fd_lift(fd);
	if (fd >= 0 && !write_down(fd)) {
		close(fd);
		errno = ENOMEM;
		return -1;
	}
	return fd;
}

void ring_fd_adopt(int fd)
{
	pthread_mutex_lock(&lock);
	(void)!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	(void)write_down(fd);
	pthread_mutex_unlock(&lock);
}

void ring_fd_release(int fd)
{
	pthread_mutex_lock(&lock);
	if ((size_t)fd < noted_room)
		noted[fd].is_there = false;
	pthread_mutex_unlock(&lock);
}

int ring_fd_take(int fd)
{
	pthread_mutex_lock(&lock);
	(void)!fcntl(fd, F_SETFD, FD_CLOEXEC);
	fd = note(fd);
	pthread_mutex_unlock(&lock);
	return fd;
}

int ring_fd_socket(int domain, int type, int protocol)
{
	pthread_mutex_lock(&lock);
	int fd = note(socket(domain, type | SOCK_CLOEXEC, protocol));
	pthread_mutex_unlock(&lock);
	return fd;
}

int ring_fd_accept(int listener)
{
	pthread_mutex_lock(&lock);
	int fd = note(accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
	pthread_mutex_unlock(&lock);
	return fd;
}

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U /* Linux 6.3; with vm.memfd_noexec=2 there is no memory without it */
#endif

static int make_memory(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	bool must_not_run = fd < 0 && errno == EACCES;
	return must_not_run ? memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL) : fd;
}

int ring_fd_memory(const char *name)
{
	pthread_mutex_lock(&lock);
	int fd = note(make_memory(name));
	pthread_mutex_unlock(&lock);
	return fd;
}

bool ring_fd_is_forbidden(int cause)
{
	return !ring_fd_ran_out(cause) && cause != ENOMEM && cause != ENOSPC;
}

/* Where there are no eventfds: a datagram socket connected with itself wakes whoever polls it. */
static int make_mirror(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	socklen_t bytes = sizeof(name.sun_family); /* the kernel finds one */
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool failed = fd < 0 || bind(fd, (struct sockaddr *)&name, bytes) < 0;
	bytes = sizeof(name);
	failed = failed || getsockname(fd, (struct sockaddr *)&name, &bytes) < 0 ||
		 connect(fd, (struct sockaddr *)&name, bytes) < 0;
	if (failed && fd >= 0)
		close(fd);
	return failed ? -1 : fd;
}

int ring_fd_event(void)
{
	pthread_mutex_lock(&lock);
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (fd < 0 && ring_fd_is_forbidden(errno))
		fd = make_mirror();
	fd = note(fd);
	pthread_mutex_unlock(&lock);
	return fd;
}

int ring_fd_epoll(void)
{
	pthread_mutex_lock(&lock);
	int fd = note(epoll_create1(EPOLL_CLOEXEC));
	pthread_mutex_unlock(&lock);
	return fd;
}

int ring_fd_timer(void)
{
	pthread_mutex_lock(&lock);
	int fd = note(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	pthread_mutex_unlock(&lock);
	return fd;
}

FILE *ring_fd_file(const char *path)
{
	int fd = ring_fd_lift(open(path, O_RDONLY | O_CLOEXEC));
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file && fd >= 0)
		close(fd);
	return file;
}

int ring_fd_append(const char *path)
{
	return ring_fd_lift(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
}

int ring_fd_rewrite(const char *path)
{
	return ring_fd_lift(open(path, O_WRONLY | O_CLOEXEC));
}

/* ---- shortages ---- */

/* Per thread: hundreds that tried again at once would keep the receivers from the CPU. */
static _Thread_local int crowded_pause_ms;
static _Thread_local uint64_t crowded_until_ms;

int ring_fd_crowded_ms(void)
{
	uint64_t now = crowded_pause_ms ? ring_clock_ms() : 0;
	if (!crowded_pause_ms)
		return 0;
	return now < crowded_until_ms ? (int)(crowded_until_ms - now) : RING_CROWDED_FIRST_MS;
}

static bool is_too_early(void)
{
	return crowded_pause_ms && ring_clock_ms() < crowded_until_ms;
}

static void note_crowded(bool crowded)
{
	int longer_ms = crowded_pause_ms ? 2 * crowded_pause_ms : RING_CROWDED_FIRST_MS;
	crowded_pause_ms = !crowded                           ? 0
			   : longer_ms < RING_CROWDED_LAST_MS ? longer_ms
							      : RING_CROWDED_LAST_MS;
	if (crowded)
		crowded_until_ms = ring_clock_ms() + (uint64_t)crowded_pause_ms;
}

bool ring_fd_ran_out(int cause)
{
	return cause == EMFILE || cause == ENFILE;
}

const char *ring_fd_words(int cause, char text[RING_FD_WORDS])
{
	struct rlimit limit;
	int length = snprintf(text, RING_FD_WORDS, "%s", strerror(cause));
	size_t room = RING_FD_WORDS - (size_t)length;
	if (cause == EMFILE && !getrlimit(RLIMIT_NOFILE, &limit))
		snprintf(text + length, room, "; this process may have %llu (ulimit -n)",
			 (unsigned long long)limit.rlim_cur);
	else if (cause == ENFILE)
		snprintf(text + length, room, "; see fs.file-max");
	return text;
}

/* ---- passing ---- */

/* Room for the one control message that carries descriptors, aligned as cmsg(3) wants it. */
union passing {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(RING_FDS_PASSED_MAX * sizeof(int))];
};

ssize_t ring_fd_send_with(int fd, const void *data, size_t bytes, const int *fds, int nfds)
{
	union passing control = {0};
	struct iovec part = {.iov_base = (void *)data, .iov_len = bytes};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (nfds < 0 || nfds > RING_FDS_PASSED_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (nfds > 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE((size_t)nfds * sizeof(int));
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN((size_t)nfds * sizeof(int));
		memcpy(CMSG_DATA(header), fds, (size_t)nfds * sizeof(int));
	}
	if (nfds > 0 && is_too_early()) {
		errno = ETOOMANYREFS;
		return -1;
	}
	ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (nfds > 0)
		note_crowded(sent < 0 && errno == ETOOMANYREFS);
	return sent;
}

/*
 * Why the kernel kept descriptors of a message back: this process had no number left, or the peer
 * sent too many.
 */
static int why_kept_back(int fd)
{
	int probe = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (probe < 0 && errno == EMFILE)
		return EMFILE;
	if (probe >= 0)
		close(probe);
	return EPROTO;
}

/* Notes the descriptors of one control message. False if one could not be kept. */
static bool keep_passed(struct cmsghdr *header, int *fds, int max, int *nfds)
{
	size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	bool kept = true;
	for (size_t i = 0; i < count; i++) {
		int fd;
		memcpy(&fd, CMSG_DATA(header) + i * sizeof(fd), sizeof(fd));
		if (*nfds == max) {
			close(fd);
			kept = false;
		} else if ((fd = note(fd)) < 0) {
			kept = false;
		} else {
			fds[(*nfds)++] = fd;
		}
	}
	return kept;
}

ssize_t ring_fd_recv_with(int fd, void *data, size_t bytes, int *fds, int max, int *nfds)
{
	union passing control;
	struct iovec part = {.iov_base = data, .iov_len = bytes};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	message.msg_control = control.bytes;
	message.msg_controllen = sizeof(control.bytes);

	pthread_mutex_lock(&lock);
	ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	*nfds = 0;
	bool kept_back = got >= 0 && message.msg_flags & MSG_CTRUNC, kept = !kept_back;
	for (struct cmsghdr *header = got < 0 ? NULL : CMSG_FIRSTHDR(&message); header;
	     header = CMSG_NXTHDR(&message, header))
		if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
			kept &= keep_passed(header, fds, max, nfds);
	int cause = kept_back ? why_kept_back(fd) : EPROTO;
	pthread_mutex_unlock(&lock);

	if (got >= 0 && !kept) {
		while (*nfds > 0)
			ring_fd_close(fds[--*nfds]);
		errno = cause;
		return -1;
	}
	return got;
}

void ring_fd_close(int fd)
{
	if (fd < 0)
		return;
	pthread_mutex_lock(&lock);
	bool ours = !is_lost(fd);
	if ((size_t)fd < noted_room)
		noted[fd].is_there = false;
	if (ours)
		close(fd);
	pthread_mutex_unlock(&lock);
}

bool ring_fd_is_lost(int fd)
{
	pthread_mutex_lock(&lock);
	bool lost = fd >= 0 && is_lost(fd);
	pthread_mutex_unlock(&lock);
	return lost;
}

unsigned ring_fork_generation(void)
{
	return generation;
}

/* ---- ends ---- */

void ring_fd_end(int fd)
{
	char waste[16384];
	shutdown(fd, SHUT_WR);
	ssize_t got;
	size_t discarded = 0;
	do {
		got = recv(fd, waste, sizeof(waste), MSG_DONTWAIT);
		discarded += got > 0 ? (size_t)got : 0;
	} while (got > 0 && discarded < DISCARD_BYTES);
}

static int ask(int fd, int option)
{
	int value = -1;
	socklen_t length = sizeof(value);
	return getsockopt(fd, SOL_SOCKET, option, &value, &length) ? -1 : value;
}

static bool is_connection(int fd)
{
	int domain = ask(fd, SO_DOMAIN);
	return (domain == AF_INET || domain == AF_INET6) && ask(fd, SO_ACCEPTCONN) == 0;
}

void ring_fd_part(void)
{
	if (pthread_mutex_trylock(&lock))
		return;
	for (size_t fd = 0; fd < noted_room; fd++)
		if (noted[fd].is_there && !is_lost((int)fd) && is_connection((int)fd))
			ring_fd_end((int)fd);
	pthread_mutex_unlock(&lock);
}
