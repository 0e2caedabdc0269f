/* SPDX-License-Identifier: MIT */
/*
 * A small call over boards, or signals alone: its one exchange, then all additions and copies at
 * once. It waits only for what is not said yet, and for links that are still being made.
 */
#ifndef RING_SMALL_H
#define RING_SMALL_H

#include "channel.h"

/*
 * Gives the additions and copies of a small plan to the channel's device, once all have spoken:
 * `said` is what each said behind its record. returns 0, or the device's error
 */
int ring_small_take(struct ring_channel *channel, const struct ring_known_plan *known,
		    const struct ring_operands *operands, const char *const said[]);

/* As ring_channel_advance(). */
int ring_small_advance(struct ring_channel *channel);

#endif
