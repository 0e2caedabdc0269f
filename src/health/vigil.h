/* SPDX-License-Identifier: MIT */
/*
 * How a receiver that waits for a first message learns that its sender left: it connects to the
 * sender's door and keeps the connection unused; it ends when the door is closed. Begun only after
 * a while, so that ranks that are about to send never see one. Non-blocking.
 */
#ifndef RING_VIGIL_H
#define RING_VIGIL_H

#include "door/edge.h"

struct ring_vigil {
	enum {
		RING_VIGIL_UNBORN,
		RING_VIGIL_PATIENT,
		RING_VIGIL_KNOCKING,
		RING_VIGIL_KEPT,
		RING_VIGIL_ENDED,
		RING_VIGIL_POINTLESS
	} stage;         /* zero at first */
	uint64_t due_ms; /* PATIENT, ENDED: when that is over */
	struct ring_edge edge;
};

/*
 * returns RING_EAGAIN while peer is not known to have left; RING_EPEER with a sentence if it left,
 * and what it had sent has had time to arrive, or if it cannot be reached, as vigil->edge says then
 */
int ring_vigil_step(struct ring_vigil *vigil, const struct ring_peer *peer,
		    const struct ring_edge_ends *ends, struct ring_failure *failure);

/* As ring_edge_poll. */
void ring_vigil_poll(const struct ring_vigil *vigil, struct pollfd *pollfd, int *ms);

void ring_vigil_drop(struct ring_vigil *vigil); /* at whatever stage */

#endif
