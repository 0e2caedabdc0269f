/* SPDX-License-Identifier: MIT */
/* Naming ranks; see peer.h. */
#include "peer.h"

#include <stdio.h>

const char *ring_peer_name(const struct ring_peer *peer, char text[RING_PEER_NAME])
{
	snprintf(text, RING_PEER_NAME, "rank %d (host %s, pid %d)", peer->rank, peer->host,
		 peer->pid);
	return text;
}

const char *ring_peer_unreached(const struct ring_peer *peer, int self, int lost_ms, bool heard,
				char text[RING_PEER_SENTENCE])
{
	char name[RING_PEER_NAME];
	snprintf(text, RING_PEER_SENTENCE, "%s could not be reached from rank %d for %d ms%s",
		 ring_peer_name(peer, name), self, lost_ms,
		 heard ? ", though packets came from it; is one direction cut, or an MTU wrong?"
		       : "; is its host down, the network between them cut, or an MTU wrong?");
	return text;
}
