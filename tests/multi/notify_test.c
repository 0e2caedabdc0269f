/* SPDX-License-Identifier: MIT */
/*
 * Any thread waits for, tests and asks about a stream's positions while the one that makes calls goes
 * on; completion callbacks and descriptors tell of positions once, in order, also of failures, and no
 * later than the stream's end.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness.h"

#define CALLS 200
#define WAITERS 3
#define LONG_MS 20000 /* that a descriptor may take on a busy machine */

static int complain(const struct harness_rank *self, const char *what, const struct ring_comm *comm)
{
	return harness_fail(self, "%s: %s", what, ring_comm_error(comm));
}

/* ---- waiting elsewhere ----------------------------------------------------------------------- */

/* What the threads of a rank share. */
struct shared {
	struct ring_comm *comm;
	struct ring_stream *stream;
	int size;
	atomic_int issued, bad;
	int32_t sums[CALLS];
};

/* Waits for each position once it was made, or tests until it is complete. */
static void *wait_for_all(void *argument)
{
	struct shared *shared = argument;
	for (int call = 0; call < CALLS; call++) {
		uint64_t position = (uint64_t)call + 1, began, ended;
		while (ring_stream_position(shared->stream) < position)
			sched_yield();
		int err = call % 2 ? ring_stream_wait(shared->stream, position)
				   : ring_stream_test(shared->stream, position);
		while (err == RING_EAGAIN)
			err = ring_stream_test(shared->stream, position);
		if (err || shared->sums[call] != shared->size * (call + 1) ||
		    ring_stream_times(shared->stream, position, &began, &ended) ||
		    ring_comm_status(shared->comm) || strlen(ring_comm_error(shared->comm)) > 0)
			atomic_store(&shared->bad, call + 1);
	}
	return NULL;
}

static int wait_elsewhere(struct harness_rank *self, struct ring_comm *comm)
{
	struct shared *shared = calloc(1, sizeof(*shared));
	pthread_t waiters[WAITERS];
	int bad = 0;
	shared->comm = comm;
	shared->size = self->size;
	if (ring_stream_create(comm, &shared->stream))
		return complain(self, "creating a stream", comm);
	for (int w = 0; w < WAITERS; w++)
		pthread_create(&waiters[w], NULL, wait_for_all, shared);
	for (int call = 0; call < CALLS; call++) {
		shared->sums[call] = call + 1;
		if (ring_all_reduce(comm, &shared->sums[call], &shared->sums[call], 1, RING_INT32,
				    RING_SUM, shared->stream))
			bad = complain(self, "a call", comm);
	}
	for (int w = 0; w < WAITERS; w++)
		pthread_join(waiters[w], NULL);
	if (atomic_load(&shared->bad))
		bad = harness_fail(self, "call %d, waited for elsewhere", atomic_load(&shared->bad));
	ring_stream_destroy(shared->stream);
	free(shared);
	return bad;
}

/* A waiter learns of a failure, and asks for its sentence, while the calling thread computes. */
static void *wait_for_failure(void *argument)
{
	struct shared *shared = argument;
	int err = ring_stream_wait(shared->stream, 1);
	bool right = err == RING_EABORTED && ring_comm_status(shared->comm) == err &&
		     strstr(ring_comm_error(shared->comm), "aborted the communicator");
	atomic_store(&shared->bad, !right);
	return NULL;
}

static int fail_elsewhere(struct harness_rank *self, struct ring_comm *comm)
{
	struct shared shared = {.comm = comm};
	pthread_t waiter;
	int32_t received;
	if (ring_stream_create(comm, &shared.stream) ||
	    ring_recv(comm, &received, 1, RING_INT32, (self->rank + 1) % self->size, shared.stream))
		return complain(self, "a receive", comm);
	pthread_create(&waiter, NULL, wait_for_failure, &shared);
	harness_barrier(self);
	if (self->rank == 0)
		ring_comm_abort(comm);
	pthread_join(waiter, NULL);
	ring_stream_destroy(shared.stream);
	return atomic_load(&shared.bad) ? complain(self, "a waiter and a failure", comm) : 0;
}

/* ---- being told ------------------------------------------------------------------------------ */

/* One that is told: when, in the order of all, with what. */
struct told {
	struct ring_stream *stream;
	struct ring_comm *comm;
	uint64_t position;
	atomic_int *turns;
	atomic_int turn, result, times;
	bool complete;
};

