/* SPDX-License-Identifier: MIT */
/*
 * Copying the usual way while that is fast, and another way while it is not. How long a copy takes
 * depends on which caches hold the lines and how far away those are; nobody tells, and in a virtual
 * machine it changes. So the time of one copy decides how the next ones go.
 */
#ifndef RING_TRIAL_H
#define RING_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_TRIAL_LEAST_BYTES 16384 /* for less, two looks at the clock (50 ns) would be felt */

/* One for copies that are alike; all zero at first. */
struct ring_trial {
	unsigned slow;  /* slow copies of the usual way in a row */
	unsigned other; /* how many copies go the other way before the next one of the usual way */
};

/* Whether the next copy goes the other way. */
static inline bool ring_trial_takes_other(struct ring_trial *trial)
{
	return trial->other > 0 && trial->other-- > 0;
}

/* Learns from one copy of the usual way: its bytes and its time. */
void ring_trial_note(struct ring_trial *trial, size_t bytes, uint64_t ns);

#endif
