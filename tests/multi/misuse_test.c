/* SPDX-License-Identifier: MIT */
/*
 * What a program can do wrong, and what it is told: arguments, overlap, fork, creation, options
 * that differ, aborts. Afterwards the communicator works, and no descriptor or thread is left behind.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness.h"

#define N 3
#define COUNT 100

/* The call must have given `want`, and the sentence must hold `word`. */
static int expect(const struct harness_rank *self, const char *name, int got, int want,
		  const struct ring_comm *comm, const char *word)
{
	const char *sentence = ring_comm_error(comm);
	if (got == want && strstr(sentence, word))
		return 0;
	return harness_fail(self, "%s gave %d (%s), not %d; looked for \"%s\" in \"%s\"", name, got,
			    ring_strerror(got), want, word, sentence);
}

static int still_works(const struct harness_rank *self, struct ring_comm *comm, const char *after)
{
	int32_t value = self->rank + 1, sum = 0;
	int err = ring_all_reduce(comm, &value, &sum, 1, RING_INT32, RING_SUM, NULL);
	if (err || sum != self->size * (self->size + 1) / 2 || ring_comm_status(comm))
		return harness_fail(self, "after %s: sum %d: %s", after, sum, ring_comm_error(comm));
	return 0;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static int bad_values(struct harness_rank *self, struct ring_comm *comm)
{
	float a[COUNT] = {0}, b[COUNT];
	const enum ring_datatype no_type = (enum ring_datatype)99, f32 = RING_FLOAT32;
	const enum ring_op no_op = (enum ring_op)7, sum = RING_SUM;
	const int invalid = RING_EINVAL, unsupported = RING_ENOTSUP;
	const size_t huge = SIZE_MAX / 8;
	int bad = 0;
	bad |= expect(self, "NULL send", ring_all_reduce(comm, NULL, b, 1, f32, sum, NULL), invalid,
		      comm, "send is NULL");
	bad |= expect(self, "NULL recv", ring_all_gather(comm, a, NULL, 1, f32, NULL), invalid,
		      comm, "recv is NULL");
	bad |= expect(self, "type 99", ring_all_reduce(comm, a, b, 1, no_type, sum, NULL), invalid,
		      comm, "99 is no datatype");
	bad |= expect(self, "type -1",
		      ring_broadcast(comm, a, b, 1, (enum ring_datatype) - 1, 0, NULL), invalid,
		      comm, "-1 is no datatype");
	bad |= expect(self, "int8", ring_all_gather(comm, a, b, 1, RING_INT8, NULL), unsupported,
		      comm, "int8");
	bad |= expect(self, "op 7", ring_reduce_scatter(comm, a, b, 1, f32, no_op, NULL), invalid,
		      comm, "7 is no operation");
	bad |= expect(self, "root -1", ring_broadcast(comm, a, b, 1, f32, -1, NULL), invalid, comm,
		      "root -1");
	bad |= expect(self, "root N", ring_broadcast(comm, a, b, 1, f32, self->size, NULL), invalid,
		      comm, "root 3");
	bad |= expect(self, "a huge count", ring_all_reduce(comm, a, b, SIZE_MAX, f32, sum, NULL),
		      invalid, comm, "more than memory can hold");
	bad |= expect(self, "a huge part", ring_all_gather(comm, a, b, huge, f32, NULL), invalid,
		      comm, "more than memory can hold");
	return bad || still_works(self, comm, "bad values");
}

static int overlaps(struct harness_rank *self, struct ring_comm *comm)
{
	float v[N * COUNT] = {0};
	const enum ring_datatype f32 = RING_FLOAT32;
	const enum ring_op sum = RING_SUM;
	const size_t other = (size_t)((self->rank + 1) % self->size) * COUNT;
	const size_t own = (size_t)self->rank * COUNT;
	int bad = 0;
	bad |= expect(self, "one element of overlap",
		      ring_all_reduce(comm, v, v + COUNT - 1, COUNT, f32, sum, NULL), RING_EINVAL,
		      comm, "overlap");
	bad |= expect(self, "one byte of overlap",
		      ring_all_reduce(comm, (char *)v + 4 * COUNT - 1, v, COUNT, f32, sum, NULL),
		      RING_EINVAL, comm, "overlap");
	bad |= expect(self, "another's part of a reduce-scatter",
		      ring_reduce_scatter(comm, v, v + other, COUNT, f32, sum, NULL), RING_EINVAL,
		      comm, "overlap");
	bad |= expect(self, "another's part of an all-gather",
		      ring_all_gather(comm, v + other, v, COUNT, f32, NULL), RING_EINVAL, comm,
		      "overlap");
	if (self->rank == 0)
		bad |= expect(self, "overlap on the root",
			      ring_broadcast(comm, v, v + 1, COUNT, f32, 0, NULL), RING_EINVAL,
			      comm, "overlap");
	if (bad)
		return 1;
	if (ring_all_reduce(comm, v, v + COUNT, COUNT, f32, sum, NULL) ||
	    ring_all_gather(comm, v + own, v, COUNT, f32, NULL) ||
	    ring_reduce_scatter(comm, v, v + own, COUNT, f32, sum, NULL) ||
	    ring_broadcast(comm, self->rank ? v + 1 : v, v, COUNT, f32, 0, NULL) ||
	    ring_all_reduce(comm, NULL, NULL, 0, f32, sum, NULL))
		return harness_fail(self, "a good call: %s", ring_comm_error(comm));
	return still_works(self, comm, "overlaps");
}

static int nulls(struct harness_rank *self, struct ring_comm *comm)
{
	float a[COUNT] = {0}, b[COUNT];
	const enum ring_datatype f32 = RING_FLOAT32;
	struct ring_stats stats = {.size = sizeof(stats)}, unset = {.size = 0};
	struct ring_stream *stream;
	int bad = 0;
	bad |= expect(self, "no comm", ring_all_reduce(NULL, a, b, 1, f32, RING_SUM, NULL),
		      RING_EINVAL, NULL, "all_reduce: comm is NULL");
	bad |= expect(self, "no comm", ring_barrier(NULL, NULL), RING_EINVAL, NULL,
		      "barrier: comm is NULL");
	if (ring_comm_size(NULL) != RING_EINVAL || ring_comm_rank(NULL) != RING_EINVAL ||
	    ring_comm_status(NULL) != RING_EINVAL || ring_comm_abort(NULL) != RING_EINVAL ||
	    ring_comm_stats(NULL, &stats) != RING_EINVAL ||
	    ring_comm_stats(comm, NULL) != RING_EINVAL ||
	    ring_comm_stats(comm, &unset) != RING_EINVAL)
		bad = harness_fail(self, "a communicator's functions accept NULL");
	if (ring_stream_create(NULL, &stream) != RING_EINVAL ||
	    ring_stream_create(comm, NULL) != RING_EINVAL ||
	    ring_stream_wait(NULL, 0) != RING_EINVAL || ring_stream_test(NULL, 0) != RING_EINVAL ||
	    ring_stream_position(NULL) != 0)
		bad = harness_fail(self, "a stream's functions accept NULL");
	ring_stream_destroy(NULL);
	ring_comm_destroy(NULL);
	return bad || still_works(self, comm, "NULLs");
}

static int foreign_stream(struct harness_rank *self, struct ring_comm *comm)
{
	struct ring_comm *other;
	struct ring_stream *stream;
	if (harness_join(self, NULL, &other) || ring_stream_create(other, &stream))
		return 1;
	int bad = expect(self, "another's stream", ring_barrier(comm, stream), RING_EINVAL, comm,
			 "another communicator");
	ring_stream_destroy(stream);
	ring_comm_destroy(other);
	return bad || still_works(self, comm, "another's stream");
}

/* ---- fork ------------------------------------------------------------------------------------ */

static int use_in_child(struct harness_rank *self, struct ring_comm *comm,
			struct ring_stream *stream)
{
	int32_t value = 1;
	struct ring_stats stats = {.size = sizeof(stats)};
	int err = ring_all_reduce(comm, &value, &value, 1, RING_INT32, RING_SUM, NULL);
	int bad = expect(self, "a call in a child", err, RING_EINVAL, NULL, "fork");
	if (ring_comm_status(comm) != RING_EINVAL || ring_comm_abort(comm) != RING_EINVAL ||
	    ring_comm_stats(comm, &stats) != RING_EINVAL ||
	    ring_stream_wait(stream, 0) != RING_EINVAL ||
	    ring_stream_create(comm, &stream) != RING_EINVAL)
		bad = harness_fail(self, "a child may use its parent's communicator");
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
	int status = -1;
	pid_t child = fork();
	if (child == 0)
		_exit(use_in_child(self, comm, stream));
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return harness_fail(self, "the child ended with %d", status);
	ring_stream_destroy(stream);
	return still_works(self, comm, "fork");
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
	bad |= expect(self, "no comm", ring_comm_create(NULL, 1, 0, &id, NULL), RING_EINVAL, NULL,
		      "comm is NULL");
	bad |= expect(self, "no id", ring_comm_create(&comm, 1, 0, NULL, NULL), RING_EINVAL, NULL,
		      "id is NULL");
	bad |= expect(self, "size 0", ring_comm_create(&comm, 0, 0, &id, NULL), RING_EINVAL, NULL,
		      "rank 0 of 0");
	bad |= expect(self, "rank 2 of 2", ring_comm_create(&comm, 2, 2, &id, NULL), RING_EINVAL,
		      NULL, "rank 2 of 2");
	bad |= expect(self, "noise", ring_comm_create(&comm, 1, 0, &noise, NULL), RING_EINVAL, NULL,
		      "no id");
	ring_options_init(&options);
	options.size = 0;
	bad |= expect(self, "no size", ring_comm_create(&comm, 1, 0, &id, &options), RING_EINVAL,
		      NULL, "options.size");
	ring_options_init(&options);
	options.depth = 9;
	bad |= expect(self, "depth 9", ring_comm_create(&comm, 1, 0, &id, &options), RING_EINVAL,
		      NULL, "options.depth is 9");
	ring_options_init(&options);
	options.transport = "shm,pigeon";
	bad |= expect(self, "pigeons", ring_comm_create(&comm, 1, 0, &id, &options), RING_EINVAL,
		      NULL, "pigeon");
	bad |= expect(self, "no launcher", ring_comm_create_from_env(&comm, NULL), RING_EINVAL,
		      NULL, "RING_RANK is not set");
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
	int bad = expect(self, name, err, want, NULL, words[0]) ||
		  expect(self, name, err, want, NULL, words[1]);
	if (took > 2)
		bad = harness_fail(self, "%s took %.2f s", name, took);
	harness_barrier(self);
	return bad;
}

static int disagreements(struct harness_rank *self)
{
	struct ring_options options;
	bool odd = self->rank == N - 1;
	harness_options(self, &options);
	options.create_timeout_ms = 10000;
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
	options.create_timeout_ms = 500;
	if (harness_identity(self, &id))
		return 1;
	int bad = 0;
	if (self->rank < N - 1) {
		int err = ring_comm_create(&comm, N, self->rank, &id, &options);
		bad = expect(self, "a missing rank", err, RING_ETIMEDOUT, NULL, "rank 2 never came");
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
	if (self->rank == N - 1)
		usleep(500000);
	double begin = harness_clock();
	int err = ring_all_reduce(comm, &value, &value, 1, RING_INT32, RING_SUM, NULL);
	double took = harness_clock() - begin;
	if (self->rank == 1)
		pthread_join(thread, NULL);
	int bad = expect(self, "an aborted call", err, RING_EABORTED, comm, "rank 1 aborted") ||
		  expect(self, "the next call", ring_barrier(comm, NULL), RING_EABORTED, comm,
			 "rank 1 aborted");
	if (ring_comm_status(comm) != RING_EABORTED)
		bad = harness_fail(self, "the status is %d", ring_comm_status(comm));
	if (took > 1)
		bad = harness_fail(self, "the abort took %.2f s", took);
	ring_comm_destroy(comm);
	return bad;
}

/* ---- what is left behind --------------------------------------------------------------------- */

static int count_entries(const char *path)
{
	DIR *folder = opendir(path);
	int count = 0;
	while (folder && readdir(folder))
		count++;
	if (folder)
		closedir(folder);
	return count;
}

/* Descriptors and threads of this process, once what ends by itself has ended. */
static int leftovers(struct harness_rank *self, const char *after, int fds, int threads)
{
	harness_barrier(self);
	int more_fds = 0, more_threads = 0;
	for (int look = 0; look < 100; look++) {
		more_fds = count_entries("/proc/self/fd") - fds;
		more_threads = count_entries("/proc/self/task") - threads;
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
		int bad = ring_stream_create(comm, &stream) || still_works(self, comm, "creation");
		ring_stream_destroy(stream);
		ring_comm_destroy(comm);
		if (bad)
			return 1;
	}
	return 0;
}

static int be_rank(struct harness_rank *self)
{
	struct ring_comm *comm;
	if (*ring_comm_error(NULL) || create_and_destroy(self, 1))
		return harness_fail(self, "not even once");
	harness_barrier(self);
	usleep(200000);
	int fds = count_entries("/proc/self/fd"), threads = count_entries("/proc/self/task");
	harness_barrier(self);

	if (harness_join(self, NULL, &comm))
		return 1;
	int bad = bad_values(self, comm) || overlaps(self, comm) || nulls(self, comm) ||
		  foreign_stream(self, comm) || forks(self, comm);
	ring_comm_destroy(comm);
	return bad || leftovers(self, "bad calls", fds, threads) || create_and_destroy(self, 20) ||
	       leftovers(self, "20 times", fds, threads) || bad_creations(self) ||
	       leftovers(self, "bad creations", fds, threads) || disagreements(self) ||
	       leftovers(self, "disagreements", fds, threads) || missing_rank(self) ||
	       leftovers(self, "a missing rank", fds, threads) || aborts(self) ||
	       leftovers(self, "aborts", fds, threads);
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
	printf("arguments, overlaps, fork, creation, options, aborts: refused in words, nothing "
	       "left behind (%.1f s)\n",
	       harness_clock() - begin);
	return 0;
}
