/* SPDX-License-Identifier: MIT */
/*
 * The watcher's front door: the listeners, the guests that have not yet proved who they are, and
 * the proved connections that wait to be fetched. Strangers are shown out here.
 *
 * reception.c has what watcher.h says of ports and fetching, listening.c of addresses. Opening and
 * closing the door is watcher.c's, with the watcher locked.
 */
#ifndef RING_RECEPTION_H
#define RING_RECEPTION_H

#include "watcher.h"

struct ring_reception;

int ring_reception_open(struct ring_reception **reception, struct ring_watcher *watcher,
			const struct ring_config *config, const struct sockaddr_storage *towards,
			struct ring_failure *failure);
void ring_reception_close(struct ring_reception *reception); /* NULL is allowed */

/* The watcher's own; watcher.c has it. */
struct ring_reception *ring_watcher_reception(const struct ring_watcher *watcher);

#endif
