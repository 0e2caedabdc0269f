/* SPDX-License-Identifier: MIT */
/*
 * The atomic words that ranks share, and their memory order: a first-in first-out queue of slots
 * between one sender and one receiver, and the words of a doorbell. But for the gate, whose words are in
 * gate.h, nobody else needs an atomic to move data.
 *
 *	sender                       shared memory                        receiver
 *	                 +--------------------------------------+
 *	                 | depth, slot_bytes     set once       |
 *	                 +--------------------------------------+
 *	publish -------> | tail, bytes[depth]    sender writes  | <------- see_tail, one load
 *	                 +--------------------------------------+
 *	see_head, ------>| head                  receiver       | <------- release
 *	one load         |                       writes         |
 *	                 +--------------------------------------+
 *	memcpy --------> | slot 0 | slot 1 | ... | slot depth-1 | -------> read in place
 *	                 +--------------------------------------+
 *
 * tail counts messages published, head messages released: head <= tail <= head + depth, and message
 * k lies in slot k % depth. Each row is a cache line of its own, so an idle look costs one load of
 * a line that stays in the reader's cache until it changes. An end that closes sets the top bit of
 * its counter; one word then says both how far it came and that it moves no further.
 *
 * Two things have to be ordered. The content of a slot comes before the counter that hands it over:
 * store-release and load-acquire. And nobody sleeps through a change: a mover stores its counter,
 * then loads the doorbell's state; a sleeper stores the state, then loads the counter; one of them
 * must see the other's store. Only a total order of the four promises that, so they are seq_cst,
 * which includes release and acquire. Fences would do as well, but ThreadSanitizer does not know
 * them.
 *
 * The peer may be broken: what it wrote is checked before it is used, and read only once.
 */
#ifndef RING_SLOT_FIFO_H
#define RING_SLOT_FIFO_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gate.h"
#include "transport.h"

#define RING_FIFO_CLOSED (UINT64_C(1) << 63)

/* The shared part. All zero but for depth and slot_bytes when it is made. */
struct ring_fifo {
	alignas(RING_CACHE_LINE) uint64_t slot_bytes; /* largest message */
	uint32_t depth;
	_Atomic uint32_t notices; /* of regions, that the sender put on the connection */
	alignas(RING_CACHE_LINE) _Atomic uint64_t tail;
	_Atomic uint32_t bytes[RING_DEPTH_MAX]; /* size of message k at k % depth; tail orders them */
	alignas(RING_CACHE_LINE) _Atomic uint64_t head;
	struct ring_gate gate; /* of the receiver's memory */
	alignas(RING_CACHE_LINE) unsigned char slots[];
};

/* One end's private view. Sizes are copies, because the peer could change the shared ones. */
struct ring_fifo_end {
	struct ring_fifo *fifo;
	unsigned depth;
	size_t slot_bytes;
	uint64_t mine;   /* the counter this end writes */
	uint64_t theirs; /* the other end's, as last seen */
	bool closed;     /* the other end moves no further than theirs */
};

/* Slots begin on cache lines. */
static inline size_t ring_fifo_stride(size_t slot_bytes)
{
	return (slot_bytes + RING_CACHE_LINE - 1) / RING_CACHE_LINE * RING_CACHE_LINE;
}

/* Memory that a FIFO takes; 0 if depth or slot_bytes are outside what it can be. */
static inline size_t ring_fifo_memory(unsigned depth, size_t slot_bytes)
{
	if (depth < 1 || depth > RING_DEPTH_MAX || slot_bytes < 1 || slot_bytes > UINT32_MAX)
		return 0;
	return sizeof(struct ring_fifo) + depth * ring_fifo_stride(slot_bytes);
}

static inline unsigned char *ring_fifo_slot(const struct ring_fifo_end *end, uint64_t message)
{
	return end->fifo->slots + message % end->depth * ring_fifo_stride(end->slot_bytes);
}

/* Takes in the other end's counter; false if it went back or too far: the peer is broken. */
static inline bool ring_fifo_take_in(struct ring_fifo_end *end, uint64_t counter, uint64_t limit)
{
	uint64_t count = counter & ~RING_FIFO_CLOSED;
	if (count - end->theirs > limit - end->theirs)
		return false;
	end->theirs = count;
	end->closed = counter & RING_FIFO_CLOSED;
	return true;
}

/* Sender: looks how far the receiver came; false if its counter is nonsense. */
static inline bool ring_fifo_see_head(struct ring_fifo_end *end)
{
	uint64_t head = atomic_load_explicit(&end->fifo->head,
					     memory_order_seq_cst); /* pairs with: release */
	return ring_fifo_take_in(end, head, end->mine);
}

/* Sender: whether message `mine` has a slot, as far as is known without looking. */
static inline bool ring_fifo_has_room(const struct ring_fifo_end *end)
{
	return end->mine - end->theirs < end->depth;
}

/* Sender: message `mine` lies in its slot, to be handed over by the next publish. */
static inline void ring_fifo_fill(struct ring_fifo_end *end, size_t bytes)
{
	atomic_store_explicit(&end->fifo->bytes[end->mine % end->depth], (uint32_t)bytes,
			      memory_order_relaxed);
	end->mine++;
}

