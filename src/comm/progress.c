/* SPDX-License-Identifier: MIT */
/*
 * Advances what was started until all of it is done, and decides how to wait when nothing moves;
 * see progress.h. explain.c says what went wrong.
 */
#include "progress.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/waits.h"
#include "explain.h"
#include "mixed.h"

static bool is_collective(const struct ring_comm *comm)
{
	return comm->run.current && !ring_kind_is_message(comm->run.current->kind);
}

static bool are_done(const struct ring_channel *channel)
{
	while (channel && ring_channel_is_done(channel))
		channel = channel->next;
	return !channel;
}

/* The device carries the call out. */
static bool is_kernels(const struct ring_comm *comm)
{
	return comm->run.current && comm->run.current->on.kernel;
}

static bool awaits_kernel(const struct ring_comm *comm)
{
	struct ring_record theirs;
	int peer;
	return is_kernels(comm) &&
	       ring_kernels_ended(&comm->kernels, comm->run.current, &peer, &theirs) == RING_EAGAIN;
}

static bool all_done(const struct ring_comm *comm)
{
	const struct ring_pairs *pairs = &comm->run.pairs;
	if (!comm->run.current)
		return comm->run.leaves;
	if (!is_collective(comm))
		return !pairs->busy;
	return !(pairs->connecting && pairs->wanted) && are_done(comm->run.active) &&
	       !awaits_kernel(comm);
}

/* 0, or the failure that ends the current call; where there are only messages, all end those. */
static int ended(const struct ring_comm *comm)
{
	const struct ring_call *current = comm->run.current;
	if (current)
		return ring_comm_failed_in(&comm->failure, current->turn);
	return comm->run.pairs.busy ? ring_comm_failed(&comm->failure) : 0;
}

/* Lets a thread that wants to read counters do so. */
static void let_look(struct ring_run *run)
{
	while (ring_flag_is_raised(&run->wanted)) {
		pthread_mutex_unlock(&run->lock);
		sched_yield();
		pthread_mutex_lock(&run->lock);
	}
}

static int attend_to_queue(struct ring_comm *comm)
{
	struct ring_run *run = &comm->run;
	if (!run->attend)
		return 0;
	let_look(run);
	return run->attend(comm, &run->leaves);
}

void ring_progress_attend(struct ring_comm *comm, ring_attend *attend)
{
	comm->run.attend = attend;
}

/* Advances everything once. returns the moves, or the failure */
static int advance(struct ring_comm *comm)
{
	int moves = 0;
	if (ring_pairs_are_at_work(&comm->run.pairs)) {
		struct ring_pairs_trouble trouble = {0};
		moves = ring_pairs_step(&comm->run.pairs, &trouble);
		if (moves < 0)
			return ring_explain_pairs(comm, &trouble, moves);
	}
	for (struct ring_channel *channel = comm->run.active; channel; channel = channel->next) {
		int moved = ring_channel_advance(channel);
		if (moved < 0)
			return ring_explain_broken(comm, channel, moved);
		moves += moved;
	}
	const struct ring_channel *broken = awaits_kernel(comm) ? ring_kernels_broken(&comm->kernels)
								: NULL;
	if (broken)
		return ring_explain_broken(comm, broken, RING_EPEER);
	return moves + attend_to_queue(comm);
}

/* A socket ends behind all that came over it, however long that takes. */
static bool link_tells(const struct ring_channel *channel, int peer)
{
	const struct ring_link *link = ring_channel_link(channel, peer, false);
	if (!link)
		link = ring_channel_link(channel, peer, true);
	return link && link->transport->kind == RING_REACH_SOCKET;
}

static int find_departed(struct ring_comm *comm, const struct ring_channel *channel)
{
	for (; channel; channel = channel->next) {
		int step, peer = -1;
		if (!ring_channel_is_done(channel))
			peer = ring_channel_waits_for(channel, &step);
		if (peer >= 0 && ring_comm_departed(&comm->failure, peer, RING_LEFT_MS) &&
		    !link_tells(channel, peer))
			return ring_explain_departed(comm, channel, peer);
	}
	return 0;
}

