/* SPDX-License-Identifier: MIT */
/*
 * A small call over boards, or signals alone, in a straight line: its one exchange, then all additions and
 * copies at once. Nothing is ever in its way but what is not said yet, and links that are still made.
 */
#ifndef RING_SMALL_H
#define RING_SMALL_H

#include "channel.h"

/* As ring_channel_advance(). */
int ring_small_advance(struct ring_channel *channel);

#endif
