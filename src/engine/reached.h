/* SPDX-License-Identifier: MIT */
/* Where all ranks' buffers lie, for plans that reach into them (team/partners.c finds out). */
#ifndef RING_REACHED_H
#define RING_REACHED_H

#include "plan/record.h"

struct ring_route;

/* Arrays by rank. */
struct ring_reached {
	struct ring_whereabouts *where; /* as each rank tells it */
	char **inputs, **outputs;       /* mapped here; NULL: by get and put alone */
	char **stages;                  /* mapped here; NULL: not all ranks have one */
	const struct ring_route *gates; /* links with gates; NULL: the channel's own */
};

#endif
