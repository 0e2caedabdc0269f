/* SPDX-License-Identifier: MIT */
/*
 * Streams of the program's on a device, and the calls that are ordered by them. A call has the
 * stream stop behind what it was given so far, before the call is queued. The queue's thread waits
 * until the stream has come there, carries the call out, and lets the stream go, whatever came of
 * the call.
 *
 *	stream of the program's   ... work before |stops              | work behind ...
 *	queue's thread                      waits |carries the call out
 */
#ifndef RING_USER_STREAM_H
#define RING_USER_STREAM_H

struct ring_call;
struct ring_comm;
struct ring_stream;

/*
 * Whether a call can be made on the stream now, by this thread; `call` is its name. returns 0;
 * RING_EINVAL, RING_ENOTSUP, RING_ESYSTEM, with the sentence
 */
int ring_stream_check(struct ring_comm *comm, struct ring_stream *stream, const char *call);

/*
 * Has the streams of a call stop, and of those together with it, if they are the program's. returns
 * 0; RING_ENOMEM, RING_ESYSTEM: those of the first calls do
 */
int ring_call_stop_streams(struct ring_call *call);

/*
 * Waits until the streams have come to the call and those together with it, or it need not be
 * waited for any more as the communicator has failed.
 */
void ring_call_await_streams(struct ring_comm *comm, struct ring_call *call);

/* The calls are complete, or have failed. */
void ring_call_let_streams_go(const struct ring_call *call);

#endif