/* Sender: hands over the messages before `mine`. Ring the doorbell next. */
static inline void ring_fifo_publish(struct ring_fifo_end *end)
{
	atomic_store_explicit(&end->fifo->tail, end->mine,
			      memory_order_seq_cst); /* pairs with: see_tail; bell look */
}

/* Receiver: looks how far the sender came; false if its counter is nonsense. */
static inline bool ring_fifo_see_tail(struct ring_fifo_end *end)
{
	uint64_t tail = atomic_load_explicit(&end->fifo->tail,
					     memory_order_seq_cst); /* pairs with: publish */
	return ring_fifo_take_in(end, tail, end->mine + end->depth);
}

/* Receiver: size of a message that was seen; 0 if the sender says what cannot be. */
static inline size_t ring_fifo_message_bytes(const struct ring_fifo_end *end, uint64_t message)
{
	uint32_t bytes = atomic_load_explicit(&end->fifo->bytes[message % end->depth],
					      memory_order_relaxed);
	return bytes <= end->slot_bytes ? bytes : 0;
}

/* Receiver: gives the slot of message `mine` back. Ring the doorbell next, if it was missed. */
static inline void ring_fifo_release(struct ring_fifo_end *end)
{
	end->mine++;
	atomic_store_explicit(&end->fifo->head, end->mine,
			      memory_order_seq_cst); /* pairs with: see_head; bell look */
}

/* Sender: says how many notices of regions lie on the connection, or did. */
static inline void ring_fifo_notify(struct ring_fifo *fifo, uint32_t notices)
{
	atomic_store_explicit(&fifo->notices, notices,
			      memory_order_release); /* pairs with: notices; orders the connection */
}

/* Receiver: how many there are; they are not less than that. */
static inline uint32_t ring_fifo_notices(struct ring_fifo *fifo)
{
	return atomic_load_explicit(&fifo->notices, memory_order_acquire); /* pairs with: notify */
}

/*
 * Receiver, who has released a slot and then seen that the sender sleeps: was it missed? A sender that
 * announced its sleep later has seen the slot. One that did so before has published all it had, so
 * this sees its counter.
 */
static inline bool ring_fifo_was_full(const struct ring_fifo_end *end)
{
	uint64_t tail = atomic_load_explicit(&end->fifo->tail,
					     memory_order_relaxed); /* ordered by: bell look */
	return (tail & ~RING_FIFO_CLOSED) - (end->mine - 1) >= end->depth;
}

/* Either end: this was all. Ring the doorbell next. */
static inline void ring_fifo_close(struct ring_fifo_end *end, bool outgoing)
{
	_Atomic uint64_t *counter = outgoing ? &end->fifo->tail : &end->fifo->head;
	atomic_store_explicit(counter, end->mine | RING_FIFO_CLOSED,
			      memory_order_seq_cst); /* pairs with: as publish or release */
}

enum ring_sleep { RING_AWAKE = 0, RING_SLEEPS_ON_WORD = 1, RING_SLEEPS_ON_EVENT = 2 };

/* A doorbell's shared words. */
struct ring_doorbell_page {
	_Atomic uint32_t state; /* enum ring_sleep of the owner; whoever is to wake it resets it */
	_Atomic uint32_t word;  /* futex; changes with every waking */
};

/* Owner: says how it is about to sleep; look once more afterwards. Returns the word to sleep on. */
static inline uint32_t ring_doorbell_announce(struct ring_doorbell_page *page, enum ring_sleep how)
{
	/* The word first: read later, it might be one that a waker has changed already. */
	uint32_t word = atomic_load_explicit(&page->word,
					     memory_order_relaxed); /* ordered by: the next store */
	atomic_store_explicit(&page->state, how,
			      memory_order_seq_cst); /* pairs with: bell look, then see_tail, see_head */
	return word;
}

/* Owner: nobody needs to wake it any more. */
static inline void ring_doorbell_awake(struct ring_doorbell_page *page)
{
	atomic_store_explicit(&page->state, RING_AWAKE, memory_order_relaxed);
}

/* Mover: false if nobody needs to be woken. */
static inline bool ring_doorbell_is_awaited(const struct ring_doorbell_page *page)
{
	return atomic_load_explicit(&page->state, memory_order_seq_cst) !=
	       RING_AWAKE; /* pairs with: bell announce */
}

/*
 * Mover: returns how the owner must be woken, RING_AWAKE if it need not be. Of several movers one
 * is told to.
 */
static inline enum ring_sleep ring_doorbell_look(struct ring_doorbell_page *page)
{
	if (!ring_doorbell_is_awaited(page))
		return RING_AWAKE;
	uint32_t state = atomic_exchange_explicit(&page->state, RING_AWAKE, memory_order_relaxed);
	if (state != RING_AWAKE)
		atomic_fetch_add_explicit(&page->word, 1, memory_order_relaxed);
	return state;
}

#endif
