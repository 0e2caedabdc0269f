/* SPDX-License-Identifier: MIT */
/*
 * How a sender writes to slots: through its cache, while that is fast. A line that another core has read must be taken
 * back from it first, and how long that takes depends on where that core is. An EPYC (Zen 4) fills slots at 7 to 14 GB/s
 * for a core with the same last cache, and at 2 for one with another; past the caches at 25 for either, but then they are
 * read at 10 to 20 GB/s and not at 40. Which of the two it is, the time that copies take tells (trial.h).
 */
#ifndef RING_FILL_H
#define RING_FILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/trial.h"

/* A sender's, for all slots of a link; begins with all zero. */
struct ring_fill {
	struct ring_trial copies; /* the other way is past the caches                 */
	struct ring_trial claims; /* the other way is to make it elsewhere, and copy  */
	unsigned asked;           /* how often a slot might have been claimed         */
	uint64_t claimed_ns;      /* when the last one was                            */
};

/* Copies to a slot, of which others may be told right behind this. */
void ring_fill_slot(struct ring_fill *fill, void *slot, const void *source, size_t bytes);

/*
 * Whether a slot may be claimed, to be written by whoever makes what it will hold: not while copies go past the caches, nor
 * where what was made so came slowly. One in several slots is left to a copy, which is timed.
 */
bool ring_fill_claim(struct ring_fill *fill);

/* What was made there is all there. */
void ring_fill_commit(struct ring_fill *fill, size_t bytes);

/* Copies past the caches, where there are stores for that. */
void ring_fill_past(void *slot, const void *source, size_t bytes);

#endif