/* A device waits for all ranks, and may still be at work on what one sent before it left. */
static int explain_departed_neighbour(struct ring_comm *comm)
{
	const struct ring_placement *placement = &comm->team.placement;
	const int neighbours[] = {placement->next.rank, placement->prev.rank};
	const uint64_t sequence = comm->run.current->record.sequence;
	for (int i = 0; i < 2; i++)
		if (ring_comm_departed(&comm->failure, neighbours[i], RING_LEFT_MS) &&
		    !ring_comm_has_come_to(&comm->failure, neighbours[i], sequence))
			return ring_explain_departed(comm, NULL, neighbours[i]);
	return 0;
}

/*
 * Fails the calls if one waits for a neighbour that said goodbye some time ago. What that sent
 * before may have come since the last look, if others had the CPU. returns moves, or the failure
 */
static int check_departed(struct ring_comm *comm)
{
	if (!ring_comm_departed(&comm->failure, -1, RING_LEFT_MS))
		return 0;
	int moves = advance(comm);
	if (moves != 0)
		return moves;
	if (awaits_kernel(comm))
		return explain_departed_neighbour(comm);
	int err = find_departed(comm, comm->run.active);
	return err ? err : find_departed(comm, comm->run.pairs.busy);
}

static int max_fds(const struct ring_channel *channel)
{
	int count = 0;
	for (; channel; channel = channel->next)
		count += 2 * channel->route_count + 1;
	return count;
}

/*
 * Room for every descriptor that the calls could sleep on, and the doorbell's. NULL without memory.
 */
static struct pollfd *room_for_fds(struct ring_comm *comm)
{
	int needed = ring_pairs_max_fds(&comm->run.pairs) + max_fds(comm->run.active) +
		     max_fds(comm->run.pairs.busy) + 1;
	if (needed > comm->run.fd_room) {
		struct pollfd *fds = realloc(comm->run.fds, (size_t)needed * sizeof(*fds));
		if (!fds)
			return NULL;
		comm->run.fds = fds;
		comm->run.fd_room = needed;
	}
	return comm->run.fds;
}

static int wait_fds(const struct ring_channel *channel, struct pollfd *fds)
{
	int nfds = 0;
	for (; channel; channel = channel->next)
		nfds += ring_channel_wait_fds(channel, fds + nfds);
	return nfds;
}

static int gather_fds(const struct ring_comm *comm, int *timeout_ms)
{
	int nfds = wait_fds(comm->run.active, comm->run.fds);
	nfds += wait_fds(comm->run.pairs.busy, comm->run.fds + nfds);
	return nfds + ring_pairs_wait_fds(&comm->run.pairs, comm->run.fds + nfds, timeout_ms);
}

/* Sleeps on what the last look has left: that may have added a link. */
static void sleep_for(struct ring_comm *comm, uint32_t ticket, bool with_fds, int timeout_ms)
{
	int nfds = gather_fds(comm, &timeout_ms);
	assert(with_fds == (nfds > 0)); /* links come and go with moves only */
	(void)with_fds;
	ring_bell_sleep(&comm->links.bell, ticket, comm->run.fds, nfds, timeout_ms);
}

/* What this rank says it is in. returns false: no collective that others could tell from theirs */
static bool own_record(const struct ring_comm *comm, struct ring_record *own)
{
	const bool told = is_kernels(comm) || (is_collective(comm) && comm->run.active);
	if (told)
		*own = ring_mixed_told(comm, is_kernels(comm)
						     ? &comm->run.current->record
						     : &comm->run.active->call.opening.record);
	return told;
}

/* The neighbour that says it is in another collective than this rank; -1: none does. */
static int find_other_call(struct ring_comm *comm, struct ring_record *theirs)
{
	struct ring_record own;
	return own_record(comm, &own) ? ring_comm_find_other_call(&comm->failure, &own, theirs) : -1;
}

static bool is_idle(struct ring_comm *comm, int moves)
{
	struct ring_record theirs;
	return moves == 0 && !all_done(comm) && !ended(comm) && find_other_call(comm, &theirs) < 0;
}

