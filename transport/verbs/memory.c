/* SPDX-License-Identifier: MIT */
/* What ports have registered; see memory.h. */
#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/region.h"

struct registered {
	struct ring_access access;
	const struct ring_verbs_port *port;
	struct ibv_mr *mr; /* NULL: it could not be registered, and is not tried again */
	bool may_land;
};

/* What a forked child has of its parent's is not its own to give back. */
static void drop(struct ring_access *access)
{
	struct registered *registered = (struct registered *)access;
	const struct ring_verbs_port *port = registered->port;
	if (registered->mr && port->generation == ring_fork_generation())
		port->library->dereg_mr(registered->mr);
	free(registered);
}

/* What can only be read is sent from there all the same. */
static struct ibv_mr *register_with(struct ring_verbs_port *port, const struct ring_region *region,
				    bool *may_land)
{
	const int access[] = {0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE};
	struct ibv_mr *mr = NULL;
	for (int writes = 1; writes >= 0 && !mr; writes--) {
		mr = (port->library->reg_mr)(port->pd, region->start, region->bytes, access[writes]);
		*may_land = writes;
	}
	return mr;
}

static struct ring_access *make(void *owner, const struct ring_region *region)
{
	struct ring_verbs_port *port = owner;
	struct registered *made = malloc(sizeof(*made));
	if (!made)
		return NULL;
	*made = (struct registered){.access = {.owner = port, .drop = drop}, .port = port};
	made->mr = register_with(port, region, &made->may_land);
	if (!made->mr)
		ring_log(RING_INFO,
			 "verbs: %zu KiB of memory cannot be registered with %s and are sent and "
			 "received by copies: %s",
			 region->bytes >> 10, port->choice.device, strerror(errno));
	return &made->access;
}

bool ring_verbs_memory_find(struct ring_verbs_port *port, const void *start, size_t bytes,
			    struct ring_verbs_keys *keys)
{
	const struct registered *found = (const struct registered *)ring_region_access(start, bytes,
										       port, make);
	if (!found || !found->mr)
		return false;
	*keys = (struct ring_verbs_keys){found->mr->lkey, found->mr->rkey, found->may_land};
	return true;
}
