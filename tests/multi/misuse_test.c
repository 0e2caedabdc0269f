/* SPDX-License-Identifier: MIT */
/*
 * What a program can do wrong beside the arguments of a call, and what it is told: fork, creation,
 * options that differ, aborts. No descriptor or thread is left behind.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness.h"
#include "tests/holdings.h"
#include "tests/multi/verdict.h"

#define N 3

/* ---- fork ------------------------------------------------------------------------------------ */

static int use_in_child(struct harness_rank *self, struct ring_comm *comm,
			struct ring_stream *stream)
{
	int32_t value = 1;
	struct ring_stats stats = {.size = sizeof(stats)};
	int err = ring_all_reduce(comm, &value, &value, 1, RING_INT32, RING_SUM, NULL);
	int bad = expect_verdict(self, "a call in a child", err, RING_EINVAL, comm, "fork");
	if (ring_comm_status(comm) != RING_EINVAL || ring_comm_abort(comm) != RING_EINVAL ||
	    ring_comm_stats(comm, &stats) != RING_EINVAL ||
	    ring_stream_wait(stream, 0) != RING_EINVAL ||
	    ring_stream_create(comm, &stream) != RING_EINVAL)
		bad = harness_fail(self, "a child may use its parent's communicator");
	if (!strstr(ring_comm_error(comm), "ring_stream_create: this communicator belongs"))
		bad = harness_fail(self, "a child was told \"%s\"", ring_comm_error(comm));
	ring_comm_destroy(comm);

	struct ring_unique_id id;
	struct ring_comm *own;
	if (ring_unique_id_create(&id) || ring_comm_create(&own, 1, 0, &id, NULL))
		return harness_fail(self, "a child cannot make its own: %s", ring_comm_error(NULL));
	if (ring_barrier(own, NULL))
		bad = harness_fail(self, "a child's own: %s", ring_comm_error(own));
	ring_comm_destroy(own);
	return bad;
}

static int forks(struct harness_rank *self, struct ring_comm *comm)
{
	struct ring_stream *stream;
	if (ring_stream_create(comm, &stream))
		return harness_fail(self, "no stream");
	if (expect_works(self, comm, "creation"))
		return 1;
	usleep(200000); /* a sanitizer's allocator may not be at work in another thread at fork() */
	int status = -1;
	pid_t child = fork();
	if (child == 0)
		_exit(use_in_child(self, comm, stream));
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return harness_fail(self, "the child ended with %d", status);
	ring_stream_destroy(stream);
	return expect_works(self, comm, "fork");
}

/* ---- creation -------------------------------------------------------------------------------- */

static int bad_creations(struct harness_rank *self)
{
	struct ring_comm *comm = NULL;
	struct ring_unique_id id, noise = {.bytes = {1, 2, 3}};
	struct ring_options options;
	int bad = 0;
	if (ring_unique_id_create(NULL) != RING_EINVAL)
		bad = harness_fail(self, "an id may be NULL");
	if (ring_unique_id_create(&id))
		return harness_fail(self, "no id: %s", ring_comm_error(NULL));
	bad |= expect_verdict(self, "no comm", ring_comm_create(NULL, 1, 0, &id, NULL), RING_EINVAL,
			      NULL, "comm is NULL");
	bad |= expect_verdict(self, "no id", ring_comm_create(&comm, 1, 0, NULL, NULL), RING_EINVAL,
			      NULL, "id is NULL");
	bad |= expect_verdict(self, "size 0", ring_comm_create(&comm, 0, 0, &id, NULL), RING_EINVAL,
			      NULL, "rank 0 of 0");
	bad |= expect_verdict(self, "rank 2 of 2", ring_comm_create(&comm, 2, 2, &id, NULL),
			      RING_EINVAL, NULL, "rank 2 of 2");
	bad |= expect_verdict(self, "noise", ring_comm_create(&comm, 1, 0, &noise, NULL),
			      RING_EINVAL, NULL, "not an id");
	ring_options_init(&options);
	options.size = 0;
	bad |= expect_verdict(self, "no size", ring_comm_create(&comm, 1, 0, &id, &options),
			      RING_EINVAL, NULL, "options.size");
	ring_options_init(&options);
	options.depth = 9;
	bad |= expect_verdict(self, "depth 9", ring_comm_create(&comm, 1, 0, &id, &options),
			      RING_EINVAL, NULL, "options.depth is 9");
	ring_options_init(&options);
	options.transport = "shm,pigeon";
	bad |= expect_verdict(self, "pigeons", ring_comm_create(&comm, 1, 0, &id, &options),
			      RING_EINVAL, NULL, "pigeon");
	bad |= expect_verdict(self, "no launcher", ring_comm_create_from_env(&comm, NULL),
			      RING_EINVAL, NULL, "RING_RANK, RING_SIZE, RING_ID of ring_run");
	if (comm)
		bad = harness_fail(self, "a failed creation set comm");
	/* After all these the id still works; it is the only way to end its meeting, too. */
	if (ring_comm_create(&comm, 1, 0, &id, NULL))
		return harness_fail(self, "a good creation: %s", ring_comm_error(NULL));
	ring_comm_destroy(comm);
	return bad;
}

