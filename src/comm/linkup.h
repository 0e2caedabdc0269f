/* SPDX-License-Identifier: MIT */
/*
 * One rank's way from the meeting's door to channels with links, as a state machine that never
 * blocks:
 *
 *	placing     the root has not yet told my place
 *	linking     edges with the neighbours become control lanes and links, in any order
 *	reporting   all my links stand; the root says go, or again with fewer transports
 */
#ifndef RING_LINKUP_H
#define RING_LINKUP_H

#include "comm.h"

#define RING_LINKUP_EDGES (2 + 2 * RING_CHANNELS_MAX)
#define RING_LINKUP_FDS (2 + RING_LINKUP_EDGES) /* the meeting's, the contact's, one per edge */

struct ring_linkup {
	struct ring_comm *comm;
	struct ring_failure *failure; /* the sentence goes here */

	enum { RING_PLACING, RING_LINKING, RING_REPORTING, RING_LINKED } stage;
	struct ring_edge edges[RING_LINKUP_EDGES]; /* CONTROL to next, from prev; then the links */
	int edge_count;
	/* an edge that cannot be made, or NULL: since when and why */
	const struct ring_edge *stuck;
	uint64_t stuck_ms;
	struct ring_failure trouble;
};

/*
 * Goes on as far as possible. returns 0 once the communicator has order, channels and lanes, and
 * has left the meeting; RING_EAGAIN; the error that ended it
 */
int ring_linkup_step(struct ring_linkup *linkup);

/*
 * What to wait for before the next step; wake the contact after it. returns how many of
 * fds[RING_LINKUP_FDS] that are; lowers *ms to the time of the next look.
 */
int ring_linkup_poll(const struct ring_linkup *linkup, struct pollfd *fds, int *ms);

/* Closes what was begun and not handed to the communicator, at any point. */
void ring_linkup_drop(struct ring_linkup *linkup);

#endif
