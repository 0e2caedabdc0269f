/* SPDX-License-Identifier: MIT */
/*
 * Links at a chosen speed, around those of any transport, between ranks that share a kernel's
 * clock. A message costs what it costs in a simulation (tools/simulate/virtual.h), except that all
 * links of a rank share its wires (pace.h):
 *
 *	send()     it waits until the rank's outgoing wire is free, but moves on at once,
 *	           behind a stamp that says when it arrives
 *	sent       when the wire has taken its bytes
 *	arrived    latency later, or when the receiver's incoming wire has taken its bytes
 *
 * So the inner link must be faster than the speed, and a message is on its way even while nobody is
 * awake. A waiting rank sleeps on a timer.
 */
#ifndef RING_PACED_H
#define RING_PACED_H

#include "pace.h"
#include "transport.h"

/*
 * As transport->open(), for a link that keeps pace. The pace is one thread's and outlives the link.
 * Both ends must be opened this way. It has at most RING_DEPTH_MAX / 2 slots: stamps need the
 * others.
 */
int ring_paced_open(const struct ring_transport *transport, const struct ring_link_params *params,
		    struct ring_pace *pace, struct ring_link **link);

#endif
