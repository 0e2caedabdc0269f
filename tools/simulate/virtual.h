/* SPDX-License-Identifier: MIT */
/*
 * Links of a simulation: both ends are in one address space, and the simulation moves the clock.
 * The times of a message:
 *
 *	send()     it waits until the wire is free
 *	sent       when the wire has taken its bytes, at bytes_per_second
 *	arrived    latency_ns later
 *	release()  the sender knows of the room latency_ns later
 *
 * It is not in the table of transports, because ranks do not choose it: the simulation connects
 * them.
 */
#ifndef RING_VIRTUAL_H
#define RING_VIRTUAL_H

#include "transport/pace.h"
#include "transport/transport.h"

#define RING_NEVER UINT64_MAX

struct ring_virtual_clock {
	uint64_t now_ns;
	/* Wakes `rank` at time_ns, which is now or later. */
	void (*wake)(struct ring_virtual_clock *clock, int rank, uint64_t time_ns);
};

/* The wire from one rank to another, which the links of all channels use in turn. */
struct ring_virtual_wire {
	struct ring_virtual_clock *clock;
	struct ring_pace_speed speed;
	uint64_t free_ns; /* when it has sent all that it was given */
};

/*
 * Makes both ends of a link. Of params, only the sender's self, peer, depth and slot_bytes count.
 * If `copies`, messages are copied to slots when sent; else the receiver reads the sender's source,
 * which may have changed by then. The wire must outlive both ends. returns 0; RING_ENOMEM
 */
int ring_virtual_connect(struct ring_virtual_wire *wire, const struct ring_link_params *params,
			 bool copies, struct ring_link *ends[2]);

/* Sender's end: when `sent` moves next; RING_NEVER if all is sent. No rank is woken for that. */
uint64_t ring_virtual_sent_ns(const struct ring_link *link);

#endif
