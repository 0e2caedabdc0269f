/* SPDX-License-Identifier: MIT */
/*
 * How a sender writes to slots: through its cache, while that is fast. A line that another core has read must be taken
 * back from it first, and how long that takes depends on where that core is. An EPYC (Zen 4) fills slots at 7 to 14 GB/s
 * for a core with the same last cache, and at 2 for one with another; past the caches at 25 for either, but then they are
 * read at 10 to 20 GB/s and not at 40. Which of the two it is, the time that copies take tells (trial.h).
 */
#ifndef RING_FILL_H
#define RING_FILL_H

#include <stddef.h>

#include "base/trial.h"

/*
 * Copies to a slot, of which others may be told right behind this. copies: all that the sender copied
 * to the slots of this link; begins with all zero
 */
void ring_fill_slot(struct ring_trial *copies, void *slot, const void *source, size_t bytes);

/* Copies past the caches, where there are stores for that. */
void ring_fill_past(void *slot, const void *source, size_t bytes);

#endif
