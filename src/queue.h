/* SPDX-License-Identifier: MIT */
/*
 * Who runs a communicator's calls: the calling thread, until the first stream exists; from then on
 * one thread of the queue, in the order in which the calls were made.
 */
#ifndef RING_QUEUE_H
#define RING_QUEUE_H

#include "comm.h"

/* Runs the call, in this thread or through the queue. Blocks. returns the call's result */
int ring_queue_run(struct ring_comm *comm, struct ring_call *call);

/* Queues a copy of the call on its stream. returns 0; RING_ENOMEM */
int ring_queue_post(struct ring_comm *comm, const struct ring_call *call);

/* Lets the queue's calls finish, ends its thread and frees it. */
void ring_queue_close(struct ring_comm *comm);

/* The communicator a stream belongs to. */
const struct ring_comm *ring_stream_comm(const struct ring_stream *stream);

#endif