/* Creates with options of this rank's own; all must fail alike. */
static int fail_together(struct harness_rank *self, const char *name, int size, int rank,
			 const struct ring_options *options, int want, const char *const words[2])
{
	struct ring_unique_id id;
	struct ring_comm *comm;
	if (harness_identity(self, &id))
		return 1;
	double begin = harness_clock();
	int err = ring_comm_create(&comm, size, rank, &id, options);
	double took = harness_clock() - begin;
	int bad = expect_verdict(self, name, err, want, NULL, words[0]) ||
		  expect_verdict(self, name, err, want, NULL, words[1]);
	if (took > 2 * HARNESS_ROOM)
		bad = harness_fail(self, "%s took %.2f s", name, took);
	harness_barrier(self);
	return bad;
}

static int disagreements(struct harness_rank *self)
{
	struct ring_options options;
	bool odd = self->rank == N - 1;
	harness_options(self, &options);
	options.create_timeout_ms = 60000;
	struct ring_options other = options;
	other.depth = 3;
	int bad = fail_together(self, "another depth", N, self->rank, odd ? &other : &options,
				RING_EMISMATCH, (const char *const[]){"DEPTH is 3", "rank 2"});
	other = options;
	other.chunk_bytes = 12345;
	bad |= fail_together(self, "another chunk", N, self->rank, odd ? &other : &options,
			     RING_EMISMATCH, (const char *const[]){"12345", "rank 2"});
	other = options;
	other.transport = "tcp,shm,loopback";
	bad |= fail_together(self, "another transport", N, self->rank, odd ? &other : &options,
			     RING_EMISMATCH, (const char *const[]){"tcp,shm,loopback", "rank 2"});
	bad |= fail_together(self, "another size", odd ? N + 1 : N, self->rank, &options,
			     RING_EMISMATCH, (const char *const[]){"expects 4", "expects 3"});
	bad |= fail_together(self, "the same rank", N, odd ? 0 : self->rank, &options,
			     RING_EMISMATCH, (const char *const[]){"both claim", "rank 0"});
	return bad;
}

/* The last rank never comes. */
static int missing_rank(struct harness_rank *self)
{
	struct ring_options options;
	struct ring_unique_id id;
	struct ring_comm *comm;
	harness_options(self, &options);
	options.create_timeout_ms = 2000; /* the others meet before */
	if (harness_identity(self, &id))
		return 1;
	int bad = 0;
	if (self->rank < N - 1) {
		int err = ring_comm_create(&comm, N, self->rank, &id, &options);
		bad = expect_verdict(self, "a missing rank", err, RING_ETIMEDOUT, NULL,
				     "rank 2 never came");
	}
	harness_barrier(self);
	return bad;
}

/* ---- aborts ---------------------------------------------------------------------------------- */

static void *abort_later(void *comm)
{
	usleep(100000);
	ring_comm_abort(comm);
	return NULL;
}

/* All but the last rank are in a call that cannot end; another thread of rank 1 aborts. */
static int aborts(struct harness_rank *self)
{
	struct ring_comm *comm;
	pthread_t thread;
	int32_t value = 1;
	if (harness_join(self, NULL, &comm))
		return 1;
	if (self->rank == 1 && pthread_create(&thread, NULL, abort_later, comm))
		return harness_fail(self, "no thread");
	while (self->rank == N - 1 && !ring_comm_status(comm))
		usleep(1000);
	double begin = harness_clock();
	int err = ring_all_reduce(comm, &value, &value, 1, RING_INT32, RING_SUM, NULL);
	double took = harness_clock() - begin;
	if (self->rank == 1)
		pthread_join(thread, NULL);
	int bad = expect_verdict(self, "an aborted call", err, RING_EABORTED, comm,
				 "rank 1 aborted") ||
		  expect_verdict(self, "the next call", ring_barrier(comm, NULL), RING_EABORTED,
				 comm, "rank 1 aborted");
	if (ring_comm_status(comm) != RING_EABORTED)
		bad = harness_fail(self, "the status is %d", ring_comm_status(comm));
	if (took > 1 * HARNESS_ROOM)
		bad = harness_fail(self, "the abort took %.2f s", took);
	ring_comm_destroy(comm);
	return bad;
}

