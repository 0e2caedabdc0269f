/* SPDX-License-Identifier: MIT */
/*
 * Where all ranks' buffers lie, for plans that reach into them. Whoever finds that out fills it in.
 */
#ifndef RING_REACHED_H
#define RING_REACHED_H

#include "plan/record.h"

/* Arrays by rank. */
struct ring_reached {
	struct ring_whereabouts *where; /* as each rank tells */
	char **inputs, **outputs;       /* here; NULL: to be reached by get and put alone */
	char **stages;                  /* here; NULL: not all ranks have one */
};

#endif