static void note(void *context, int result)
{
	struct told *told = context;
	told->complete = ring_stream_test(told->stream, told->position) == result &&
			 ring_stream_position(told->stream) >= told->position &&
			 ring_comm_status(told->comm) == result && ring_comm_error(told->comm);
	atomic_store(&told->result, result);
	atomic_store(&told->turn, atomic_fetch_add(told->turns, 1) + 1);
	atomic_fetch_add(&told->times, 1);
}

static int ask(struct harness_rank *self, struct told *told, struct ring_comm *comm,
	       struct ring_stream *stream, uint64_t position, atomic_int *turns)
{
	*told = (struct told){.stream = stream, .comm = comm, .position = position, .turns = turns};
	if (ring_stream_notify(stream, position, note, told))
		return complain(self, "asking to be told", comm);
	return 0;
}

/* Of many calls, asked for backwards and twice for each; some are complete by then, others not. */
static int tell_of_many(struct harness_rank *self, struct ring_comm *comm)
{
	struct ring_stream *stream;
	struct told *told = calloc(2 * CALLS, sizeof(*told));
	atomic_int turns = 0;
	int bad = ring_stream_create(comm, &stream);
	for (int call = 0; !bad && call < CALLS; call++)
		bad = ring_barrier(comm, stream);
	for (int call = CALLS - 1; !bad && call >= 0; call--)
		for (int k = 0; !bad && k < 2; k++)
			bad = ask(self, &told[2 * call + k], comm, stream, (uint64_t)call + 1,
				  &turns);
	ring_stream_destroy(stream);
	for (int i = 0; !bad && i < 2 * CALLS; i++)
		if (atomic_load(&told[i].times) != 1 || atomic_load(&told[i].result) ||
		    !told[i].complete)
			bad = harness_fail(self, "position %d was told %d times, with %d",
					   i / 2 + 1, atomic_load(&told[i].times),
					   atomic_load(&told[i].result));
	free(told);
	return bad;
}

/* Rank 0 comes late: until then nobody is told, and what is told comes in the order of positions. */
static int tell_late(struct harness_rank *self, struct ring_comm *comm)
{
	struct ring_stream *stream;
	struct told told[6];
	atomic_int turns = 0;
	int bad = ring_stream_create(comm, &stream);
	for (int call = 0; !bad && self->rank != 0 && call < 3; call++)
		bad = ring_barrier(comm, stream);
	for (int i = 5; !bad && self->rank != 0 && i >= 0; i--)
		bad = ask(self, &told[i], comm, stream, (uint64_t)i / 2 + 1, &turns);
	if (atomic_load(&turns) > 0)
		bad = harness_fail(self, "told of calls that wait for rank 0");
	harness_barrier(self);
	for (int call = 0; !bad && self->rank == 0 && call < 3; call++)
		bad = ring_barrier(comm, stream);
	ring_stream_destroy(stream);
	for (int i = 0; !bad && self->rank != 0 && i < 6; i++) {
		int turn = i / 2 * 2 + 2 - i % 2; /* those of one position as they were asked for */
		if (atomic_load(&told[i].turn) != turn || atomic_load(&told[i].result))
			bad = harness_fail(self, "note %d came as number %d", i,
					   atomic_load(&told[i].turn));
	}
	return bad;
}

/* A position that is complete is told of at once, by this thread; wrong ones are refused. */
static int tell_at_once(struct harness_rank *self, struct ring_comm *comm)
{
	struct ring_stream *stream;
	struct told told;
	atomic_int turns = 0;
	int fd = -1;
	if (ring_stream_create(comm, &stream) || ring_barrier(comm, stream) ||
	    ring_stream_wait(stream, 1) || ask(self, &told, comm, stream, 1, &turns) ||
	    atomic_load(&told.times) != 1 || !told.complete ||
	    ask(self, &told, comm, stream, 0, &turns) || atomic_load(&told.times) != 1)
		return complain(self, "told at once", comm);
	if (ring_stream_notify(stream, 2, note, &told) != RING_EINVAL ||
	    ring_stream_notify(stream, 1, NULL, &told) != RING_EINVAL ||
	    ring_stream_notify(NULL, 1, note, &told) != RING_EINVAL ||
	    ring_stream_fd(stream, 2, &fd) != RING_EINVAL ||
	    ring_stream_fd(stream, 1, NULL) != RING_EINVAL ||
	    ring_stream_fd(NULL, 1, &fd) != RING_EINVAL || fd != -1 || atomic_load(&turns) != 2)
		return harness_fail(self, "what makes no sense was not refused");
	ring_stream_destroy(stream);
	return 0;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static bool is_readable(int fd, int ms)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	return poll(&polled, 1, ms) == 1 && polled.revents == POLLIN;
}

