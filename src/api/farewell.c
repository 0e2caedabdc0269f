/* SPDX-License-Identifier: MIT */
/*
 * The list of communicators that live, and what happens to them at exit; see farewell.h.
 *
 * Other threads may still run then, even inside a call, and a signal handler may have called
 * exit() in the middle of anything: nothing is freed or allocated, and nothing is waited for
 * longer than the RING_EXIT_ waits. A communicator that is inside a call gets no goodbye: that
 * call has not returned, and the others learn of a death.
 */
#include "farewell.h"

#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/fork_lock.h"
#include "base/waits.h"
#include "comm/comm.h"

RING_FORK_LOCK(living)

static struct ring_comm *first_living;
static pid_t process; /* whose list it is: a child that did not come by fork() has a copy */

void ring_farewell_add(struct ring_comm *comm)
{
	living_take();
	process = getpid();
	comm->next_living = first_living;
	comm->living = &first_living;
	if (first_living)
		first_living->living = &comm->next_living;
	first_living = comm;
	living_give();
}

void ring_farewell_remove(struct ring_comm *comm)
{
	living_take();
	if (comm->living)
		*comm->living = comm->next_living;
	if (comm->living && comm->next_living)
		comm->next_living->living = comm->living;
	comm->living = NULL;
	living_give();
}

static bool is_idle(const struct ring_comm *comm, uint64_t until_ms)
{
	while (ring_flag_is_raised(&comm->run.busy) && ring_clock_ms() < until_ms)
		nanosleep(&(struct timespec){.tv_nsec = RING_EXIT_LOOK_NS}, NULL);
	return !ring_flag_is_raised(&comm->run.busy);
}

static bool is_mine(const struct ring_comm *comm)
{
	return comm->team.fork_generation == ring_fork_generation() && comm->links.lanes;
}

/*
 * Goodbyes first, all of them, and then the answers. returns whether no communicator is inside a
 * call
 */
static bool part(uint64_t now_ms)
{
	bool all = true;
	for (struct ring_comm *comm = first_living; comm; comm = comm->next_living) {
		bool idle = is_mine(comm) && is_idle(comm, now_ms + RING_EXIT_CALL_MS);
		if (idle)
			ring_lanes_part(comm->links.lanes, now_ms + RING_EXIT_GOODBYE_MS);
		all = all && (idle || !is_mine(comm));
	}
	for (struct ring_comm *comm = first_living; comm; comm = comm->next_living)
		if (is_mine(comm))
			ring_lanes_await_parted(comm->links.lanes, now_ms + RING_EXIT_GOODBYE_MS);
	return all;
}

/* After the program's own handlers, which may still destroy communicators, or make calls. */
__attribute__((destructor)) static void say_farewell(void)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += RING_EXIT_LOCK_S;
	if (process != getpid() || pthread_mutex_timedlock(&living, &until))
		return;
	if (first_living && part(ring_clock_ms()))
		ring_fd_part();
	living_give();
}
