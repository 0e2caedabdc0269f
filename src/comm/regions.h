/* SPDX-License-Identifier: MIT */
/*
 * All memory of this process from ring_mem_alloc(), of all communicators: by address, for calls
 * with a place in it, and by number, for peers that were told of it. Any thread.
 */
#ifndef RING_REGIONS_H
#define RING_REGIONS_H

#include <stdbool.h>

#include "transport/transport.h"

/* Adds memory, which stays where it is, and gives it its number. returns 0; RING_ENOMEM */
int ring_regions_add(struct ring_shared_memory *memory);

/* A number for memory that is never a call's buffer: it is not added. */
uint64_t ring_regions_number(void);

void ring_regions_remove(const struct ring_shared_memory *memory);

/*
 * A communicator lets its peers map a region, or no longer does. lend: false if it was removed or
 * withdrawn meanwhile
 */
bool ring_regions_lend(uint64_t region);
void ring_regions_return(uint64_t region);

/*
 * Like removing: from now on it is private memory for every call, at the same place. returns
 * whether it is: not while more than one communicator lends it
 */
bool ring_regions_withdraw(const struct ring_shared_memory *memory);

/* The memory in which all `bytes` bytes at `start` lie, NULL if there is none. */
const struct ring_shared_memory *ring_regions_find(const void *start, size_t bytes);

/* Whether this region has not been removed. */
bool ring_regions_have(uint64_t region);

/* Changes whenever one is added or removed; 0: there never was any. Cheap. */
uint64_t ring_regions_epoch(void);

#endif
