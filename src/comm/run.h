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

struct ring_run {
	pthread_mutex_t lock;
	struct ring_flag busy; /* while a call is carried out */
	struct ring_call *current;
	struct ring_channel *active; /* the call's channels */
	struct ring_ways ways;
	struct ring_pairs pairs;
	struct ring_far far; /* channels of other devices than the host */
	struct ring_partners partners;
	struct pollfd *fds; /* room to sleep on */
	int fd_room;
	uint64_t calls; /* completed */
};

#endif
