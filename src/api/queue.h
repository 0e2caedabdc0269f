/* SPDX-License-Identifier: MIT */
/*
 * The thread that runs a communicator's calls: the calling one, until the first stream exists or a
 * group holds several communicators; from then on one thread of the queue.
 *
 *	collectives    one after the other, in the order in which they were made
 *	messages       beside them and beside one another; those of each pair in order
 *	both           a stream's one after the other, and not before a stream of the program has
 *	               come there
 *
 * All of these keep to the order in which calls were made, so none can wait for one behind it.
 */
#ifndef RING_QUEUE_H
#define RING_QUEUE_H

#include "comm/comm.h"

/*
 * Makes sure that the queue has a thread, for `call`. returns 0; RING_ENOMEM, RING_ESYSTEM with the
 * sentence
 */
int ring_queue_open(struct ring_comm *comm, const char *call);

/*
 * Queues a call and those together with it. The queue must be open. Each is in malloc's memory: the
 * queue frees those with a stream, the others are the caller's to wait for.
 */
void ring_queue_add(struct ring_comm *comm, struct ring_call *call);

/* Waits for a call without a stream. returns its result */
int ring_queue_wait(struct ring_comm *comm, struct ring_call *call);

/*
 * In this thread, without a lock: until there is a queue, no other thread runs calls. (A lock waits
 * until all that the program wrote before has reached the cache. 8 B on 2 ranks, written anew:
 * 0.112 -> 0.085 us.)
 */
static inline int ring_queue_run(struct ring_comm *comm, struct ring_call *call)
{
	if (comm->caller.queue) {
		ring_queue_add(comm, call);
		return ring_queue_wait(comm, call);
	}
	return ring_carry(comm, call);
}

/* Lets the queue's calls finish, ends its thread and frees it. */
void ring_queue_close(struct ring_comm *comm);

/* The lock of a queue that is open, and of its streams. */
void ring_queue_lock(struct ring_queue *queue);
void ring_queue_unlock(struct ring_queue *queue);

/* Sleeps, without the lock, until some call has ended, or somebody has waked. */
void ring_queue_await(struct ring_queue *queue);
void ring_queue_wake(struct ring_queue *queue);

#endif