/* Links and devices also wake a sleeper. returns 0, or the failure */
static int arm(struct ring_comm *comm, struct ring_channel *channel)
{
	for (; channel; channel = channel->next) {
		ring_channel_arm(channel);
		int err = ring_channel_ask(channel, &comm->links.bell);
		if (err)
			return ring_explain_device(&comm->failure, channel->device, err);
	}
	return 0;
}

static int arm_kernel(struct ring_comm *comm)
{
	int err = awaits_kernel(comm)
			  ? ring_kernels_ask(&comm->kernels, comm->run.current, &comm->links.bell)
			  : 0;
	return err ? ring_explain_device(&comm->failure, comm->kernels.device, err) : 0;
}

/* Announces, looks once more, sleeps. returns moves of the last look, or the failure */
static int sleep_once(struct ring_comm *comm, int timeout_ms)
{
	int lost = ring_explain_lost(&comm->failure);
	if (lost)
		return lost;
	if (!room_for_fds(comm))
		return ring_explain_no_memory(&comm->failure);
	ring_lookout_wake(&comm->links.lookout);
	int longest_ms = timeout_ms, nap_ms = ring_bell_nap_ms(&comm->links.bell);
	bool with_fds = gather_fds(comm, &longest_ms) > 0;
	uint32_t ticket = ring_bell_announce(&comm->links.bell, with_fds);
	ring_pairs_announce(&comm->run.pairs);
	int err = arm(comm, comm->run.active);
	if (!err)
		err = arm(comm, comm->run.pairs.busy);
	if (!err)
		err = arm_kernel(comm);
	int moves = err ? err : advance(comm);
	if (ring_comm_departed(&comm->failure, -1, 0))
		timeout_ms = RING_LEFT_MS;
	if (nap_ms > 0 && (timeout_ms < 0 || timeout_ms > nap_ms) && is_idle(comm, moves)) {
		sleep_for(comm, ticket, with_fds, nap_ms);
		moves = advance(comm);
	}
	if (is_idle(comm, moves))
		sleep_for(comm, ticket, with_fds, timeout_ms);
	ring_bell_awake(&comm->links.bell);
	return moves;
}

/* Ranks share CPUs, and boards tell where the others are. */
static bool is_crowded(const struct ring_comm *comm)
{
	return comm->team.placement.crowded && comm->team.placement.path == RING_PATH_MEMORY;
}

/*
 * Whether a rank that must move next was last seen on this CPU, or may be there: spinning would
 * keep the CPU from it until this rank sleeps. That happens where another program is busy on the
 * other CPUs, and where a message woke a sleeper next to its sender.
 */
static bool waits_for_near(const struct ring_comm *comm)
{
	const struct ring_channel *channel = ring_explain_unfinished(comm);
	if (is_crowded(comm))
		return !channel || !ring_channel_waits_elsewhere(channel);
	int step, peer = channel ? ring_channel_waits_for(channel, &step) : -1;
	const struct ring_link *link = peer < 0 ? NULL : ring_channel_link(channel, peer, false);
	return link && ring_link_is_near(link);
}

/* If others may find by this rank's call that the communicator is mixed, they soon shall. */
static int ask_ms(const struct ring_comm *comm)
{
	const struct ring_call *call = comm->run.current;
	return call->device->apart && !call->on.kernel && !comm->run.mixed ? RING_ASK_APART_MS
									   : RING_ASK_MS;
}

/*
 * If ranks make different calls, no call ends, and somewhere on the ring two neighbours differ.
 * Mostly a record tells one of them. If not, each rank that has waited long tells both neighbours
 * which call it is in, and they compare. Until then *timeout_ms is lowered to that time. returns 0,
 * the failure, or RING_EMISMATCH: the call is to begin anew
 */
