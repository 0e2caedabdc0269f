/* SPDX-License-Identifier: MIT */
/*
 * Plans that reach into memory, in a straight line: no link carries a message of theirs. Work on
 * memory, and exchanges over boards in between, of which each needs all work before it and is
 * needed by all behind it. It moves the four counters as channel.c does, but for signals, which
 * take no job.
 */
#ifndef RING_REACHING_H
#define RING_REACHING_H

#include "channel.h"

/* As ring_channel_advance(), for ranks with boards. */
int ring_reaching_advance(struct ring_channel *channel);

#endif
