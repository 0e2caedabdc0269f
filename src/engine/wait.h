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

/* Of a rank that shares its CPU, in a row, at others that do not need that one: about a us. */
#define RING_FAR_LOOKS 50

/* Who shares the CPUs with a rank, and what a look costs it. */
struct ring_load {
	bool crowded; /* its machine has more ranks than CPUs */
	bool sockets; /* among the links on which it waits */
	bool paced;   /* links are paced */
};

/* Empty looks in a row, before a rank sleeps. */
struct ring_patience {
	int spins;   /* one after the other, */
	int yields;  /* then with a sched_yield() between them, */
	uint64_t ms; /* and all of them for about so long at most; 0: for any time */
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
 * Pauses after `looks` empty looks in a row. near: whoever is waited for needs this CPU, as far as
 * is known returns   false, at once, if the rank should sleep instead
 */
bool ring_wait_awake(const struct ring_patience *patience, int looks, bool near);

/* Whether a rank that has looked for so long should sleep, however many looks that were. */
bool ring_wait_is_long(const struct ring_patience *patience, uint64_t ms);

#endif
