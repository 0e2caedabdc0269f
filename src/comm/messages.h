/* SPDX-License-Identifier: MIT */
/*
 * Sends and receives, which run beside one another and beside collectives, in batches: those of a
 * batch begin at the same time. For the thread that runs a communicator's calls.
 */
#ifndef RING_MESSAGES_H
#define RING_MESSAGES_H

#include "comm.h"

/*
 * Adds a batch, in the order of the calls, which is that of each pair's messages. returns 0; or the
 * failure
 */
int ring_messages_add(struct ring_comm *comm, struct ring_call *lead);

/* The batch was added, and may begin. */
void ring_messages_begin(struct ring_comm *comm, struct ring_call *lead);

/*
 * Goes on with messages until comm->run.leaves, for a queue. returns 0; or the failure, which has
 * ended all that were ready
 */
int ring_messages_run(struct ring_comm *comm);

/* Whether there are messages that are not complete. */
bool ring_messages_are_under_way(const struct ring_comm *comm);

/* Takes a batch that has ended, with its result. NULL: there is none */
struct ring_call *ring_messages_take(struct ring_comm *comm);

/* Without a queue: adds and begins a batch; goes on to its end. finish() returns its result. */
void ring_messages_start(struct ring_comm *comm, struct ring_call *lead);
int ring_messages_finish(struct ring_comm *comm, struct ring_call *lead);

#endif
