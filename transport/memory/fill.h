/* SPDX-License-Identifier: MIT */
/*
 * How a sender writes to slots: through its cache, while that is fast. A line that another core has
 * read must first be taken back, which may take long if that core is far away. Past the caches,
 * filling is always equally fast, but reading is slower. The time of earlier copies decides
 * (trial.h).
 */
#ifndef RING_FILL_H
#define RING_FILL_H

#include <stddef.h>

#include "trial.h"

/*
 * Copies to a slot; others may be told of it at once. copies: one per link, for all that the sender
 * copied to its slots; all zero at first
 */
void ring_fill_slot(struct ring_trial *copies, void *slot, const void *source, size_t bytes);

/* Copies past the caches, where there are stores for that. */
void ring_fill_past(void *slot, const void *source, size_t bytes);

#endif
