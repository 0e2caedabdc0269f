/* SPDX-License-Identifier: MIT */
/*
 * Looks after a communicator's TCP connections, from the watcher's thread: is what was sent on each
 * acknowledged? So the sender finds an outage on any path, even while that rank computes. A rank
 * that only receives hears of it from the kernel, if the path is cut, or else from the sender.
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
	 * Called once, in the watcher's thread, which is locked: a peer could not be reached for
	 * lost_ms.
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
 * Something was sent, or may have been. For the thread that adds. Needs no lock: the look after the
 * flag was lowered and the sending both take the socket's, so either that look sees what was sent,
 * or this sees the flag.
 */
static inline void ring_lookout_wake(struct ring_lookout *lookout)
{
	if (lookout->count > 0 && !ring_flag_is_raised(&lookout->looks))
		ring_lookout_begin(lookout);
}

/* failed() is not called any more. All zero is allowed. */
void ring_lookout_close(struct ring_lookout *lookout);

#endif
