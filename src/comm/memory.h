/* SPDX-License-Identifier: MIT */
/*
 * A communicator's memory: what ring_mem_alloc() gave, which peers of this host can map, what a
 * program registered, and what peers were told of.
 */
#ifndef RING_MEMORY_H
#define RING_MEMORY_H

#include "base/region.h"

struct ring_comm;
struct ring_failure;

/* All zero at first. */
struct ring_comm_memory {
	/* The caller's. */
	const struct ring_device *device; /* of what is allocated; NULL: the host */
	struct ring_region *regions;      /* that ring_mem_alloc(), or _register(), added */

	/* For the thread that runs calls. */
	struct ring_region **lent; /* that peers were told of, held */
	int lent_count, lent_room;
	uint64_t lent_epoch; /* at the last look at which of them live */
};

/*
 * Takes the device that the options name, for calls and for what is allocated. returns 0;
 * RING_EINVAL, with the sentence
 */
int ring_memory_choose(struct ring_comm *comm, struct ring_failure *failure);

/* Frees and forgets all, once the links are closed. */
void ring_memory_close(struct ring_comm_memory *memory);

/* Bytes that were allocated here. */
size_t ring_memory_allocated(const struct ring_comm_memory *memory);

/*
 * Lets all ranks with a mesh link from here map the region, as share() of transport.h. Call it
 * before each message that names the memory; only the first call on each link costs something. For
 * the thread that runs calls. returns 0; what share() returned; RING_ENOTSUP if a link has no
 * share(), or the memory is private by now
 */
int ring_memory_lend(struct ring_comm *comm, struct ring_region *region);

/*
 * Makes memory private that a peer may still write to: `bytes` bytes at `start` keep values and
 * place, but the peer no longer has them. returns 0; RING_ENOMEM; RING_ENOTSUP: peers of another
 * communicator map it, too
 */
int ring_memory_take_back(struct ring_region *region, const void *start, size_t bytes);

/*
 * Tells the peers of lent memory that was freed since the last time. For the thread that runs
 * calls. Cheap.
 */
void ring_memory_recall(struct ring_comm *comm);

#endif
