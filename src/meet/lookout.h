/* SPDX-License-Identifier: MIT */
/*
 * Looks after a communicator's TCP connections, from the watcher's thread: whether what was sent on
 * each is acknowledged. So an outage is found on whatever path it is, by whoever sends there, also
 * while that rank computes. Who only receives is told by the kernel if the path is cut, and else by
 * the sender.
 *
 * It looks while something is under way, and a moment longer: an idle process sleeps.
 */
#ifndef RING_LOOKOUT_H
#define RING_LOOKOUT_H

#include "base/flag.h"
#include "lanes.h"

struct ring_lookout_params {
	int self;
	int peer_lost_ms;
	/*
	 * Once, from the watcher's thread, which is locked: a peer could not be reached for so
	 * long.
	 */
	void (*failed)(void *owner, const struct ring_news *news);
	void *owner;
};

struct ring_lookout_post;

struct ring_lookout {
	struct ring_watcher *watcher;
	struct ring_lookout_params params;
	struct ring_lookout_post *posts; /* posts[count] */
	int count, room;
	struct ring_flag looks; /* an alarm is set */
	int idle;               /* looks in a row at which nothing was under way */
	bool over;              /* failed() was called */
};

void ring_lookout_open(struct ring_lookout *lookout, struct ring_watcher *watcher,
		       const struct ring_lookout_params *params);

/*
 * Looks after fd as well, which stays open until the lookout is closed; peer outlives it. returns
 * 0; RING_ENOMEM
 */
int ring_lookout_add(struct ring_lookout *lookout, int fd, const struct ring_peer *peer);

void ring_lookout_begin(struct ring_lookout *lookout);

/*
 * Something was sent, or may have been. For the thread that adds. No lock: the last look after the
 * flag was lowered and the sending take the socket's, so either that look sees what was sent, or
 * this the flag.
 */
static inline void ring_lookout_wake(struct ring_lookout *lookout)
{
	if (lookout->count > 0 && !ring_flag_is_raised(&lookout->looks))
		ring_lookout_begin(lookout);
}

/* failed() is not called any more. All zero is allowed. */
void ring_lookout_close(struct ring_lookout *lookout);

#endif
