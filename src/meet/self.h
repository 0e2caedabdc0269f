/* SPDX-License-Identifier: MIT */
/* What a rank tells the others about itself: struct ring_peer, filled in where it runs. */
#ifndef RING_SELF_H
#define RING_SELF_H

#include "transport/transport.h"
#include "choose/options.h"
#include "door/watcher.h"

/* lacks: as `why` of ring_transports_present(), for the transports that config names. */
void ring_self_describe(struct ring_peer *self, int rank, const struct ring_config *config,
			const struct ring_watcher *watcher, const struct sockaddr_storage *address,
			char lacks[RING_ABSENT_TEXT]);

#endif
