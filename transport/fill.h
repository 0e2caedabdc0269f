/* SPDX-License-Identifier: MIT */
/*
 * How a sender writes to slots: through its cache, while that is fast. A line that another core has read must be taken
 * back from it first, and how long that takes depends on where that core is. An EPYC (Zen 4) fills slots at 7 to 14 GB/s
 * for a core with the same last cache, and at 2 for one with another; past the caches at 25 for either, but then they are
 * read at 10 to 20 GB/s and not at 40. Nobody says which of the two it is, and in a virtual machine it changes. So the
 * time that a copy takes decides about those behind it.
 */
#ifndef RING_FILL_H
#define RING_FILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sender's, for all slots of a link; begins with all zero. */
struct ring_fill {
	unsigned slow;   /* copies through the cache that were, one after the other           */
	unsigned past;   /* how many copies go past the caches before the next one through it */
	unsigned claims; /* that were asked about while they do not */
};

/* Copies to a slot, of which others may be told right behind this. */
void ring_fill_slot(struct ring_fill *fill, void *slot, const void *source, size_t bytes);

/*
 * Whether a slot may be claimed, to be written by whoever makes what it will hold: not while copies go past the caches.
 * Making takes its own time, so nothing is concluded from it; one in several slots is left to a copy, which is timed.
 */
bool ring_fill_may_claim(struct ring_fill *fill);

/* Draws the conclusion from a copy of so many bytes through the cache, which took so long. */
void ring_fill_note(struct ring_fill *fill, size_t bytes, uint64_t ns);

/* Copies past the caches, where there are stores for that. */
void ring_fill_past(void *slot, const void *source, size_t bytes);

#endif
