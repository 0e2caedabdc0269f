/* SPDX-License-Identifier: MIT */
/*
 * Memory of lasting.h that a device has registered, so that messages leave from where they lie. It
 * is registered when the first one does, once for all links of a port, and until it goes or the
 * port does.
 */
#ifndef RING_VERBS_MEMORY_H
#define RING_VERBS_MEMORY_H

#include "lasting.h"
#include "verbs_port.h"

/* What a link used last. Zeroed: nothing. */
struct ring_verbs_recent {
	uint64_t epoch;
	struct ring_lasting memory; /* no bytes: what was asked for is not in any */
	uint32_t lkey;
};

/* The key by which the port may send it; false: it has to be copied. */
bool ring_verbs_memory_key(struct ring_verbs_port *port, struct ring_verbs_recent *recent,
			   const void *start, size_t bytes, uint32_t *lkey);

void ring_verbs_memory_let_go(uint64_t number);

#endif
