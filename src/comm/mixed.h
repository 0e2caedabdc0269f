/* SPDX-License-Identifier: MIT */
/*
 * Calls of which some ranks have the buffers in memory of the host, and others on a device. Where
 * memory lies decides how a call is carried, so those on the host begin such a call by the wrong
 * channels. No call ends before all ranks are in it, so somewhere on the ring two neighbours find
 * that they differ in nothing else. From then on the communicator is mixed: all its collectives go
 * by the device's channels (team/far.h), by plans that keep data apart, with the device's number in
 * their records.
 *
 *	two neighbours differ   each is mixed, and tells both of its own
 *	the host's channels     a call there begins anew. Nothing has come of it, and what it left
 *	                        there is nobody's: whoever does not know yet finds no rank there,
 *	                        or the record of a call that is over, and is mixed, too
 *	the device's channels   a call there goes on: the others join it
 */
#ifndef RING_MIXED_H
#define RING_MIXED_H

#include "comm.h"

/*
 * A neighbour, or a peer on the host's channels, is in another call than this rank. returns whether
 * that makes the communicator mixed; comm->run.anew: then this call must begin anew
 */
bool ring_mixed_found(struct ring_comm *comm, const struct ring_record *mine,
		      const struct ring_record *theirs);

/* The record as neighbours are told of it. */
struct ring_record ring_mixed_told(const struct ring_comm *comm, const struct ring_record *record);

/* What the call's plans take for the number of its device; 0: the host's. */
static inline int16_t ring_mixed_memory(const struct ring_comm *comm, const struct ring_call *call)
{
	return call->device->has_chips ? call->device->number : comm->run.mixed;
}

#endif
