/* SPDX-License-Identifier: MIT */
/*
 * A communicator's memory: what ring_mem_alloc() gave, which peers of this host can map, what a
 * program registered, and what peers were told of.
 */
#ifndef RING_MEMORY_H
#define RING_MEMORY_H

#include "regions.h"

#define RING_MEMORY_RECENT 2

struct ring_comm;

struct ring_region {
	struct ring_shared_memory shared; /* fd -1: it is private */
	bool allocated; /* by ring_mem_alloc(); else it was registered and is the program's */
	const struct ring_device *device; /* that it was allocated from; NULL: the host */
	uint64_t lasting;                 /* its number of lasting.h; 0: it is a device's */
	struct ring_region *next;
};

/* Where memory lies. A copy: the memory may be freed, unless a call uses a place in it. */
struct ring_recent {
	uintptr_t start;
	size_t bytes;
	const struct ring_shared_memory *memory;
};

/* All zero at first. */
struct ring_comm_memory {
	/* The caller's. */
	const struct ring_device *device; /* of what is allocated; NULL: the host */
	struct ring_region *regions;
	struct ring_recent recent[RING_MEMORY_RECENT]; /* found last */
	uint64_t recent_epoch; /* they are valid in this epoch of all regions */

	/* For the thread that runs calls. */
	uint64_t *lent; /* numbers of regions that peers were told of, ascending */
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
 * The memory from ring_mem_alloc(), of any communicator of this process, in which all `bytes` bytes
 * at `start` lie; NULL: it is private. Valid until it is freed. For the thread that makes the
 * calls.
 */
const struct ring_shared_memory *ring_memory_find(struct ring_comm *comm, const void *start,
						  size_t bytes);

/*
 * Lets all ranks with a mesh link from here map the memory, as share() of transport.h. Call it
 * before each message that names the memory; only the first call on each link costs something. For
 * the thread that runs calls. returns 0; what share() returned; RING_ENOTSUP if a link has no
 * share(), or the memory is private by now
 */
int ring_memory_lend(struct ring_comm *comm, const struct ring_shared_memory *memory);

/*
 * Makes memory private that a peer may still write to: `bytes` bytes at `start` keep values and
 * place, but the peer no longer has them. returns 0; RING_ENOMEM; RING_ENOTSUP: peers of another
 * communicator map it, too
 */
int ring_memory_take_back(const struct ring_shared_memory *memory, const void *start, size_t bytes);

/*
 * Tells the peers of lent memory that was freed since the last time. For the thread that runs
 * calls. Cheap.
 */
void ring_memory_recall(struct ring_comm *comm);

#endif
