/* SPDX-License-Identifier: MIT */
/*
 * The gate against late writes. The sender of a link may write straight into the receiver's memory.
 * When a call fails, the receiver must know that nobody does any more before it gives the memory
 * back to the program. So the sender writes only while it is inside, and the receiver can close the
 * gate for good and see whether the sender still is.
 *
 *	sender                                  receiver
 *	inside = 1                              revoked = 1
 *	look at revoked: go back if it is set   look at inside: wait if it is set
 *	write
 *	inside = 0
 *
 * One of the two must see the other's store, else the sender would write while the receiver
 * believes it is alone. Only a total order of both stores and both loads promises that (Dekker's
 * algorithm), so they are seq_cst. A receiver that finds the sender outside must also see what it
 * wrote: leaving is a release, looking an acquire, which seq_cst includes.
 *
 * A sender may be stopped while it is inside, for longer than the receiver waits. So it looks again
 * before each system call that writes, and when it leaves: what it read after the gate was revoked
 * may be anything.
 *
 * Whether a sender that stays inside is dead is told by its connection, not here.
 */
#ifndef RING_GATE_H
#define RING_GATE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/slot_place.h"

/* Open, and all zero, when it is made. */
struct ring_gate {
	alignas(RING_CACHE_LINE) _Atomic uint32_t inside;  /* sender writes */
	alignas(RING_CACHE_LINE) _Atomic uint32_t revoked; /* receiver writes */
};

/* Sender: goes out; what it wrote before is complete. */
static inline void ring_gate_leave(struct ring_gate *gate)
{
	atomic_store_explicit(&gate->inside, 0, memory_order_release); /* pairs with: look inside */
}

/* Sender: goes in; false if the receiver has revoked, then it is outside. */
static inline bool ring_gate_enter(struct ring_gate *gate)
{
	atomic_store_explicit(&gate->inside, 1,
			      memory_order_seq_cst); /* pairs with: gate look inside */
	bool revoked = atomic_load_explicit(&gate->revoked,
					    memory_order_seq_cst); /* pairs with: revoke */
	if (revoked)
		ring_gate_leave(gate);
	return !revoked;
}

/*
 * Sender, inside: whether the receiver has revoked since. If false, everything read so far was
 * still the receiver's.
 */
static inline bool ring_gate_was_revoked(const struct ring_gate *gate)
{
	atomic_thread_fence(memory_order_acquire); /* pairs with: revoke */
	return atomic_load_explicit(&gate->revoked, memory_order_relaxed);
}

/* Receiver: lets nobody in any more; false while the sender is still inside. */
static inline bool ring_gate_revoke(struct ring_gate *gate)
{
	atomic_store_explicit(&gate->revoked, 1,
			      memory_order_seq_cst); /* pairs with: gate look at revoked */
	return !atomic_load_explicit(&gate->inside,
				     memory_order_seq_cst); /* pairs with: enter, leave */
}

#endif
