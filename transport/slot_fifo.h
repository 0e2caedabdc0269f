/* SPDX-License-Identifier: MIT */
/*
 * The atomic words that ranks share, and their memory order: a first-in first-out queue of slots
 * between one sender and one receiver. Only doorbells, gates and boards (doorbell_words.h, gate.h,
 * board.h) have more such words.
 *
 *	sender                       shared memory                        receiver
 *	                 +--------------------------------------+
 *	close ---------> | depth, slot_bytes, ended     set     | <------- see_end, if nothing came
 *	                 |                              once    |
 *	                 +--------------------------------------+
 *	see_head, if --> | head                  receiver       | <------- release
 *	it seems full    |                       writes         |
 *	                 +--------------------------------------+
 *	put -----------> | flag 0, small message 0   sender     | -------> see_message, one load
 *	                 | flag 1, small message 1   writes     |          of the next flag
 *	                 | ...                                  |
 *	                 +--------------------------------------+
 *	memcpy --------> | slot 0 | slot 1 | ... | slot depth-1 | -------> read in place
 *	                 +--------------------------------------+
 *
 * Each row of the first three is a cache line, and a look at a line costs little until the other
 * end writes to it; then it takes a tenth of a microsecond to come over. So a small message lies in
 * the line of its flag, and costs one such transfer; a larger one lies in slot k % depth. The
 * receiver looks at the next flag only, and the sender at head only once it has used the room it
 * knew of.
 *
 * head counts messages released; message k may be put when k < head + depth. Its flag, one word, is
 * its number, k + 1, and its size. What the receiver may find where it looks for flag k is that, or
 * flag k - RING_DEPTH_MAX, or zero as it was made. Numbers have 32 bits, and may wrap: the two that
 * can be there still differ, and as no message is empty, neither is zero.
 *
 * An end that closes says how far it came: the top bit of head, or of `ended`, beside the count.
 *
 * A message comes before its flag, and the end of reading it before head: store-release and
 * load-acquire. That nobody sleeps through a change of a flag, of head or of ended is the
 * doorbell's business.
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

#include "base/slot_place.h"
#include "gate.h"
#include "transport.h"

struct ring_fifo_flag {
	alignas(RING_CACHE_LINE) _Atomic uint64_t word; /* number << 32 | bytes */
	unsigned char small[RING_FIFO_SMALL];           /* the message itself, if it fits */
};

/* The shared part. All zero when it is made, except depth and slot_bytes. */
struct ring_fifo {
	alignas(RING_CACHE_LINE) uint64_t slot_bytes; /* largest message */
	uint32_t depth;
	_Atomic uint32_t notices; /* of regions, that the sender put on the connection */
	_Atomic uint32_t let_go; /* regions that the receiver has, of those it was told to forget */
	_Atomic uint64_t ended;  /* how many messages there are in all, once it is known */
	alignas(RING_CACHE_LINE) _Atomic uint64_t head;
	struct ring_gate gate;                       /* of the receiver's memory */
	struct ring_fifo_flag flags[RING_DEPTH_MAX]; /* message k's is k % RING_DEPTH_MAX */
	alignas(RING_CACHE_LINE) unsigned char slots[];
};

/* One end's private view. Sizes are copies, because the peer could change the shared ones. */
struct ring_fifo_end {
	struct ring_fifo *fifo;
	unsigned depth;
	size_t slot_bytes;
	uint64_t mine;   /* messages that this end has put, or released */
	uint64_t theirs; /* the other end's, as far as was seen */
	bool closed;     /* the other end moves no further than theirs */
};

/* Memory that a FIFO takes; 0 if depth or slot_bytes are outside what it can be. */
static inline size_t ring_fifo_memory(unsigned depth, size_t slot_bytes)
{
	if (depth < 1 || depth > RING_DEPTH_MAX || slot_bytes < 1 || slot_bytes > UINT32_MAX)
		return 0;
	return sizeof(struct ring_fifo) + depth * ring_slot_stride(slot_bytes);
}

static inline struct ring_fifo_flag *ring_fifo_flag(const struct ring_fifo_end *end,
						    uint64_t message)
{
	return &end->fifo->flags[message % RING_DEPTH_MAX];
}

/* Where a message of this many bytes lies. */
static inline unsigned char *ring_fifo_place(const struct ring_fifo_end *end, uint64_t message,
					     size_t bytes)
{
	if (bytes <= RING_FIFO_SMALL)
		return ring_fifo_flag(end, message)->small;
	return end->fifo->slots + ring_slot_offset(end->depth, end->slot_bytes, message, bytes);
}

/*
 * Sender: looks how far the receiver came; false if its counter went back or too far: it is broken.
 */
static inline bool ring_fifo_see_head(struct ring_fifo_end *end)
{
	uint64_t head = atomic_load_explicit(&end->fifo->head,
					     memory_order_acquire); /* pairs with: release */
	uint64_t count = head & ~RING_FIFO_CLOSED;
	if (count - end->theirs > end->mine - end->theirs)
		return false;
	end->theirs = count;
	end->closed = head & RING_FIFO_CLOSED;
	return true;
}

