/* SPDX-License-Identifier: MIT */
/* An array by address, under one lock, and what each thread has found last; see region.h. */
#include "region.h"

#include <stdlib.h>
#include <string.h>

#include "flag.h"
#include "fork_lock.h"

RING_FORK_LOCK(lock)
static struct ring_region **regions; /* by start */
static int count, room;
static size_t longest; /* bytes of any, at least */
static uint64_t numbers;
static struct ring_counter epoch;

static bool holds(uintptr_t start, size_t length, const void *place, size_t bytes)
{
	size_t offset = (uintptr_t)place - start;
	return offset < length && bytes <= length - offset;
}

/* ---- the array, locked ----------------------------------------------------------------------- */

/* How many begin at or before this place. */
static int begun_at(const void *place)
{
	int low = 0, high = count;
	while (low < high) {
		int middle = (low + high) / 2;
		if ((uintptr_t)regions[middle]->start <= (uintptr_t)place)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int worth(const struct ring_region *region)
{
	return region->fd >= 0 || region->lends ? 2 : region->allocated;
}

static struct ring_region *find(const void *place, size_t bytes)
{
	struct ring_region *best = NULL;
	for (int i = begun_at(place) - 1; i >= 0; i--) {
		struct ring_region *region = regions[i];
		if ((uintptr_t)place - (uintptr_t)region->start >= longest)
			break;
		if (holds((uintptr_t)region->start, region->bytes, place, bytes) &&
		    (!best || worth(region) > worth(best)))
			best = region;
	}
	return best;
}

static bool make_room(void)
{
	if (count < room)
		return true;
	int more = 2 * room + 8;
	struct ring_region **larger = realloc(regions, (size_t)more * sizeof(*larger));
	if (!larger)
		return false;
	regions = larger;
	room = more;
	return true;
}

static void insert(struct ring_region *region)
{
	int place = begun_at(region->start);
	memmove(regions + place + 1, regions + place, (size_t)(count - place) * sizeof(*regions));
	regions[place] = region;
	count++;
	if (region->bytes > longest)
		longest = region->bytes;
}

static void drop_accesses(struct ring_region *region, const void *owner)
{
	struct ring_access **link = &region->accesses;
	while (*link) {
		struct ring_access *access = *link;
		if (owner && access->owner != owner) {
			link = &access->next;
			continue;
		}
		*link = access->next;
		access->drop(access);
	}
}

/* Out of the array first, so that nobody takes hold of it again. */
static void take_out(struct ring_region *region)
{
	int place = 0;
	if (!region->known)
		return;
	while (regions[place] != region)
		place++;
	count--;
	memmove(regions + place, regions + place + 1, (size_t)(count - place) * sizeof(*regions));
	if (count == 0)
		longest = 0;
	region->known = false;
	ring_counter_advance(&epoch);
	drop_accesses(region, NULL);
}

/* ---- what a thread has found last ------------------------------------------------------------ */

#define RECENT 4

struct recent {
	uint64_t epoch;
	uintptr_t start;
	size_t bytes;
	const void *owner; /* NULL: found is the region; else its access of this owner */
	void *found;
};
static _Thread_local struct recent recents[RECENT];

static void *find_recent(const void *place, size_t bytes, const void *owner, uint64_t now)
{
	for (int i = 0; i < RECENT; i++) {
		const struct recent *recent = &recents[i];
		if (recent->epoch == now && recent->owner == owner &&
		    holds(recent->start, recent->bytes, place, bytes))
			return recent->found;
	}
	return NULL;
}

/* Whether it is what is to be found at all places in it. Locked. */
static bool is_best(const struct ring_region *region)
{
	for (int i = begun_at((char *)region->start + region->bytes - 1) - 1; i >= 0; i--) {
		const struct ring_region *other = regions[i];
		if ((uintptr_t)other->start + longest <= (uintptr_t)region->start)
			break;
		if ((uintptr_t)other->start + other->bytes > (uintptr_t)region->start &&
		    worth(other) > worth(region))
			return false;
	}
	return true;
}

static void remember(const struct ring_region *region, const void *owner, void *found, uint64_t now)
{
	if (!is_best(region))
		return;
	memmove(recents + 1, recents, (RECENT - 1) * sizeof(*recents));
	recents[0] = (struct recent){now, (uintptr_t)region->start, region->bytes, owner, found};
}

/* ---- coming and going ------------------------------------------------------------------------ */

struct ring_region *ring_region_add(const struct ring_region *made)
{
	struct ring_region *region = malloc(sizeof(*region));
	if (!region)
		return NULL;
	*region = *made;
	region->known = true;
	region->holders = 1;
	region->accesses = NULL;
	region->next = NULL;
	pthread_mutex_lock(&lock);
	bool fits = make_room();
	if (fits) {
		region->number = ++numbers;
		insert(region);
		ring_counter_advance(&epoch);
	}
	pthread_mutex_unlock(&lock);
	if (!fits)
		free(region);
	return fits ? region : NULL;
}

void ring_region_forget(struct ring_region *region)
{
	pthread_mutex_lock(&lock);
	take_out(region);
	pthread_mutex_unlock(&lock);
}

bool ring_region_withdraw(struct ring_region *region)
{
	pthread_mutex_lock(&lock);
	bool alone = region->holders <= 2;
	if (alone)
		take_out(region);
	pthread_mutex_unlock(&lock);
	return alone;
}

bool ring_region_is_known(const struct ring_region *region)
{
	pthread_mutex_lock(&lock);
	bool known = region->known;
	pthread_mutex_unlock(&lock);
	return known;
}

bool ring_region_hold(struct ring_region *region)
{
	pthread_mutex_lock(&lock);
	bool known = region->known;
	region->holders += known;
	pthread_mutex_unlock(&lock);
	return known;
}

struct ring_region *ring_region_hold_number(uint64_t number)
{
	pthread_mutex_lock(&lock);
	int i = 0;
	while (i < count && regions[i]->number != number)
		i++;
	struct ring_region *region = i < count ? regions[i] : NULL;
	if (region)
		region->holders++;
	pthread_mutex_unlock(&lock);
	return region;
}

void ring_region_release(struct ring_region *region)
{
	if (!region)
		return;
	pthread_mutex_lock(&lock);
	bool last = --region->holders == 0;
	if (last)
		take_out(region);
	pthread_mutex_unlock(&lock);
	if (!last)
		return;
	if (region->free)
		region->free(region);
	free(region);
}

/* ---- finding --------------------------------------------------------------------------------- */

struct ring_region *ring_region_find(const void *start, size_t bytes)
{
	uint64_t now = ring_region_epoch();
	struct ring_region *region = now ? find_recent(start, bytes, NULL, now) : NULL;
	if (now == 0 || region)
		return region;
	pthread_mutex_lock(&lock);
	region = find(start, bytes);
	if (region)
		remember(region, NULL, region, now);
	pthread_mutex_unlock(&lock);
	return region;
}

const struct ring_access *ring_region_access(const void *start, size_t bytes, void *owner,
					     struct ring_access *(*make)(void *owner,
									 const struct ring_region *))
{
	uint64_t now = ring_region_epoch();
	struct ring_access *access = now ? find_recent(start, bytes, owner, now) : NULL;
	if (now == 0 || access)
		return access;
	pthread_mutex_lock(&lock);
	struct ring_region *region = find(start, bytes);
	access = region && !region->device ? region->accesses : NULL;
	while (access && access->owner != owner)
		access = access->next;
	if (region && !region->device && !access && (access = make(owner, region))) {
		access->next = region->accesses;
		region->accesses = access;
	}
	if (access)
		remember(region, owner, access, now);
	pthread_mutex_unlock(&lock);
	return access;
}

void ring_region_drop_accesses(const void *owner)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < count; i++)
		drop_accesses(regions[i], owner);
	ring_counter_advance(&epoch);
	pthread_mutex_unlock(&lock);
}

uint64_t ring_region_epoch(void)
{
	return ring_counter_read(&epoch);
}
