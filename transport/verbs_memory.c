/* SPDX-License-Identifier: MIT */
/* A list of what ports have registered; see verbs_memory.h. */
#include "verbs_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/fork_lock.h"
#include "base/log.h"

struct entry {
	const struct ring_verbs_port *port;
	uint64_t number;
	struct ibv_mr *mr; /* NULL: it could not be registered, and is not tried again */
	bool may_land;
	struct entry *next;
};

RING_FORK_LOCK(lock)
static struct entry *entries;

/* What a forked child has of its parent's list is not its own to give back. */
static void drop(struct entry **link)
{
	struct entry *entry = *link;
	*link = entry->next;
	if (entry->mr && entry->port->generation == ring_fork_generation())
		entry->port->library->dereg_mr(entry->mr);
	free(entry);
}

/* Drops what a port has, or what memory it is of. */
static void drop_all(const struct ring_verbs_port *port, uint64_t number)
{
	pthread_mutex_lock(&lock);
	for (struct entry **link = &entries; *link;)
		if ((*link)->port == port || (*link)->number == number)
			drop(link);
		else
			link = &(*link)->next;
	pthread_mutex_unlock(&lock);
}

static void close_all(const struct ring_verbs_port *port)
{
	drop_all(port, 0);
}

/* What can only be read is sent from there all the same. */
static struct ibv_mr *register_with(struct ring_verbs_port *port, const struct ring_lasting *memory,
				    bool *may_land)
{
	const int access[] = {0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE};
	struct ibv_mr *mr = NULL;
	for (int writes = 1; writes >= 0 && !mr; writes--) {
		mr = (port->library->reg_mr)(port->pd, (void *)memory->start, memory->bytes,
					     access[writes]);
		*may_land = writes;
	}
	return mr;
}

/* Locked. NULL: no memory */
static struct entry *registered(struct ring_verbs_port *port, const struct ring_lasting *memory)
{
	struct entry *entry = entries;
	while (entry && (entry->port != port || entry->number != memory->number))
		entry = entry->next;
	if (entry || !(entry = malloc(sizeof(*entry))))
		return entry;
	bool may_land;
	struct ibv_mr *mr = register_with(port, memory, &may_land);
	if (!mr)
		ring_log(RING_INFO,
			 "verbs: %zu KiB of memory cannot be registered with %s and are sent and "
			 "received by copies: %s",
			 memory->bytes >> 10, port->choice.device, strerror(errno));
	port->closes = close_all;
	*entry = (struct entry){port, memory->number, mr, may_land, entries};
	entries = entry;
	return entry;
}

bool ring_verbs_memory_find(struct ring_verbs_port *port, struct ring_verbs_recent *recent,
			    const void *start, size_t bytes, struct ring_verbs_keys *keys)
{
	const uint64_t epoch = ring_lasting_epoch();
	if (epoch == 0)
		return false;
	if (recent->epoch != epoch || !ring_lasting_holds(&recent->memory, start, bytes)) {
		struct ring_lasting found;
		*recent = (struct ring_verbs_recent){.epoch = epoch};
		if (!ring_lasting_find(start, bytes, &found))
			return false;
		pthread_mutex_lock(&lock);
		const struct entry *entry = registered(port, &found);
		if (entry && entry->mr) {
			recent->memory = found;
			recent->keys = (struct ring_verbs_keys){entry->mr->lkey, entry->mr->rkey,
								entry->may_land};
		}
		pthread_mutex_unlock(&lock);
	}
	*keys = recent->keys;
	return recent->memory.bytes > 0;
}

void ring_verbs_memory_let_go(uint64_t number)
{
	drop_all(NULL, number);
}
