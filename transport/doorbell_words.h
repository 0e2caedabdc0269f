/* SPDX-License-Identifier: MIT */
/*
 * The words of a doorbell, and their memory order, so that nobody sleeps through a change:
 *
 *	mover      stores what the sleeper looks at    fence    loads the state
 *	sleeper    stores the state                    fence    loads what movers store
 *
 * One of them must see the other's store: one of the fences comes first, and what was stored before
 * it is seen after the other (C11, 7.17.3, 11). A mover may store a lot and fence once, and then
 * look at many doorbells.
 *
 * Ranks move all the time and seldom sleep. So where the doorbells of both are light, the sleeper
 * has the kernel fence all running threads, wherever they are (membarrier(2),
 * MEMBARRIER_CMD_GLOBAL_EXPEDITED), and the mover only keeps its order: if the sleeper does not see
 * its store, the mover has yet to load the state. (A mover's fence waits until the line is its own.
 * 8 B on 2 ranks: 0.13 -> 0.12 us.)
 *
 * The kernel may leave out a CPU (Linux 6.18): one on which this process was the last to run before
 * it was registered, and only kernel threads have run since. A mover's store there reaches memory
 * within a microsecond, but after the sleeper has looked. So the first sleep after an announcement
 * is a nap of RING_NAP_MS; then the sleeper looks once more.
 */
#ifndef RING_DOORBELL_WORDS_H
#define RING_DOORBELL_WORDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "board.h"

enum ring_sleep { RING_AWAKE = 0, RING_SLEEPS_ON_WORD = 1, RING_SLEEPS_ON_EVENT = 2 };

/* A doorbell's shared words, and its owner's board. */
struct ring_doorbell_page {
	_Atomic uint32_t state; /* enum ring_sleep of the owner; its waker resets it */
	_Atomic uint32_t word;  /* futex; changes with every waking */
	_Atomic uint32_t light; /* the owner has movers fenced, and can be fenced itself */
	struct ring_board board;
};

/* How many in this process hold a mapping, and which file it is, if it is a peer's bell. */
struct ring_doorbell_holders {
	atomic_int count;
	struct ring_doorbell_page *page;
	int event_fd;
	uint64_t device, inode;
	struct ring_doorbell_holders *next; /* of all that are mapped */
};

static inline void ring_doorbell_hold(struct ring_doorbell_holders *holders)
{
	atomic_fetch_add_explicit(&holders->count, 1, memory_order_relaxed);
}

/* returns whether nobody else holds it: then all their uses of it are over */
static inline bool ring_doorbell_let_go(struct ring_doorbell_holders *holders)
{
	int held = atomic_fetch_sub_explicit(&holders->count, 1,
					     memory_order_acq_rel); /* pairs with: let_go */
	return held == 1;
}

/* Owner: says how it is about to sleep; fence, and look once more. Returns the word to sleep on. */
static inline uint32_t ring_doorbell_say_sleep(struct ring_doorbell_page *page, enum ring_sleep how)
{
	/* The word first: read later, it might be one that a waker has changed already. */
	uint32_t word = atomic_load_explicit(&page->word, memory_order_relaxed);
	atomic_store_explicit(&page->state, how, memory_order_relaxed);
	return word;
}

/* Owner: the same, with the fence. */
static inline uint32_t ring_doorbell_announce(struct ring_doorbell_page *page, enum ring_sleep how)
{
	uint32_t word = ring_doorbell_say_sleep(page, how);
	atomic_thread_fence(memory_order_seq_cst); /* pairs with: published */
	return word;
}

/* Owner, before others look at what it stores: its doorbell is light. */
static inline void ring_doorbell_lighten(struct ring_doorbell_page *page)
{
	atomic_store_explicit(&page->light, 1, memory_order_relaxed);
}

/* Known to a rank that has seen what the owner stored. */
static inline bool ring_doorbell_is_light(const struct ring_doorbell_page *page)
{
	return atomic_load_explicit(&page->light, memory_order_relaxed) != 0;
}

/* Owner: nobody needs to wake it any more. */
static inline void ring_doorbell_awake(struct ring_doorbell_page *page)
{
	atomic_store_explicit(&page->state, RING_AWAKE, memory_order_relaxed);
}

/* Mover: has stored what sleepers may look at, and looks at doorbells next. */
static inline void ring_doorbell_published(void)
{
	atomic_thread_fence(memory_order_seq_cst); /* pairs with: announce */
}

/* The same, if the mover's doorbell and those that it looks at are light. */
static inline void ring_doorbell_published_lightly(void)
{
	atomic_signal_fence(memory_order_seq_cst); /* pairs with: the kernel's of who announces */
}

/* Mover, who has published: false if nobody needs to be woken. */
static inline bool ring_doorbell_is_awaited(const struct ring_doorbell_page *page)
{
	return atomic_load_explicit(&page->state, memory_order_relaxed) != RING_AWAKE;
}

/*
 * Mover, who has published: returns how the owner must be woken, RING_AWAKE if it need not be. Only
 * one of several movers is told to wake it.
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
