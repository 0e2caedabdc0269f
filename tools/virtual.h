/* SPDX-License-Identifier: MIT */
/*
 * Links of a simulation: both ends in one address space, under a clock that the simulation moves.
 * What a message costs:
 *
 *	send()     it waits until the wire is free
 *	sent       when the wire has taken its bytes, at bytes_per_second
 *	arrived    latency_ns later
 *	release()  the sender knows of the room latency_ns later
 *
 * Not in the table of transports, for no two ranks choose it: the simulation connects them.
 */
#ifndef RING_VIRTUAL_H
#define RING_VIRTUAL_H

#include "transport/pace.h"
#include "transport/transport.h"

#define RING_NEVER UINT64_MAX

struct ring_virtual_clock {
	uint64_t now_ns;
	/* There will be something new for `rank` at time_ns, which is not before now. */
	void (*wake)(struct ring_virtual_clock *clock, int rank, uint64_t time_ns);
};

/* The way from one rank to another, which the links of all channels take in turn. */
struct ring_virtual_wire {
	struct ring_virtual_clock *clock;
	struct ring_pace_speed speed;
	uint64_t free_ns; /* when it has taken all that it was given */
};

/*
 * Makes both ends of a link. Of params, self, peer, depth and slot_bytes count, as the sender sees
 * them. If it copies, messages lie in slots as they were when sent; else their data are the
 * sender's source, whatever that holds by then. The wire outlives both ends. returns 0; RING_ENOMEM
 */
int ring_virtual_connect(struct ring_virtual_wire *wire, const struct ring_link_params *params,
			 bool copies, struct ring_link *ends[2]);

/* Sender's end: when `sent` moves next, RING_NEVER if all is sent. Nobody is woken for that. */
uint64_t ring_virtual_sent_ns(const struct ring_link *link);

#endif