/* Sender: whether message `mine` has a slot, as far as is known without looking. */
static inline bool ring_fifo_has_room(const struct ring_fifo_end *end)
{
	return end->mine - end->theirs < end->depth;
}

/* Sender: hands over message `mine`, which lies in its place. Ring the doorbell next. */
static inline void ring_fifo_put(struct ring_fifo_end *end, size_t bytes)
{
	uint64_t word = (uint64_t)ring_slot_number(end->mine) << 32 | (uint32_t)bytes;
	atomic_store_explicit(&ring_fifo_flag(end, end->mine)->word, word,
			      memory_order_release); /* pairs with: see_message */
	end->mine++;
}

/*
 * Receiver: looks for message `theirs`, which must have a slot. False if the sender wrote something
 * impossible: it is broken. *bytes is 0 if there is nothing yet.
 */
static inline bool ring_fifo_see_message(struct ring_fifo_end *end, size_t *bytes)
{
	uint64_t message = end->theirs;
	uint64_t word = atomic_load_explicit(&ring_fifo_flag(end, message)->word,
					     memory_order_acquire); /* pairs with: put */
	uint32_t number = (uint32_t)(word >> 32);
	*bytes = 0;
	if (number != ring_slot_number(message))
		return word == 0 || number == ring_slot_number(message - RING_DEPTH_MAX);
	*bytes = (uint32_t)word;
	end->theirs++;
	return *bytes > 0 && *bytes <= end->slot_bytes;
}

/* Receiver: looks whether message `theirs` will never come. */
static inline void ring_fifo_see_end(struct ring_fifo_end *end)
{
	uint64_t ended = atomic_load_explicit(&end->fifo->ended,
					      memory_order_relaxed); /* it counts, so no order */
	end->closed = ended == (end->theirs | RING_FIFO_CLOSED);
}

/* Receiver: gives the slot of message `mine` back. Ring the doorbell next, if it was missed. */
static inline void ring_fifo_release(struct ring_fifo_end *end)
{
	end->mine++;
	atomic_store_explicit(&end->fifo->head, end->mine,
			      memory_order_release); /* pairs with: see_head */
}

/* Anybody: how many messages have been given back. */
static inline uint64_t ring_fifo_count_released(const struct ring_fifo *fifo)
{
	return atomic_load_explicit(&fifo->head, memory_order_acquire) & /* pairs with: release */
	       ~RING_FIFO_CLOSED;
}

/* Anybody: how many have been put, of which there are none fewer than the caller knows of. */
static inline uint64_t ring_fifo_count_put(const struct ring_fifo *fifo, unsigned depth)
{
	uint64_t count = ring_fifo_count_released(fifo);
	for (unsigned i = 0; i < depth; i++, count++) {
		uint64_t word = atomic_load_explicit(&fifo->flags[count % RING_DEPTH_MAX].word,
						     memory_order_acquire); /* pairs with: put */
		if ((int32_t)((uint32_t)(word >> 32) - ring_slot_number(count)) < 0)
			break;
	}
	return count;
}

/* Sender: says how many notices of regions lie on the connection, or did. */
static inline void ring_fifo_notify(struct ring_fifo *fifo, uint32_t notices)
{
	atomic_store_explicit(&fifo->notices, notices,
			      /* pairs with: notices; orders the connection */
			      memory_order_release);
}

/* Receiver: how many there are; they are not less than that. */
static inline uint32_t ring_fifo_notices(struct ring_fifo *fifo)
{
	return atomic_load_explicit(&fifo->notices, memory_order_acquire); /* pairs with: notify */
}

/* Receiver: lets go of this many regions, those it was first told to forget. */
static inline void ring_fifo_let_go(struct ring_fifo *fifo, uint32_t regions)
{
	atomic_store_explicit(&fifo->let_go, regions, memory_order_release); /* pairs with: gone */
}

/* Sender: how many those are. */
static inline uint32_t ring_fifo_gone(struct ring_fifo *fifo)
{
	return atomic_load_explicit(&fifo->let_go, memory_order_acquire); /* pairs with: let_go */
}

/*
 * Receiver, who has released a slot and then seen that the sender sleeps: was it missed? A sender
 * that announced its sleep later has seen the slot. One that did so before has put all it had, so
 * this sees the last message that found room before the release.
 */
static inline bool ring_fifo_was_full(const struct ring_fifo_end *end)
{
	uint64_t last = end->mine - 1 + end->depth - 1;
	uint64_t word = atomic_load_explicit(&ring_fifo_flag(end, last)->word,
					     /* ordered by: the bell's fences */
					     memory_order_relaxed);
	return (uint32_t)(word >> 32) == ring_slot_number(last);
}

/* Either end: this was all. Ring the doorbell next. */
static inline void ring_fifo_close(struct ring_fifo_end *end, bool outgoing)
{
	_Atomic uint64_t *counter = outgoing ? &end->fifo->ended : &end->fifo->head;
	atomic_store_explicit(counter, end->mine | RING_FIFO_CLOSED,
			      memory_order_relaxed); /* nobody reads or writes more for it */
}

#endif
