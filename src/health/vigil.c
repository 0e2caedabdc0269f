/* SPDX-License-Identifier: MIT */
/*
 * Knocking and listening; see vigil.h. If nobody listens there, or the listener does not know the
 * communicator, that is an answer; all other failures say nothing about the peer.
 */
#include "vigil.h"

#include <errno.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/waits.h"

static void go_to(struct ring_vigil *vigil, int stage, int ms)
{
	vigil->stage = stage;
	vigil->due_ms = ring_clock_ms() + (uint64_t)ms;
}

static void knock(struct ring_vigil *vigil, const struct ring_edge_ends *ends)
{
	struct ring_failure refused = {0};
	int err = ring_edge_step(&vigil->edge, ends, &refused);
	if (err == RING_EAGAIN)
		return;
	int cause = vigil->edge.dial.cause;
	if (!err)
		vigil->stage = RING_VIGIL_KEPT;
	else if (ring_edge_is_unreached(&vigil->edge))
		go_to(vigil, RING_VIGIL_ENDED, 0);
	else if (cause == 0 || cause == ECONNREFUSED)
		go_to(vigil, RING_VIGIL_ENDED, RING_LEFT_MS);
	else
		vigil->stage = RING_VIGIL_POINTLESS;
}

/* Nobody speaks on it, so if it can be read, it has ended. */
static bool is_over(struct ring_edge *edge)
{
	char byte;
	ssize_t got = recv(edge->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	edge->dial.cause = got < 0 ? errno : 0;
	return true;
}

int ring_vigil_step(struct ring_vigil *vigil, const struct ring_peer *peer,
		    const struct ring_edge_ends *ends, struct ring_failure *failure)
{
	bool is_due = ring_clock_ms() >= vigil->due_ms;
	switch (vigil->stage) {
	case RING_VIGIL_UNBORN:
		vigil->edge = (struct ring_edge){.role = RING_ROLE_CONTROL,
						 .channel = RING_CHANNEL_VIGIL,
						 .outgoing = true,
						 .peer = peer};
		go_to(vigil, RING_VIGIL_PATIENT, RING_VIGIL_MS);
		break;
	case RING_VIGIL_PATIENT:
		if (is_due)
			vigil->stage = RING_VIGIL_KNOCKING;
		break;
	case RING_VIGIL_KEPT:
		if (is_over(&vigil->edge))
			go_to(vigil, RING_VIGIL_ENDED, RING_LEFT_MS);
		break;
	case RING_VIGIL_ENDED:
		if (is_due)
			return ring_fail(failure, RING_EPEER,
					 "it takes no connections of this communicator any more");
		break;
	case RING_VIGIL_KNOCKING:
	case RING_VIGIL_POINTLESS:
		break;
	}
	if (vigil->stage == RING_VIGIL_KNOCKING)
		knock(vigil, ends);
	return RING_EAGAIN;
}

void ring_vigil_poll(const struct ring_vigil *vigil, struct pollfd *pollfd, int *ms)
{
	*pollfd = (struct pollfd){.fd = -1};
	if (vigil->stage == RING_VIGIL_KNOCKING)
		ring_edge_poll(&vigil->edge, pollfd, ms);
	if (vigil->stage == RING_VIGIL_KEPT)
		*pollfd = (struct pollfd){.fd = vigil->edge.fd, .events = POLLIN};
	if (vigil->stage != RING_VIGIL_PATIENT && vigil->stage != RING_VIGIL_ENDED)
		return;
	uint64_t now = ring_clock_ms();
	uint64_t left = vigil->due_ms > now ? vigil->due_ms - now : 0;
	if (left < (uint64_t)*ms)
		*ms = (int)left;
}

void ring_vigil_drop(struct ring_vigil *vigil)
{
	ring_edge_drop(&vigil->edge);
	*vigil = (struct ring_vigil){0};
}
