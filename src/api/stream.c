/* SPDX-License-Identifier: MIT */
/* Streams: positions, waiting for them, and when their calls ran; see stream.h. */
#include "stream.h"

#include <stdlib.h>

#include "base/fd.h"
#include "queue.h"

struct ring_note {
	struct ring_stream *stream;
	uint64_t position;
	int result;
	void (*done)(void *context, int result);
	void *context;
	struct ring_note *next;
};

struct ring_stream {
	struct ring_comm *comm;
	struct ring_queue *queue;
	struct ring_user_stream user;
	/* under the queue's lock */
	struct ring_call *first, **last; /* that are not complete, by batch.later */
	uint64_t issued, completed;
	uint64_t failed_position; /* of the first call that failed, 0 if none */
	int error;
	struct ring_note *notes; /* by position */
	int untold;              /* those, and others whose done() has not returned */
	struct ring_outcome runs[RING_STREAM_TIMES]; /* of position p at p % RING_STREAM_TIMES */
};

const struct ring_comm *ring_stream_comm(const struct ring_stream *stream)
{
	return stream->comm;
}

struct ring_user_stream *ring_stream_user(struct ring_stream *stream)
{
	return &stream->user;
}

/* ---- for the queue --------------------------------------------------------------------------- */

void ring_stream_issue(struct ring_call *call)
{
	struct ring_stream *stream = call->stream;
	call->position = ++stream->issued;
	call->batch.later = NULL;
	*stream->last = call;
	stream->last = &call->batch.later;
}

bool ring_stream_has_turn(const struct ring_call *lead)
{
	const struct ring_call *call = lead;
	while (call && (!call->stream || call->stream->first->batch.lead == lead))
		call = call->together;
	return !call;
}

/* What waiting for a complete position gives. */
static int result_at(const struct ring_stream *stream, uint64_t position)
{
	return stream->error && stream->failed_position <= position ? stream->error : 0;
}

/* Moves notes of complete positions behind those that are due already. */
static void take_due(struct ring_stream *stream, struct ring_note **due)
{
	while (*due)
		due = &(*due)->next;
	while (stream->notes && stream->notes->position <= stream->completed) {
		struct ring_note *note = stream->notes;
		stream->notes = note->next;
		note->result = result_at(stream, note->position);
		note->next = NULL;
		*due = note;
		due = &note->next;
	}
}

struct ring_call *ring_stream_complete(const struct ring_call *call,
				       const struct ring_outcome *outcome, struct ring_note **notes)
{
	struct ring_stream *stream = call->stream;
	stream->runs[call->position % RING_STREAM_TIMES] = *outcome;
	stream->completed = call->position;
	if (outcome->result && !stream->error) {
		stream->error = outcome->result;
		stream->failed_position = call->position;
	}
	stream->first = call->batch.later;
	if (!stream->first)
		stream->last = &stream->first;
	take_due(stream, notes);
	return stream->first;
}

void ring_stream_tell(struct ring_note *notes)
{
	for (struct ring_note *rest; notes; notes = rest) {
		struct ring_stream *stream = notes->stream;
		struct ring_queue *queue = stream->queue;
		rest = notes->next;
		notes->done(notes->context, notes->result);
		free(notes);
		ring_queue_lock(queue);
		stream->untold--;
		ring_queue_wake(queue);
		ring_queue_unlock(queue);
	}
}

/* ---- for programs ---------------------------------------------------------------------------- */

int ring_stream_make(struct ring_comm *comm, const char *call, struct ring_stream **stream)
{
	struct ring_stream *made = calloc(1, sizeof(*made));
	if (!made)
		return ring_comm_refuse(&comm->failure, RING_ENOMEM, call, "no memory");
	made->comm = comm;
	made->last = &made->first;
	int err = ring_queue_open(comm, call);
	if (err) {
		free(made);
		return err;
	}
	made->queue = comm->caller.queue;
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
	while (stream->completed < position) {
		if (!blocks)
			return RING_EAGAIN;
		ring_queue_await(stream->queue);
	}
	return result_at(stream, position);
}

static int refuse_position(const struct ring_stream *stream, uint64_t position, const char *call)
{
	return ring_comm_refuse(&stream->comm->failure, RING_EINVAL, call,
				"position %llu, but the stream has had %llu calls",
				(unsigned long long)position,
				(unsigned long long)ring_stream_position(stream));
}

static int look_at(struct ring_stream *stream, uint64_t position, bool blocks, const char *call)
{
	int err = check(stream, call);
	if (err)
		return err;
	ring_queue_lock(stream->queue);
	bool exists = position <= stream->issued;
	int result = exists ? wait_for(stream, position, blocks) : 0;
	ring_queue_unlock(stream->queue);
	return exists ? result : refuse_position(stream, position, call);
}

/* A child of fork() has no thread that would tell. */
static void await_told(struct ring_stream *stream)
{
	if (!ring_team_is_mine(&stream->comm->team))
		return;
	ring_queue_lock(stream->queue);
	while (stream->untold > 0)
		ring_queue_await(stream->queue);
	ring_queue_unlock(stream->queue);
}

