/* SPDX-License-Identifier: MIT */
/* How another rank is named in sentences. */
#ifndef RING_PEER_H
#define RING_PEER_H

#include "transport/transport.h"

#define RING_SIZE_MAX 65536

/* "rank 2 (host h, pid 123)". Returns text. */
#define RING_PEER_NAME 128
const char *ring_peer_name(const struct ring_peer *peer, char text[RING_PEER_NAME]);

#define RING_PEER_SENTENCE 320
/*
 * Says that rank `self` could not reach the peer for so long, and whether it heard of it meanwhile.
 * Returns text.
 */
const char *ring_peer_unreached(const struct ring_peer *peer, int self, int lost_ms, bool heard,
				char text[RING_PEER_SENTENCE]);

#endif
