/* SPDX-License-Identifier: MIT */
/* Memory that devices hold, in a list: it is mostly empty, and never long. */
#include "held.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "fork_lock.h"

struct held {
	void *memory;
	unsigned times;
	size_t bytes;
	void (*give_back)(void *memory, size_t bytes); /* NULL: its owner needs it still */
	struct held *next;
};

RING_FORK_LOCK(lock)
static struct held *all;

static struct held **find(const void *memory)
{
	struct held **place = &all;
	while (*place && (*place)->memory != memory)
		place = &(*place)->next;
	return place;
}

bool ring_held_take(void *memory)
{
	lock_take();
	struct held **place = find(memory);
	if (!*place)
		*place = calloc(1, sizeof(**place));
	struct held *held = *place;
	if (held) {
		held->memory = memory;
		held->times++;
	}
	lock_give();
	return held;
}

void ring_held_drop(void *memory)
{
	lock_take();
	struct held **place = find(memory), *held = *place;
	const bool last = --held->times == 0;
	if (last)
		*place = held->next;
	lock_give();
	if (!last)
		return;
	if (held->give_back)
		held->give_back(memory, held->bytes);
	free(held);
}

void ring_held_end(void *memory, size_t bytes, void (*give_back)(void *memory, size_t bytes))
{
	lock_take();
	struct held *held = *find(memory);
	if (held) {
		held->bytes = bytes;
		held->give_back = give_back;
	}
	lock_give();
	if (!held)
		give_back(memory, bytes);
}

void ring_held_unmap(void *memory, size_t bytes)
{
	munmap(memory, bytes);
}

void ring_held_free(void *memory, size_t bytes)
{
	(void)bytes;
	free(memory);
}