/* ---- what is left behind --------------------------------------------------------------------- */

/* Descriptors and threads of this process, once what ends by itself has ended. */
static int leftovers(struct harness_rank *self, const char *after, int fds, int threads)
{
	harness_barrier(self);
	int more_fds = 0, more_threads = 0;
	for (int look = 0; look < 100 * HARNESS_ROOM; look++) {
		more_fds = holdings_fds() - fds;
		more_threads = holdings_threads() - threads;
		if (more_fds <= 0 && more_threads <= 0)
			break;
		usleep(20000);
	}
	harness_barrier(self);
	if (more_fds > 0 || more_threads > 0)
		return harness_fail(self, "after %s: %d descriptors and %d threads more than before",
				    after, more_fds, more_threads);
	return 0;
}

static int create_and_destroy(struct harness_rank *self, int times)
{
	for (int i = 0; i < times; i++) {
		struct ring_comm *comm;
		struct ring_stream *stream;
		if (harness_join(self, NULL, &comm))
			return 1;
		int bad = ring_stream_create(comm, &stream) || expect_works(self, comm, "creation");
		ring_stream_destroy(stream);
		ring_comm_destroy(comm);
		if (bad)
			return 1;
	}
	return 0;
}

/* ---- no standard output ---------------------------------------------------------------------- */

/* Creates, calls and shares memory, and says which of descriptors 0 to 2 the library took; -1: none. */
static int taken_by_library(struct harness_rank *self)
{
	struct ring_comm *comm;
	struct ring_stream *stream = NULL;
	void *memory = NULL;
	int taken = -1;
	if (harness_join(self, NULL, &comm))
		return STDERR_FILENO;
	if (ring_stream_create(comm, &stream) || ring_mem_alloc(comm, 1 << 20, &memory) ||
	    ring_all_reduce(comm, memory, memory, 1 << 18, RING_INT32, RING_SUM, NULL))
		taken = STDERR_FILENO;
	for (int fd = STDERR_FILENO; fd >= STDIN_FILENO; fd--)
		if (fcntl(fd, F_GETFD) >= 0)
			taken = fd;
	ring_mem_free(comm, memory);
	ring_stream_destroy(stream);
	ring_comm_destroy(comm);
	return taken;
}

/* A program that closed its standard output and printed wrote into memory that the ranks share. */
static int closed_output(struct harness_rank *self)
{
	if (self->team->world->threads)
		return 0; /* the others print */
	int kept[3];
	for (int fd = 0; fd < 3; fd++) {
		kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 100);
		close(fd);
	}
	int taken = taken_by_library(self);
	for (int fd = 0; fd < 3; fd++) {
		dup2(kept[fd], fd);
		close(kept[fd]);
	}
	harness_barrier(self);
	if (taken >= 0)
		return harness_fail(self, "the library uses descriptor %d", taken);
	return 0;
}

static int be_rank(struct harness_rank *self)
{
	struct ring_comm *comm;
	if (*ring_comm_error(NULL) || create_and_destroy(self, 1))
		return harness_fail(self, "not even once");
	harness_barrier(self);
	usleep(200000);
	int fds = holdings_fds(), threads = holdings_threads();
	harness_barrier(self);

	if (harness_join(self, NULL, &comm))
		return 1;
	int bad = forks(self, comm);
	ring_comm_destroy(comm);
	return bad || leftovers(self, "fork", fds, threads) || create_and_destroy(self, 20) ||
	       leftovers(self, "20 times", fds, threads) || bad_creations(self) ||
	       leftovers(self, "bad creations", fds, threads) || disagreements(self) ||
	       leftovers(self, "disagreements", fds, threads) || missing_rank(self) ||
	       leftovers(self, "a missing rank", fds, threads) || aborts(self) ||
	       leftovers(self, "aborts", fds, threads) || closed_output(self) ||
	       leftovers(self, "closed output", fds, threads);
}

int main(void)
{
	double begin = harness_clock();
	for (int w = 0; w < HARNESS_WORLDS; w++) {
		struct harness team = {.world = &harness_worlds[w], .size = N, .body = be_rank};
		if (harness_run(&team))
			return 1;
	}
	if (strcmp(ring_strerror(0), "success") != 0 || !*ring_strerror(12345) ||
	    !*ring_strerror(RING_EAGAIN) || ring_version() <= 0)
		return 1;
	printf("fork, creation, options, aborts: refused in words, nothing left behind (%.1f s)\n",
	       harness_clock() - begin);
	return 0;
}
