/* SPDX-License-Identifier: MIT */
/*
 * A communicator's memory: what ring_mem_alloc() gave, which peers of this host may map one day, and
 * what a program registered.
 */
#ifndef RING_MEMORY_H
#define RING_MEMORY_H

#include <stddef.h>

struct ring_region {
	void *memory;
	size_t bytes;
	int fd; /* of the memory that was allocated here; -1: registered, the program's */
	struct ring_region *next;
};

/* Frees and forgets all. */
void ring_regions_free(struct ring_region **regions);

/* Bytes that were allocated here. */
size_t ring_regions_allocated(const struct ring_region *regions);

#endif