static int ask_neighbours(struct ring_comm *comm, struct ring_waiting *waiting, uint64_t waited_ms,
			  int *timeout_ms)
{
	struct ring_record own, theirs;
	if (!own_record(comm, &own))
		return 0;
	int peer = find_other_call(comm, &theirs);
	if (peer >= 0 && ring_mixed_found(comm, &own, &theirs))
		return comm->run.anew ? RING_EMISMATCH : 0;
	if (peer >= 0)
		return ring_explain_other_call(comm, &own, peer, &theirs);
	const int after_ms = ask_ms(comm);
	int rest_ms = waited_ms < (uint64_t)after_ms ? after_ms - (int)waited_ms : 0;
	if (rest_ms > 0 && (*timeout_ms < 0 || *timeout_ms > rest_ms))
		*timeout_ms = rest_ms;
	if (rest_ms == 0 && !waiting->told && comm->links.lanes)
		ring_lanes_tell(comm->links.lanes, &own);
	waiting->told = rest_ms == 0;
	return 0;
}

/* Lowers *timeout_ms to how long a call may still wait. returns 0, or the failure */
static int check_time(struct ring_comm *comm, struct ring_waiting *waiting, uint64_t now,
		      int *timeout_ms)
{
	const int call_ms = comm->team.config.call_timeout_ms;
	if (call_ms <= 0)
		return 0;
	const struct ring_channel *late = ring_pairs_find_late(&comm->run.pairs, now, call_ms,
							       timeout_ms);
	if (late)
		return ring_explain_time_out(comm, late);
	if (!is_collective(comm) || is_kernels(comm)) /* which look at a clock themselves */
		return 0;
	if (!waiting->deadline_ms) /* it never waited before */
		waiting->deadline_ms = ring_clock_deadline(now, call_ms);
	if (now >= waiting->deadline_ms)
		return ring_explain_time_out(comm, ring_explain_unfinished(comm));
	int rest_ms = (int)(waiting->deadline_ms - now);
	if (*timeout_ms < 0 || *timeout_ms > rest_ms)
		*timeout_ms = rest_ms;
	return 0;
}

/* Otherwise only the program's streams are waited for, and looking changes nothing. */
static bool is_in_call(const struct ring_comm *comm)
{
	return (comm->run.current && !is_kernels(comm)) || ring_explain_unfinished(comm);
}

/* Nothing moved: looks again at once, yields, or sleeps. returns moves, or the failure */
static int wait_a_little(struct ring_comm *comm, struct ring_waiting *waiting)
{
	int looks = waiting->looks++;
	int err = ended(comm);
	if (err)
		return err;
	bool asks = looks % RING_NEAR_LOOKS == RING_NEAR_LOOKS - 1 || is_crowded(comm);
	bool near = asks && looks < comm->team.patience.spins && waits_for_near(comm);
	bool awake = is_in_call(comm) && ring_wait_awake(&comm->team.patience, looks, near);
	if (awake && looks % RING_CLOCK_LOOKS != RING_CLOCK_LOOKS - 1)
		return 0;
	uint64_t now = ring_clock_ms();
	int timeout_ms = -1;
	err = check_time(comm, waiting, now, &timeout_ms);
	if (err)
		return err;
	if (!waiting->since_ms)
		waiting->since_ms = now;
	err = check_departed(comm);
	if (!err)
		err = ask_neighbours(comm, waiting, now - waiting->since_ms, &timeout_ms);
	if (is_in_call(comm))
		ring_tell(comm, &waiting->telling, now - waiting->since_ms, &timeout_ms);
	if (err || (awake && !ring_wait_is_long(&comm->team.patience, now - waiting->since_ms)))
		return err;
	return sleep_once(comm, timeout_ms);
}

static int run(struct ring_comm *comm, struct ring_waiting *waiting)
{
	for (;;) {
		int moves = advance(comm);
		if (moves < 0)
			return moves;
		if (all_done(comm))
			return 0;
		if (moves == 0)
			moves = wait_a_little(comm, waiting);
		if (moves < 0)
			return moves;
		if (moves > 0) {
			waiting->looks = 0;
			waiting->since_ms = 0;
		}
	}
}

int ring_progress_run(struct ring_comm *comm, struct ring_waiting *waiting)
{
	int err = run(comm, waiting);
	ring_tell_end(comm, &waiting->telling);
	return err;
}
