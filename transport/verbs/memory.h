/* SPDX-License-Identifier: MIT */
/*
 * Regions (base/region.h) that a port has registered, so that messages leave from where they lie,
 * and land there. A region is registered when the first one does, once for all links of a port, and
 * until it goes or the port does.
 */
#ifndef RING_VERBS_MEMORY_H
#define RING_VERBS_MEMORY_H

#include "port.h"

/* By what a port may use memory, and other ends write to it. */
struct ring_verbs_keys {
	uint32_t lkey, rkey;
	bool may_land; /* it is not there for reading only */
};

/* False: it is in no memory that the port has, and has to be copied. */
bool ring_verbs_memory_find(struct ring_verbs_port *port, const void *start, size_t bytes,
			    struct ring_verbs_keys *keys);

#endif
