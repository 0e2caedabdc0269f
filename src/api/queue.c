/* SPDX-License-Identifier: MIT */
/* The queue of one communicator, and streams: completion positions over it. */
#include "queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/thread.h"
#include "user_stream.h"

struct ring_queue {
	struct ring_comm *comm;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work; /* a call was queued, or closing */
	pthread_cond_t done; /* a call ended */
	struct ring_call *first, **last;
	bool closing;
};

/* When a call ran. */
struct run {
	uint64_t began_ns, ended_ns;
};

struct ring_stream {
	struct ring_comm *comm;
	struct ring_user_stream user;
	/* under the queue's lock */
	uint64_t issued, completed;
	uint64_t failed_position; /* of the first call that failed, 0 if none */
	int error;
	struct run runs[RING_STREAM_TIMES]; /* of position p at p % RING_STREAM_TIMES */
};

const struct ring_comm *ring_stream_comm(const struct ring_stream *stream)
{
	return stream->comm;
}

struct ring_user_stream *ring_stream_user(struct ring_stream *stream)
{
	return &stream->user;
}

/* Frees a call with a stream; the waiter may free one without as soon as it sees it done. */
static void complete(struct ring_call *call, int result, const struct run *run)
{
	struct ring_stream *stream = call->stream;
	call->result = result;
	call->done = true;
	if (!stream)
		return;
	stream->runs[call->position % RING_STREAM_TIMES] = *run;
	stream->completed = call->position;
	if (result && !stream->error) {
		stream->error = result;
		stream->failed_position = call->position;
	}
	free(call);
}

static void complete_together(struct ring_queue *queue, struct ring_call *call, int result,
			      const struct run *run)
{
	while (call) {
		struct ring_call *together = call->together;
		complete(call, result, run);
		call = together;
	}
	pthread_cond_broadcast(&queue->done);
}

static void *serve(void *argument)
{
	struct ring_queue *queue = argument;
	pthread_mutex_lock(&queue->lock);
	for (;;) {
		while (!queue->first && !queue->closing)
			pthread_cond_wait(&queue->work, &queue->lock);
		struct ring_call *call = queue->first;
		if (!call)
			break;
		queue->first = call->next;
		if (!queue->first)
			queue->last = &queue->first;
		pthread_mutex_unlock(&queue->lock);

		ring_call_await_streams(queue->comm, call);
		struct run run = {.began_ns = ring_clock_ns()};
		pthread_mutex_lock(&queue->comm->run.lock);
		int result = ring_carry(queue->comm, call);
		pthread_mutex_unlock(&queue->comm->run.lock);
		run.ended_ns = ring_clock_ns();
		ring_call_let_streams_go(call);

		pthread_mutex_lock(&queue->lock);
		complete_together(queue, call, result, &run);
	}
	pthread_mutex_unlock(&queue->lock);
	return NULL;
}

static void append(struct ring_queue *queue, struct ring_call *call)
{
	call->next = NULL;
	*queue->last = call;
	queue->last = &call->next;
	pthread_cond_signal(&queue->work);
}

int ring_queue_open(struct ring_comm *comm, const char *call)
{
	if (comm->caller.queue)
		return 0;
	struct ring_queue *queue = calloc(1, sizeof(*queue));
	if (!queue)
		return ring_comm_refuse(&comm->failure, RING_ENOMEM, call,
					"no memory for a queue of calls");
	queue->comm = comm;
	queue->last = &queue->first;
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->work, NULL);
	pthread_cond_init(&queue->done, NULL);
	int cause = ring_thread_start(&queue->thread, "ring-queue", 0, serve, queue);
	if (cause) {
		free(queue);
		return ring_comm_refuse(&comm->failure, RING_ESYSTEM, call,
					"no thread for the queue of calls: %s", strerror(cause));
	}
	comm->caller.queue = queue;
	return 0;
}

void ring_queue_close(struct ring_comm *comm)
{
	struct ring_queue *queue = comm->caller.queue;
	if (!queue)
		return;
	pthread_mutex_lock(&queue->lock);
	queue->closing = true;
	pthread_cond_signal(&queue->work);
	pthread_mutex_unlock(&queue->lock);
	pthread_join(queue->thread, NULL);
	pthread_cond_destroy(&queue->work);
	pthread_cond_destroy(&queue->done);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
	comm->caller.queue = NULL;
}

void ring_queue_add(struct ring_comm *comm, struct ring_call *call)
{
	struct ring_queue *queue = comm->caller.queue;
	pthread_mutex_lock(&queue->lock);
	for (struct ring_call *one = call; one; one = one->together) {
		one->done = false;
		if (one->stream)
			one->position = ++one->stream->issued;
	}
	append(queue, call);
	pthread_mutex_unlock(&queue->lock);
}

