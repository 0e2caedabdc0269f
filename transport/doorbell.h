/* SPDX-License-Identifier: MIT */
/*
 * A rank's doorbell: how others wake it when it sleeps. A word in shared memory for futex(2) and an
 * eventfd for poll(2), so that shared memory and sockets can be awaited at once.
 *
 * Nothing is lost: a sleeper announces itself, looks once more, then sleeps; a waker publishes its
 * change, then looks for sleepers. The orderings are in doorbell_words.h.
 */
#ifndef RING_DOORBELL_H
#define RING_DOORBELL_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct ring_board;
struct ring_doorbell_page; /* the shared words; doorbell_words.h */
struct ring_doorbell_holders;

/* A doorbell: this rank's, a peer's that was mapped, or one that is shared within this process. */
struct ring_bell {
	struct ring_doorbell_page *page;
	/* memfd of the page, sealed; -1 where it need not, or cannot, be passed on */
	int memory_fd;
	int event_fd;
	struct ring_doorbell_holders *holders; /* of page and event_fd */
	bool fenced; /* own bell: the kernel fences this process when others ask for it */
	bool light;  /* own bell: it has the others fenced before it sleeps */
};

/* Makes a doorbell. returns 0; RING_ENOMEM; RING_ESYSTEM */
int ring_bell_create(struct ring_bell *bell);

/*
 * Makes a bell light (doorbell_words.h) if the kernel can: announcing takes some microseconds then.
 * For an owner that seldom sleeps, before others look at what it stores.
 */
void ring_bell_lighten(struct ring_bell *bell);

/* Another hold on it, for a thread of the same process: each is closed by itself, in any order. */
void ring_bell_hold(const struct ring_bell *bell, struct ring_bell *held);

/*
 * Maps a doorbell whose two descriptors a peer passed; checks seals, size and kind first. A bell
 * that is mapped already, for another link with that peer, is held once more: many ranks have few
 * descriptors for each other. Takes both descriptors on success. returns 0; RING_EPEER if they are
 * anything else; RING_ENOMEM; RING_ESYSTEM
 */
int ring_bell_map(struct ring_bell *bell, int memory_fd, int event_fd);

/* Frees it, or this hold on it; accepts all zero with both fds -1. */
void ring_bell_close(struct ring_bell *bell);

/* Wakes the owner if it sleeps; cheap if it does not. Call after the change was stored. */
void ring_bell_ring(const struct ring_bell *bell);

/* The same after ring_doorbell_published() of doorbell_words.h, for looking at many doorbells. */
void ring_bell_wake(const struct ring_bell *bell);

/* Whether ringing would wake somebody. Call after the change was stored. */
bool ring_bell_is_awaited(const struct ring_bell *bell);

/* The owner's board, in the same memory. */
struct ring_board *ring_bell_board(const struct ring_bell *bell);

/*
 * Sleeping, owner only:
 *
 *	ticket = ring_bell_announce(bell, nfds > 0);
 *	if (nothing to do after looking once more)
 *		ring_bell_sleep(bell, ticket, fds, nfds, timeout_ms);
 *	ring_bell_awake(bell);
 *
 * fds are further descriptors to wait for, with room behind them for one more. They may be none:
 * then it is a futex. It may sleep again in between, unless somebody rang: then it does not.
 */
uint32_t ring_bell_announce(struct ring_bell *bell, bool with_fds);
void ring_bell_sleep(struct ring_bell *bell, uint32_t ticket, struct pollfd *fds, int nfds,
		     int timeout_ms);
void ring_bell_awake(struct ring_bell *bell);

/*
 * How long the owner may sleep at first, if others move lightly (doorbell_words.h); then it must
 * look again. 0 if it may sleep at once for any time
 */
int ring_bell_nap_ms(const struct ring_bell *bell);

#endif
