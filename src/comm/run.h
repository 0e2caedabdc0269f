/* SPDX-License-Identifier: MIT */
/*
 * What belongs to the thread that runs a communicator's calls, which holds the lock: the caller, or
 * the queue's thread once there is a queue.
 */
#ifndef RING_RUN_H
#define RING_RUN_H

#include <poll.h>
#include <pthread.h>

#include "base/flag.h"
#include "team/far.h"
#include "team/pairs.h"
#include "team/partners.h"
#include "way.h"

struct ring_comm;

/*
 * What a queue does in every look: takes in calls, and batches that have ended. returns how many;
 * *leaves: the running thread need not go on with messages alone
 */
typedef int ring_attend(struct ring_comm *comm, bool *leaves);

struct ring_run {
	pthread_mutex_t lock;
	struct ring_flag wanted;     /* somebody else waits for the lock, to read counters */
	struct ring_flag busy;       /* while a call is carried out */
	struct ring_call *current;   /* a queue that has only messages is in none */
	struct ring_channel *active; /* a collective's channels */
	ring_attend *attend;         /* NULL: there is no queue */
	bool leaves;                 /* it has something else to do than to wait for messages */
	struct ring_ways ways;
	struct ring_pairs pairs;
	struct ring_far far; /* channels of other devices than the host */
	int16_t mixed;       /* all calls go by those of this device; 0: not all (mixed.h) */
	bool anew;           /* the current call is to begin anew, as that has been found */
	struct ring_partners partners;
	struct pollfd *fds; /* room to sleep on */
	int fd_room;
	struct ring_record by_kernel; /* the last call that a device carried out; zero: none */
	uint64_t calls;               /* completed */
	uint64_t kernel_bytes;        /* payload of those that devices carried out by themselves */
};

#endif
