/* SPDX-License-Identifier: MIT */
/*
 * The process that made a unique id serves the meeting of its ranks, in the watcher's thread. See
 * rendezvous.h for the ranks' side and describe.h for what they tell one another.
 */
#ifndef RING_ROOT_H
#define RING_ROOT_H

#include "describe.h"
#include "door/watcher.h"

/*
 * Begins to serve the meeting of `identity`. The root ends by itself when all ranks know how the
 * meeting ended, or goes on with the next identity of a series. It takes over one hold of the
 * watcher. first_attempt numbers the attempts to link: a random one keeps out ranks that have links
 * from an earlier meeting with this identity. returns 0; RING_ENOMEM
 */
int ring_root_start(struct ring_watcher *watcher, const struct ring_identity *identity,
		    uint32_t first_attempt);

/*
 * Ends the meeting of `job` for this reason, if it is still served here; ranks that have come or
 * come within a second hear it.
 */
void ring_root_withdraw(struct ring_watcher *watcher, uint64_t job, const struct ring_news *reason);

#endif