static int poll_positions(struct harness_rank *self, struct ring_comm *comm)
{
	static const uint64_t positions[] = {1, 1, 2, 0};
	struct ring_stream *stream;
	int32_t received[2];
	int fds[4], next = (self->rank + 1) % self->size;
	int prev = (self->rank + self->size - 1) % self->size;
	if (ring_stream_create(comm, &stream) ||
	    ring_recv(comm, &received[0], 1, RING_INT32, prev, stream) ||
	    ring_recv(comm, &received[1], 1, RING_INT32, prev, stream))
		return complain(self, "receives", comm);
	for (int i = 0; i < 4; i++)
		if (ring_stream_fd(stream, positions[i], &fds[i]))
			return complain(self, "a descriptor", comm);
	for (int i = 0; i < 4; i++)
		if (is_readable(fds[i], 0) != (positions[i] == 0))
			return harness_fail(self, "readable before anything was sent, or never");
	close(fds[1]); /* nobody minds, nor writes to what has its number now */
	harness_barrier(self);
	for (int32_t i = 0; i < 2; i++)
		if (ring_send(comm, &i, 1, RING_INT32, next, NULL))
			return complain(self, "a send", comm);
	bool all = is_readable(fds[2], LONG_MS) && is_readable(fds[0], 0) &&
		   is_readable(fds[0], 0) && is_readable(fds[3], 0);
	if (!all || ring_stream_test(stream, 2))
		return harness_fail(self, "a descriptor is not readable");
	ring_stream_destroy(stream);
	for (int i = 0; i < 4; i++)
		if (i != 1 && !is_readable(fds[i], 0))
			return harness_fail(self, "what was readable is so no more");
	for (int i = 0; i < 4; i++)
		if (i != 1)
			close(fds[i]);
	return 0;
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Of two receives in vain: told once each, with the error; the descriptor is readable. */
static int tell_of_failure(struct harness_rank *self, struct ring_comm *comm)
{
	struct ring_stream *stream;
	struct told told[2];
	int32_t received;
	atomic_int turns = 0;
	int fd, peer = (self->rank + 1) % self->size;
	if (ring_stream_create(comm, &stream) ||
	    ring_recv(comm, &received, 1, RING_INT32, peer, stream) ||
	    ring_recv(comm, &received, 1, RING_INT32, peer, stream) ||
	    ask(self, &told[0], comm, stream, 1, &turns) ||
	    ask(self, &told[1], comm, stream, 2, &turns) || ring_stream_fd(stream, 2, &fd))
		return complain(self, "receives in vain", comm);
	harness_barrier(self);
	if (self->rank == 0)
		ring_comm_abort(comm);
	if (!is_readable(fd, LONG_MS) || ring_stream_wait(stream, 2) != RING_EABORTED)
		return complain(self, "a descriptor after a failure", comm);
	ring_stream_destroy(stream);
	close(fd);
	for (int i = 0; i < 2; i++)
		if (atomic_load(&told[i].times) != 1 || !told[i].complete ||
		    atomic_load(&told[i].result) != RING_EABORTED ||
		    atomic_load(&told[i].turn) != i + 1)
			return harness_fail(self, "position %d was told %d times, with %d", i + 1,
					    atomic_load(&told[i].times),
					    atomic_load(&told[i].result));
	return 0;
}

static int play(struct harness_rank *self, int (*part)(struct harness_rank *, struct ring_comm *))
{
	struct ring_comm *comm;
	if (harness_join(self, NULL, &comm))
		return 1;
	int bad = part(self, comm);
	ring_comm_destroy(comm);
	return bad;
}

static int go_on(struct harness_rank *self, struct ring_comm *comm)
{
	return wait_elsewhere(self, comm) || tell_of_many(self, comm) || tell_late(self, comm) ||
	       tell_at_once(self, comm) || poll_positions(self, comm);
}

static int be_rank(struct harness_rank *self)
{
	return play(self, go_on) || play(self, fail_elsewhere) || play(self, tell_of_failure);
}

int main(void)
{
	printf("1..%d\n", HARNESS_WORLDS);
	int bad = 0;
	for (int w = 0; w < HARNESS_WORLDS; w++) {
		struct harness team = {.world = &harness_worlds[w], .size = 3, .body = be_rank};
		snprintf(team.label, sizeof(team.label), "any thread is told, %s", team.world->name);
		bad |= harness_report(team.label, harness_run(&team));
	}
	return bad;
}
