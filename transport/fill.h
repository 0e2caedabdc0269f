/* SPDX-License-Identifier: MIT */
/*
 * How a sender writes to slots: through its cache, while that is fast. A line that another core has
 * read must be taken back from it first, and how long that takes depends on where that core is.
 * Past the caches filling is as fast for either, but reading is slower. Which of the two it is, the
 * time that copies take tells (trial.h).
 */
#ifndef RING_FILL_H
#define RING_FILL_H

#include <stddef.h>

#include "base/trial.h"

/*
 * Copies to a slot, of which others may be told right behind this. copies: all that the sender
 * copied to the slots of this link; begins with all zero
 */
void ring_fill_slot(struct ring_trial *copies, void *slot, const void *source, size_t bytes);

/* Copies past the caches, where there are stores for that. */
void ring_fill_past(void *slot, const void *source, size_t bytes);

#endif
