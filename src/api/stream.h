/* SPDX-License-Identifier: MIT */
/*
 * Streams: completion positions over a communicator's queue. A stream's calls run one after the
 * other.
 */
#ifndef RING_STREAM_H
#define RING_STREAM_H

#include "comm/comm.h"
#include "engine/waker.h"

/* The communicator a stream belongs to. */
const struct ring_comm *ring_stream_comm(const struct ring_stream *stream);

/* One of the program's streams on a device, which orders the calls of a ring_stream. */
struct ring_user_stream {
	const struct ring_device *device; /* NULL: it is none, but the library's own */
	struct ring_device_stream *stream;
	const void *handle;
	struct ring_waker waker;
};

struct ring_user_stream *ring_stream_user(struct ring_stream *stream);

/* Makes a stream for `call`, and the queue. returns 0; RING_ENOMEM, RING_ESYSTEM */
int ring_stream_make(struct ring_comm *comm, const char *call, struct ring_stream **stream);

/* How calls that ran at the same time have ended, and when they ran. */
struct ring_outcome {
	int result;
	uint64_t began_ns, ended_ns;
};

/* Whom to tell that a position is complete. */
struct ring_note;

/* ---- for the queue, under its lock ----------------------------------------------------------- */

/* Gives a call its position, behind those that the stream has. */
void ring_stream_issue(struct ring_call *call);

/* Whether all calls that their streams had before those of the batch are complete. */
bool ring_stream_has_turn(const struct ring_call *lead);

/*
 * The stream's first call is complete: adds whom to tell to *notes. returns the stream's next, or
 * NULL
 */
struct ring_call *ring_stream_complete(const struct ring_call *call,
				       const struct ring_outcome *outcome, struct ring_note **notes);

/* ---- for the queue, without the lock --------------------------------------------------------- */

/* Tells all of those, and frees the notes. */
void ring_stream_tell(struct ring_note *notes);

#endif
