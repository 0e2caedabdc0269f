/* SPDX-License-Identifier: MIT */
/*
 * Carries the messages of a device's calls between ranks that share no memory. Kernels speak slot
 * FIFOs in memory of the host alone, as ever; a thread of the host, which calls no driver, moves
 * what it finds there over links, whatever their transport is:
 *
 *	kernel  -- FIFO -->  pump  -- link -->  pump of the next rank  -- FIFO -->  its kernel
 *
 * A message goes on from where the kernel wrote it, and what arrives is copied to where the next
 * one reads it. The pump knows nothing of calls but whether one is under way: then it looks, else
 * it sleeps. Of those of graphs it knows only what they write, so it looks now and then once there
 * are graphs. A rank's part in a call is over when the kernel has ended and all is sent.
 */
#ifndef RING_PUMP_H
#define RING_PUMP_H

#include "engine/channel.h"

struct ring_comm_failure;
struct ring_pairs;
struct ring_pump;
struct ring_team;

/*
 * Makes the FIFOs that such a device wants, for each of its channels one to the next rank and one
 * from that before. NULL: no memory
 */
struct ring_pump *ring_pump_make(const struct ring_team *team, const struct ring_device_calls *calls,
				 const struct ring_device_team *ranks);

/* Wants the links; the others do so, too. returns 0; RING_ENOMEM, RING_ESYSTEM */
int ring_pump_want_links(struct ring_pump *pump, struct ring_pairs *pairs);

/* For the device, which is to pin it before it opens its engine. */
const struct ring_device_wires *ring_pump_wires(const struct ring_pump *pump);

/*
 * All links are there, which are the thread's from here on: it moves messages for the engine, which
 * must outlive it. The bell is rung when all is sent. returns 0; RING_ESYSTEM
 */
int ring_pump_start(struct ring_pump *pump, struct ring_device_engine *engine,
		    const struct ring_bell *bell);

/*
 * The device is about to be given a call, which may begin, and even has to end, before who gives it
 * goes on.
 */
void ring_pump_launching(struct ring_pump *pump);

/* It was given the call of that number; 0: it was not. */
void ring_pump_launched(struct ring_pump *pump, uint64_t number);

/*
 * From here on the device may be in a call that nobody tells of. A link that breaks and that it has
 * something to send on is the communicator's failure. A rank that only waits for messages learns of
 * it from the others, or by its deadline.
 */
void ring_pump_be_captured(struct ring_pump *pump, struct ring_comm_failure *failure);

/*
 * All calls have ended: waits until what they had to send is sent, as nobody has asked that for
 * those of graphs, or nothing comes of it; at most until then. Any thread.
 */
void ring_pump_finish(const struct ring_pump *pump, uint64_t until_ms);

/* Whether all is sent that a call, which has ended, had to send. For the thread that runs calls. */
bool ring_pump_has_sent(struct ring_pump *pump, uint64_t number);

/*
 * The channel whose link, with its failed_peer, broke some time ago while a call needs it; NULL:
 * none did. For the same thread.
 */
const struct ring_channel *ring_pump_broken(const struct ring_pump *pump);

/* The communicator has failed: nothing more is moved. Accepts NULL, as all below. */
void ring_pump_stop(struct ring_pump *pump);

size_t ring_pump_bytes(const struct ring_pump *pump);

/* The thread has ended when this returns. */
void ring_pump_end(struct ring_pump *pump);

/* The device has let go of the memory, or will: see base/held.h. */
void ring_pump_free(struct ring_pump *pump);

#endif
