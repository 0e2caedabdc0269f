/* SPDX-License-Identifier: MIT */
/* Two search trees over the same memory, under one lock. */
#include "regions.h"

#include <search.h>

#include "base/flag.h"
#include "base/fork_lock.h"
#include "base/status.h"

RING_FORK_LOCK(lock)
static void *by_address, *by_number; /* of struct ring_shared_memory */
static uint64_t numbers;
static struct ring_counter epoch;

static uintptr_t start_of(const struct ring_shared_memory *memory)
{
	return (uintptr_t)memory->memory;
}

/* Memory that overlaps is equal, so that a place is found in the memory it lies in. */
static int compare_places(const void *left, const void *right)
{
	const struct ring_shared_memory *a = left, *b = right;
	if (start_of(a) + a->bytes <= start_of(b))
		return -1;
	return start_of(b) + b->bytes <= start_of(a);
}

static int compare_numbers(const void *left, const void *right)
{
	const struct ring_shared_memory *a = left, *b = right;
	return a->region < b->region ? -1 : a->region > b->region;
}

int ring_regions_add(struct ring_shared_memory *memory)
{
	int err = 0;
	pthread_mutex_lock(&lock);
	memory->region = numbers + 1;
	if (!tsearch(memory, &by_number, compare_numbers)) {
		err = RING_ENOMEM;
	} else if (!tsearch(memory, &by_address, compare_places)) {
		tdelete(memory, &by_number, compare_numbers);
		err = RING_ENOMEM;
	} else {
		numbers++;
		ring_counter_advance(&epoch);
	}
	pthread_mutex_unlock(&lock);
	return err;
}

uint64_t ring_regions_number(void)
{
	pthread_mutex_lock(&lock);
	uint64_t number = ++numbers;
	pthread_mutex_unlock(&lock);
	return number;
}

static void take_out(const struct ring_shared_memory *memory)
{
	tdelete(memory, &by_address, compare_places);
	tdelete(memory, &by_number, compare_numbers);
	ring_counter_advance(&epoch);
}

void ring_regions_remove(const struct ring_shared_memory *memory)
{
	pthread_mutex_lock(&lock);
	take_out(memory);
	pthread_mutex_unlock(&lock);
}

bool ring_regions_withdraw(const struct ring_shared_memory *memory)
{
	pthread_mutex_lock(&lock);
	bool alone = memory->lenders <= 1;
	if (alone)
		take_out(memory);
	pthread_mutex_unlock(&lock);
	return alone;
}

/* The tree's entry that equals `key`, or NULL. Locked. */
static struct ring_shared_memory *find(const struct ring_shared_memory *key, void **tree,
				       int (*compare)(const void *, const void *))
{
	struct ring_shared_memory **found = tfind(key, tree, compare);
	return found ? *found : NULL;
}

static const struct ring_shared_memory *look_up(const struct ring_shared_memory *key, void **tree,
						int (*compare)(const void *, const void *))
{
	pthread_mutex_lock(&lock);
	const struct ring_shared_memory *memory = find(key, tree, compare);
	pthread_mutex_unlock(&lock);
	return memory;
}

static bool count_lender(uint64_t region, int more)
{
	struct ring_shared_memory key = {.region = region};
	pthread_mutex_lock(&lock);
	struct ring_shared_memory *memory = find(&key, &by_number, compare_numbers);
	if (memory)
		memory->lenders += more;
	pthread_mutex_unlock(&lock);
	return memory;
}

bool ring_regions_lend(uint64_t region)
{
	return count_lender(region, 1);
}

void ring_regions_return(uint64_t region)
{
	count_lender(region, -1);
}

const struct ring_shared_memory *ring_regions_find(const void *start, size_t bytes)
{
	struct ring_shared_memory key = {.memory = (void *)start, .bytes = bytes};
	const struct ring_shared_memory *found = look_up(&key, &by_address, compare_places);
	if (!found)
		return NULL;
	size_t offset = (uintptr_t)start - start_of(found);
	return offset <= found->bytes && bytes <= found->bytes - offset ? found : NULL;
}

bool ring_regions_have(uint64_t region)
{
	struct ring_shared_memory key = {.region = region};
	return look_up(&key, &by_number, compare_numbers);
}

uint64_t ring_regions_epoch(void)
{
	return ring_counter_read(&epoch);
}