void ring_stream_destroy(struct ring_stream *stream)
{
	if (!stream)
		return;
	look_at(stream, ring_stream_position(stream), true, "ring_stream_destroy");
	await_told(stream);
	if (stream->user.device && ring_team_is_mine(&stream->comm->team))
		stream->user.device->streams->close(stream->user.stream);
	free(stream);
}

uint64_t ring_stream_position(const struct ring_stream *stream)
{
	if (!stream || !ring_team_is_mine(&stream->comm->team))
		return 0;
	ring_queue_lock(stream->queue);
	uint64_t issued = stream->issued;
	ring_queue_unlock(stream->queue);
	return issued;
}

int ring_stream_wait(struct ring_stream *stream, uint64_t position)
{
	return look_at(stream, position, true, "ring_stream_wait");
}

int ring_stream_test(struct ring_stream *stream, uint64_t position)
{
	return look_at(stream, position, false, "ring_stream_test");
}

/* ---- telling --------------------------------------------------------------------------------- */

/* Behind those of the same position. The queue's lock is held. */
static void insert(struct ring_stream *stream, struct ring_note *note)
{
	struct ring_note **link = &stream->notes;
	while (*link && (*link)->position <= note->position)
		link = &(*link)->next;
	note->next = *link;
	*link = note;
	stream->untold++;
}

/* Keeps a copy of the note, unless its position is complete: then tells at once. */
static int notify(struct ring_stream *stream, const struct ring_note *wanted, const char *call)
{
	struct ring_note *note = malloc(sizeof(*note));
	if (!note)
		return ring_comm_refuse(&stream->comm->failure, RING_ENOMEM, call, "no memory");
	*note = *wanted;
	note->stream = stream;
	ring_queue_lock(stream->queue);
	bool exists = note->position <= stream->issued;
	bool later = exists && note->position > stream->completed;
	int result = result_at(stream, note->position);
	if (later)
		insert(stream, note);
	ring_queue_unlock(stream->queue);
	if (later)
		return 0;
	free(note);
	if (!exists)
		return refuse_position(stream, wanted->position, call);
	wanted->done(wanted->context, result);
	return 0;
}

int ring_stream_notify(struct ring_stream *stream, uint64_t position,
		       void (*done)(void *context, int result), void *context)
{
	static const char call[] = "ring_stream_notify";
	const struct ring_note note = {.position = position, .done = done, .context = context};
	int err = check(stream, call);
	if (!err && !done)
		err = ring_comm_refuse(&stream->comm->failure, RING_EINVAL, call, "done is NULL");
	return err ? err : notify(stream, &note, call);
}

/* The library's end of what the program polls, which is the same file. */
static void make_readable(void *context, int result)
{
	const uint64_t one = 1;
	int fd = (int)(intptr_t)context;
	(void)result;
	if (!ring_fd_is_lost(fd)) {
		ssize_t written = write(fd, &one, sizeof(one));
		(void)written; /* it is the first, so there is room */
	}
	ring_fd_close(fd);
}

/* *own: the library's; *theirs: whoever polls it closes it, at any time. returns 0; RING_ESYSTEM */
static int open_event(const struct ring_stream *stream, const char *call, int *own, int *theirs)
{
	char words[RING_FD_WORDS];
	*own = ring_fd_event();
	*theirs = *own < 0 ? -1 : fcntl(*own, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (*theirs >= 0)
		return 0;
	int err = ring_comm_refuse(&stream->comm->failure, RING_ESYSTEM, call, "no descriptor: %s",
				   ring_fd_words(errno, words));
	ring_fd_close(*own);
	return err;
}

int ring_stream_fd(struct ring_stream *stream, uint64_t position, int *fd)
{
	static const char call[] = "ring_stream_fd";
	int own, theirs;
	int err = check(stream, call);
	if (!err && !fd)
		err = ring_comm_refuse(&stream->comm->failure, RING_EINVAL, call, "fd is NULL");
	if (!err)
		err = open_event(stream, call, &own, &theirs);
	if (err)
		return err;
	const struct ring_note note = {.position = position,
				       .done = make_readable,
				       .context = (void *)(intptr_t)own};
	err = notify(stream, &note, call);
	if (err) {
		ring_fd_close(own);
		close(theirs);
		return err;
	}
	*fd = theirs;
	return 0;
}

/* ---- when calls ran -------------------------------------------------------------------------- */

/*
 * Looks up a call's run. The queue's lock is held. returns 0; RING_EAGAIN; RING_EINVAL: it is
 * forgotten
 */
static int find_run(const struct ring_stream *stream, uint64_t position, struct ring_outcome *run)
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
	if (position == 0 || position > ring_stream_position(stream))
		return refuse_position(stream, position, call);
	struct ring_outcome run;
	ring_queue_lock(stream->queue);
	err = find_run(stream, position, &run);
	ring_queue_unlock(stream->queue);
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
