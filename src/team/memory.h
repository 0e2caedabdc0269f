/* SPDX-License-Identifier: MIT */
/*
 * A communicator's memory: what ring_mem_alloc() gave, which peers of this host can map, what a
 * program registered, and what peers were told of.
 */
#ifndef RING_MEMORY_H
#define RING_MEMORY_H

#include <stdbool.h>

#include "base/region.h"

struct ring_channel;
struct ring_failure;

/* All zero at first. */
struct ring_comm_memory {
	/* The caller's. */
	const struct ring_device *device; /* of what is allocated; NULL: the host */
	struct ring_region *regions;      /* that ring_mem_alloc(), or _register(), added */

	/* For the thread that runs calls. */
	struct ring_region **lent; /* that peers were told of, held */
	int lent_count, lent_room;
	bool leaves;         /* some of it was freed, and peers may have it open */
	uint64_t lent_epoch; /* at the last look at which of them live */
};

/*
 * Finds the device that the option names, for calls and for what is allocated; NULL, RING_CHIP_ANY:
 * any. returns 0; RING_EINVAL, with the sentence
 */
int ring_memory_choose(const char *option, const struct ring_device **device, int *chip,
		       struct ring_failure *failure);

/*
 * Allocates on the memory's device, on that chip if it has any. returns 0; RING_ENOMEM,
 * RING_ESYSTEM ..., with the sentence
 */
int ring_memory_allocate(struct ring_comm_memory *memory, size_t bytes, int chip, void **start,
			 struct ring_failure *failure);

/* Adds memory that is there. returns the region; NULL: no memory */
struct ring_region *ring_memory_add(struct ring_comm_memory *memory, const struct ring_region *made);

/* Frees what was allocated here. returns false: this was not */
bool ring_memory_free(struct ring_comm_memory *memory, const void *start);

/* Forgets what was added here, and not allocated. returns false: this was not */
bool ring_memory_forget(struct ring_comm_memory *memory, const struct ring_region *region);

/*
 * Before the links close: lets go of all that peers have lent, and waits until that is closed and
 * they have let go of this rank's devices, or until then. What they keep stays as long as the
 * process.
 */
void ring_memory_part(struct ring_comm_memory *memory, const struct ring_channel *mesh,
		      uint64_t until_ms);

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
int ring_memory_lend(struct ring_comm_memory *memory, const struct ring_channel *mesh,
		     struct ring_region *region);

/*
 * Makes memory private that a peer may still write to: `bytes` bytes at `start` keep values and
 * place, but the peer no longer has them. returns 0; RING_ENOMEM; RING_ENOTSUP: peers of another
 * communicator map it, too
 */
int ring_memory_take_back(struct ring_region *region, const void *start, size_t bytes);

/* Regions have changed since the last look at which lent ones live. */
void ring_memory_recall_freed(struct ring_comm_memory *memory, const struct ring_channel *mesh,
			      uint64_t epoch);

/*
 * Tells the peers of lent memory that was freed since the last time; a device's is free once they
 * have let it go. For the thread that runs calls. Cheap.
 */
static inline void ring_memory_recall(struct ring_comm_memory *memory,
				      const struct ring_channel *mesh)
{
	uint64_t epoch = ring_region_epoch();
	if (memory->lent_epoch != epoch || memory->leaves)
		ring_memory_recall_freed(memory, mesh, epoch);
}

#endif
