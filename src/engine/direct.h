/* SPDX-License-Identifier: MIT */
/*
 * Entries that reach into peers' memory. Where it is mapped, the device works on it directly; else
 * it is copied here first, and results are copied there, through scratch. A peer's memory is
 * touched only inside its gate, so that a peer whose call fails can end that.
 */
#ifndef RING_DIRECT_H
#define RING_DIRECT_H

#include "channel.h"

/*
 * Gives the entry to the device, as one job. returns 0; an error, with failed_peer if it is
 * RING_EPEER
 */
int ring_direct_start(struct ring_channel *channel, const struct ring_transfer *in);

/* The device has finished it: copies results to peers and leaves their gates. returns as start */
int ring_direct_finish(struct ring_channel *channel, const struct ring_transfer *in);

/* A peer is done with its plan: counts all payload between the two. */
void ring_direct_count(struct ring_channel *channel, int peer);

#endif
