/* SPDX-License-Identifier: MIT */
/*
 * The program's streams on a device, and the calls that are ordered by them. A call has the
 * stream stop behind what it was given so far, before the call is queued. The queue's thread lets
 * the call begin when the stream has come there, and lets the stream go when it has ended, whatever
 * came of it.
 *
 *	stream of the program     ... work before |stops              | work behind ...
 *	queue's thread                      waits |carries the call out
 *
 * A call that the device carries out by itself (team/kernels.h) the stream is given like any work,
 * and the queue's thread waits for its end. While the stream is captured a graph gets it, and the
 * queue does not.
 */
#ifndef RING_USER_STREAM_H
#define RING_USER_STREAM_H

#include <stdbool.h>

struct ring_call;
struct ring_comm;
struct ring_stream;

/*
 * Whether a call can be made on the stream now, by this thread; `call` is its name. returns 0;
 * RING_EINVAL, RING_ENOTSUP, RING_ESYSTEM, with the sentence
 */
int ring_stream_check(struct ring_comm *comm, struct ring_stream *stream, const char *call);

/*
 * Whether the call's stream is being captured now: call->on.capture. Only calls that the device
 * carries out alone can be. returns 0; RING_ENOTSUP, RING_ESYSTEM, with the sentence
 */
int ring_call_find_capture(struct ring_comm *comm, struct ring_call *call);

/*
 * Has the streams of a call stop, and of those together with it, if they are the program's; or
 * gives the stream the call itself. It has its number. returns 0; RING_ENOMEM, RING_ESYSTEM: those
 * of the first calls do, and are let go as if the calls had failed
 */
int ring_call_stop_streams(struct ring_comm *comm, struct ring_call *call);

/*
 * Whether the streams have come to the call and those together with it, or it need not be waited
 * for any more as the communicator has failed. Until then the doorbell is rung when one has come.
 */
bool ring_call_streams_have_come(struct ring_comm *comm, const struct ring_call *call);

/* The calls are complete, or have failed. */
void ring_call_let_streams_go(const struct ring_call *call);

#endif
