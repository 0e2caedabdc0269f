/* SPDX-License-Identifier: MIT */
/* Spinning, yielding, and when to sleep instead; see wait.h. */
#include "wait.h"

#include <limits.h>
#include <sched.h>

#include "base/waits.h"

/*
 * A rank that sleeps may wake late: a CPU without work halts, and the host may run a virtual
 * machine's sleeping CPUs one at a time. So a rank looks at memory for some milliseconds, mostly
 * between yields, which keep the CPU from nobody. A look at a socket is a system call, forty times
 * as dear, but waking takes as long as forty of those. (4 ranks on 2 CPUs, 1 MiB, sleeping behind
 * 10 -> 300 yields: 0.90 -> 0.74 ms.) With more ranks than CPUs, ranks that spin keep the CPU from
 * those they wait for. So they spin for a moment only, and only if those are on other CPUs. (64 KiB
 * in shared memory, 4 ranks on 2 CPUs: 12.1 -> 8.7 us.) Paced links show what a rank has time for
 * while it waits, so it sleeps.
 */
struct ring_patience ring_patience_choose(const struct ring_load *load)
{
	if (load->paced)
		return (struct ring_patience){0};
	if (load->sockets)
		return load->crowded ? (struct ring_patience){.yields = RING_SOCKET_YIELDS}
				     : (struct ring_patience){.spins = RING_SOCKET_LOOKS};
	return (struct ring_patience){.spins = load->crowded ? RING_FAR_LOOKS : RING_MEMORY_LOOKS,
				      .yields = INT_MAX - RING_MEMORY_LOOKS,
				      .ms = RING_LOOKING_MS};
}

bool ring_wait_awake(const struct ring_patience *patience, int looks, bool near)
{
	if (looks >= patience->spins + patience->yields)
		return false;
	if (looks >= patience->spins || near)
		sched_yield();
	else
		ring_wait_relax();
	return true;
}

bool ring_wait_is_long(const struct ring_patience *patience, uint64_t ms)
{
	return patience->ms > 0 && ms >= patience->ms;
}
