/* SPDX-License-Identifier: MIT */
/*
 * How a rank waits while nothing moves: it looks again at once, then yields the CPU between looks,
 * then sleeps on its doorbell (doorbell.h). How long it does each is a pure function of who shares
 * the CPUs.
 */
#ifndef RING_WAIT_H
#define RING_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* Who shares the CPUs with a rank, and what a look costs it. */
struct ring_load {
	bool crowded; /* its machine has more ranks than CPUs */
	bool sockets; /* some link on which it waits is a socket */
	bool paced;   /* links are paced */
};

/* Empty looks in a row, before a rank sleeps. */
struct ring_patience {
	int spins;   /* one after the other, */
	int yields;  /* then with a sched_yield() between them, */
	uint64_t ms; /* and all of it no longer than about this; 0: no limit */
};

struct ring_patience ring_patience_choose(const struct ring_load *load);

/* Lets the CPU do something else for some cycles, between two looks. */
static inline void ring_wait_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield");
#endif
}

/*
 * Pauses after `looks` empty looks in a row.
 *
 * near     the ranks that it waits for may need this CPU
 * returns  false, at once, if the rank should sleep instead
 */
bool ring_wait_awake(const struct ring_patience *patience, int looks, bool near);

/* Whether a rank that has looked for `ms` should sleep, however often it looked. */
bool ring_wait_is_long(const struct ring_patience *patience, uint64_t ms);

#endif
