/* SPDX-License-Identifier: MIT */
/* Spinning, yielding, and when to sleep instead; see wait.h. */
#include "wait.h"

#include <sched.h>

/*
 * Memory is looked at until a wake-up would have cost as much. A look at a socket is a system call,
 * forty times as dear. With more ranks than CPUs those that spin keep the CPU from those that are
 * waited for. Paced links are for seeing what a rank has time for while it waits, so it sleeps.
 */
struct ring_patience ring_patience_choose(const struct ring_load *load)
{
	if (load->paced)
		return (struct ring_patience){0};
	if (load->crowded)
		return (struct ring_patience){.yields = 10};
	return (struct ring_patience){.spins = load->sockets ? 500 : 20000};
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield");
#endif
}

bool ring_wait_awake(const struct ring_patience *patience, int looks, bool near)
{
	if (looks >= patience->spins + patience->yields)
		return false;
	if (looks >= patience->spins || near)
		sched_yield();
	else
		relax();
	return true;
}
