/* SPDX-License-Identifier: MIT */
/*
 * A thread writes what is waiting, in pieces that end with a line if possible. A pipe takes such a
 * piece as a whole, so lines of other writers are not torn; and pieces are small enough to see
 * whether the reader reads.
 */
#include "outlet.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct outlet {
	int fd, room;
	pthread_t thread;
	pthread_mutex_t lock; /* for all members below */
	pthread_cond_t changed;
	bool closing;
	bool writing; /* the thread is in write(2), perhaps for long */
	bool refused; /* a caller waits for room */
	int error;
	uint64_t written;
	size_t begin, used; /* bytes waiting in the buffer, with those being written */
	char buffer[65536];
};

/* Copies the next piece. returns its bytes; 0: nothing is waiting */
static size_t take_piece(const struct outlet *outlet, char piece[PIPE_BUF])
{
	size_t count = outlet->used < PIPE_BUF ? outlet->used : PIPE_BUF;
	memcpy(piece, outlet->buffer + outlet->begin, count);
	const char *end = count < outlet->used ? memrchr(piece, '\n', count) : NULL;
	return end ? (size_t)(end - piece) + 1 : count;
}

/* returns bytes written, perhaps none; -1 with errno */
static ssize_t write_some(int fd, const char *bytes, size_t count)
{
	ssize_t written = write(fd, bytes, count);
	if (written < 0 && errno == EAGAIN) /* another process made the file non-blocking */
		poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
	return written < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : written;
}

static void note_written(struct outlet *outlet, size_t count)
{
	outlet->written += count;
	outlet->begin += count;
	outlet->used -= count;
	if (outlet->used == 0 || (outlet->refused && outlet->used <= sizeof(outlet->buffer) / 2)) {
		outlet->refused = false;
		eventfd_write(outlet->room, 1);
	}
}

static void note_failure(struct outlet *outlet, int error)
{
	outlet->error = error;
	outlet->used = 0;
	eventfd_write(outlet->room, 1);
}

/* May be cancelled while it writes; after that the outlet is only freed. */
static void *run(void *argument)
{
	struct outlet *outlet = argument;
	char piece[PIPE_BUF];
	pthread_mutex_lock(&outlet->lock);
	while (!outlet->closing) {
		size_t count = take_piece(outlet, piece);
		if (count == 0) {
			pthread_cond_wait(&outlet->changed, &outlet->lock);
			continue;
		}
		outlet->writing = true;
		pthread_mutex_unlock(&outlet->lock);
		ssize_t written = write_some(outlet->fd, piece, count);
		int error = errno;
		pthread_mutex_lock(&outlet->lock);
		outlet->writing = false;
		if (written < 0)
			note_failure(outlet, error);
		else
			note_written(outlet, (size_t)written);
	}
	pthread_mutex_unlock(&outlet->lock);
	return NULL;
}

/*
 * The thread blocks signals: for a closed pipe or a file that is too large write(2) returns errors,
 * and signals to the process are for its other threads. But a terminal may stop us as a background
 * process.
 */
static int start_thread(struct outlet *outlet)
{
	sigset_t deaf, before;
	sigfillset(&deaf);
	sigdelset(&deaf, SIGTTOU);
	pthread_sigmask(SIG_SETMASK, &deaf, &before);
	int err = pthread_create(&outlet->thread, NULL, run, outlet);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

static struct outlet *open_one(int fd, int room)
{
	struct outlet *outlet = calloc(1, sizeof(*outlet));
	if (!outlet)
		return NULL;
	outlet->fd = fd;
	outlet->room = room;
	pthread_mutex_init(&outlet->lock, NULL);
	pthread_cond_init(&outlet->changed, NULL);
	if (start_thread(outlet) != 0) {
		free(outlet);
		return NULL;
	}
	return outlet;
}

int outlet_put(struct outlet *outlet, const char *bytes, size_t count)
{
	pthread_mutex_lock(&outlet->lock);
	int err = outlet->error;
	if (!err && outlet->used + count > sizeof(outlet->buffer)) {
		outlet->refused = true;
		err = EAGAIN;
	}
	if (!err) {
		char *buffer = outlet->buffer;
		if (outlet->begin + outlet->used + count > sizeof(outlet->buffer)) {
			memmove(buffer, buffer + outlet->begin, outlet->used);
			outlet->begin = 0;
		}
		memcpy(buffer + outlet->begin + outlet->used, bytes, count);
		outlet->used += count;
		pthread_cond_signal(&outlet->changed);
	}
	pthread_mutex_unlock(&outlet->lock);
	return err;
}

int outlet_error(struct outlet *outlet)
{
	pthread_mutex_lock(&outlet->lock);
	int error = outlet->error;
	pthread_mutex_unlock(&outlet->lock);
	return error;
}

size_t outlet_left(struct outlet *outlet)
{
	pthread_mutex_lock(&outlet->lock);
	size_t left = outlet->used;
	pthread_mutex_unlock(&outlet->lock);
	return left;
}

uint64_t outlet_written(struct outlet *outlet)
{
	pthread_mutex_lock(&outlet->lock);
	uint64_t written = outlet->written;
	pthread_mutex_unlock(&outlet->lock);
	return written;
}

static void close_one(struct outlet *outlet)
{
	if (!outlet)
		return;
	pthread_mutex_lock(&outlet->lock);
	outlet->closing = true;
	if (outlet->writing)
		pthread_cancel(outlet->thread);
	pthread_cond_signal(&outlet->changed);
	pthread_mutex_unlock(&outlet->lock);
	pthread_join(outlet->thread, NULL);
	free(outlet);
}

void outlet_wait(struct outlet *outlet, int timeout_ms)
{
	for (int waited = 0; waited < timeout_ms && outlet_left(outlet) > 0; waited += 5)
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

static bool is_same_file(int a, int b)
{
	struct stat at_a, at_b;
	return fstat(a, &at_a) == 0 && fstat(b, &at_b) == 0 && at_a.st_dev == at_b.st_dev &&
	       at_a.st_ino == at_b.st_ino;
}

bool outlets_open(struct outlet *outlets[2], int room)
{
	outlets[0] = open_one(STDOUT_FILENO, room);
	outlets[1] = is_same_file(STDOUT_FILENO, STDERR_FILENO) ? outlets[0]
								: open_one(STDERR_FILENO, room);
	return outlets[0] && outlets[1];
}

void outlets_close(struct outlet *outlets[2])
{
	if (outlets[1] != outlets[0])
		close_one(outlets[1]);
	close_one(outlets[0]);
}
