/* SPDX-License-Identifier: MIT */
/*
 * Copying the usual way while that is fast, and another way while it is not. How long a copy takes
 * depends on which caches the lines are in and how far away those are; nobody tells, and in a
 * virtual machine it changes. So the time that one takes decides about those behind it.
 */
#ifndef RING_TRIAL_H
#define RING_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_TRIAL_LEAST_BYTES 16384 /* for less, two looks at the clock (50 ns) would be felt */

/* Of copies that are alike; begins with all zero. */
struct ring_trial {
	unsigned slow;  /* copies of the usual way that were, one after the other               */
	unsigned other; /* how many copies go the other way before the next one of the usual way */
};

/* Whether the next copy goes the other way. */
static inline bool ring_trial_takes_other(struct ring_trial *trial)
{
	return trial->other > 0 && trial->other-- > 0;
}

/* Draws the conclusion from so many bytes that came the usual way, and took so long. */
void ring_trial_note(struct ring_trial *trial, size_t bytes, uint64_t ns);

#endif