int ring_queue_wait(struct ring_comm *comm, struct ring_call *call)
{
	struct ring_queue *queue = comm->caller.queue;
	pthread_mutex_lock(&queue->lock);
	while (!call->done)
		pthread_cond_wait(&queue->done, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
	return call->result;
}

int ring_stream_make(struct ring_comm *comm, const char *call, struct ring_stream **stream)
{
	struct ring_stream *made = calloc(1, sizeof(*made));
	if (!made)
		return ring_comm_refuse(&comm->failure, RING_ENOMEM, call, "no memory");
	made->comm = comm;
	int err = ring_queue_open(comm, call);
	if (err) {
		free(made);
		return err;
	}
	*stream = made;
	return 0;
}

int ring_stream_create(struct ring_comm *comm, struct ring_stream **stream)
{
	int err = ring_comm_check(comm, "ring_stream_create");
	if (err)
		return err;
	if (!stream)
		return ring_comm_refuse(&comm->failure, RING_EINVAL, "ring_stream_create",
					"stream is NULL");
	return ring_stream_make(comm, "ring_stream_create", stream);
}

static int check(const struct ring_stream *stream, const char *call)
{
	return stream ? ring_comm_check(stream->comm, call)
		      : ring_refuse(RING_EINVAL, "%s: stream is NULL", call);
}

/* Waits for `position`, or only looks. The queue's lock is held. */
static int wait_for(struct ring_stream *stream, uint64_t position, bool blocks)
{
	struct ring_queue *queue = stream->comm->caller.queue;
	while (stream->completed < position) {
		if (!blocks)
			return RING_EAGAIN;
		pthread_cond_wait(&queue->done, &queue->lock);
	}
	return stream->error && stream->failed_position <= position ? stream->error : 0;
}

static int refuse_position(const struct ring_stream *stream, uint64_t position, const char *call)
{
	return ring_comm_refuse(&stream->comm->failure, RING_EINVAL, call,
				"position %llu, but the stream has had %llu calls",
				(unsigned long long)position, (unsigned long long)stream->issued);
}

/* Positions are given by the one thread that may use the communicator, which is this one. */
static int look_at(struct ring_stream *stream, uint64_t position, bool blocks, const char *call)
{
	int err = check(stream, call);
	if (err)
		return err;
	if (position > stream->issued)
		return refuse_position(stream, position, call);
	struct ring_queue *queue = stream->comm->caller.queue;
	pthread_mutex_lock(&queue->lock);
	int result = wait_for(stream, position, blocks);
	pthread_mutex_unlock(&queue->lock);
	return result;
}

void ring_stream_destroy(struct ring_stream *stream)
{
	if (!stream)
		return;
	look_at(stream, ring_stream_position(stream), true, "ring_stream_destroy");
	if (stream->user.device && ring_team_is_mine(&stream->comm->team))
		stream->user.device->streams->close(stream->user.stream);
	free(stream);
}

uint64_t ring_stream_position(const struct ring_stream *stream)
{
	return stream ? stream->issued : 0;
}

int ring_stream_wait(struct ring_stream *stream, uint64_t position)
{
	return look_at(stream, position, true, "ring_stream_wait");
}

int ring_stream_test(struct ring_stream *stream, uint64_t position)
{
	return look_at(stream, position, false, "ring_stream_test");
}

/*
 * Looks up a call's run. The queue's lock is held. returns 0; RING_EAGAIN; RING_EINVAL: it is
 * forgotten
 */
static int find_run(const struct ring_stream *stream, uint64_t position, struct run *run)
{
	if (position > stream->completed)
		return RING_EAGAIN;
	if (stream->completed - position >= RING_STREAM_TIMES)
		return RING_EINVAL;
	*run = stream->runs[position % RING_STREAM_TIMES];
	return 0;
}

int ring_stream_times(struct ring_stream *stream, uint64_t position, uint64_t *began_ns,
		      uint64_t *ended_ns)
{
	static const char call[] = "ring_stream_times";
	int err = check(stream, call);
	if (err)
		return err;
	if (!began_ns || !ended_ns)
		return ring_comm_refuse(&stream->comm->failure, RING_EINVAL, call, "%s is NULL",
					began_ns ? "ended_ns" : "began_ns");
	if (position == 0 || position > stream->issued)
		return refuse_position(stream, position, call);
	struct run run;
	pthread_mutex_lock(&stream->comm->caller.queue->lock);
	err = find_run(stream, position, &run);
	pthread_mutex_unlock(&stream->comm->caller.queue->lock);
	if (err == RING_EINVAL)
		return ring_comm_refuse(&stream->comm->failure, err, call,
					"position %llu is forgotten: only the last %d are kept",
					(unsigned long long)position, RING_STREAM_TIMES);
	if (err)
		return err;
	*began_ns = run.began_ns;
	*ended_ns = run.ended_ns;
	return 0;
}
