/* SPDX-License-Identifier: MIT */
/*
 * Memory of lasting.h that a device has registered, so that messages leave from where they lie, and
 * land there. It is registered when the first one does, once for all links of a port, and until it
 * goes or the port does.
 */
#ifndef RING_VERBS_MEMORY_H
#define RING_VERBS_MEMORY_H

#include "lasting.h"
#include "verbs_port.h"

/* By what a port may use memory, and other ends write to it. */
struct ring_verbs_keys {
	uint32_t lkey, rkey;
	bool may_land; /* it is not there for reading only */
};

/* What a link used last. Zeroed: nothing. */
struct ring_verbs_recent {
	uint64_t epoch;
	struct ring_lasting memory; /* no bytes: what was asked for is not in any */
	struct ring_verbs_keys keys;
};

/* False: it is in no memory that the port has, and has to be copied. */
bool ring_verbs_memory_find(struct ring_verbs_port *port, struct ring_verbs_recent *recent,
			    const void *start, size_t bytes, struct ring_verbs_keys *keys);

void ring_verbs_memory_let_go(uint64_t number);

#endif
