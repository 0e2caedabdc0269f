/* SPDX-License-Identifier: MIT */
/*
 * Memory of this process that stays where it is until it is said otherwise: what ring_mem_alloc()
 * made, and what ring_mem_register() was told of. A device may keep hold of it, and take messages
 * from where they lie. Any thread.
 */
#ifndef RING_LASTING_H
#define RING_LASTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_lasting {
	uintptr_t start;
	size_t bytes;
	uint64_t number; /* from 1; a process never uses one again */
};

static inline bool ring_lasting_holds(const struct ring_lasting *memory, const void *start,
				      size_t bytes)
{
	const uintptr_t offset = (uintptr_t)start - memory->start;
	return offset < memory->bytes && bytes <= memory->bytes - offset;
}

/* returns its number; 0: no memory to note it in, and it is as any other */
uint64_t ring_lasting_add(const void *start, size_t bytes);

/* It is about to go; no transport has hold of it any more behind this. 0 is allowed. */
void ring_lasting_remove(uint64_t number);

/* Some memory in which all `bytes` bytes at `start` lie. False: there is none. */
bool ring_lasting_find(const void *start, size_t bytes, struct ring_lasting *found);

/* Changes whenever something is added or removed; 0: there never was any. Cheap. */
uint64_t ring_lasting_epoch(void);

#endif
