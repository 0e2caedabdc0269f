/* SPDX-License-Identifier: MIT */
/* A list, as programs have few such places and links remember the last one that they used. */
#include "lasting.h"

#include <stdlib.h>

#include "base/flag.h"
#include "base/fork_lock.h"
#include "transport.h"

struct entry {
	struct ring_lasting memory;
	struct entry *next;
};

RING_FORK_LOCK(lock)
static struct entry *entries;
static uint64_t numbers;
static struct ring_counter epoch;

uint64_t ring_lasting_add(const void *start, size_t bytes)
{
	struct entry *entry = malloc(sizeof(*entry));
	if (!entry)
		return 0;
	pthread_mutex_lock(&lock);
	const uint64_t number = ++numbers;
	*entry = (struct entry){{(uintptr_t)start, bytes, number}, entries};
	entries = entry;
	ring_counter_advance(&epoch);
	pthread_mutex_unlock(&lock);
	return number;
}

/* Out of the list first, so that nobody takes hold of it again. */
void ring_lasting_remove(uint64_t number)
{
	pthread_mutex_lock(&lock);
	struct entry **link = &entries;
	while (*link && (*link)->memory.number != number)
		link = &(*link)->next;
	struct entry *entry = *link;
	if (entry) {
		*link = entry->next;
		ring_counter_advance(&epoch);
	}
	pthread_mutex_unlock(&lock);
	for (int i = 0; entry && i < ring_transport_count; i++)
		if (ring_transports[i]->let_go)
			ring_transports[i]->let_go(number);
	free(entry);
}

bool ring_lasting_find(const void *start, size_t bytes, struct ring_lasting *found)
{
	pthread_mutex_lock(&lock);
	const struct entry *entry = entries;
	while (entry && !ring_lasting_holds(&entry->memory, start, bytes))
		entry = entry->next;
	if (entry)
		*found = entry->memory;
	pthread_mutex_unlock(&lock);
	return entry;
}

uint64_t ring_lasting_epoch(void)
{
	return ring_counter_read(&epoch);
}
