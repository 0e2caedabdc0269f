/* SPDX-License-Identifier: MIT */
/*
 * Plans that reach into memory, for ranks with boards: work, and exchanges in between. An exchange
 * needs all work before it, and all later work needs the exchange. It moves the four counters as
 * channel.c does, but signals take no job.
 */
#ifndef RING_REACHING_H
#define RING_REACHING_H

#include "channel.h"

/* As ring_channel_advance(), for ranks with boards. */
int ring_reaching_advance(struct ring_channel *channel);

#endif
