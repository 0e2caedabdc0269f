/* SPDX-License-Identifier: MIT */
/*
 * Advances what was started until all of it is done, and decides how to wait when nothing moves;
 * see progress.h. explain.c says what went wrong.
 */
#include "progress.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/waits.h"
#include "comm.h"
#include "explain.h"

static bool all_done(const struct ring_comm *comm)
{
	if (comm->run.pairs.busy || (comm->run.pairs.connecting && comm->run.pairs.wanted))
		return false;
	for (const struct ring_channel *c = comm->run.active; c; c = c->next)
		if (!ring_channel_is_done(c))
			return false;
	return true;
}

/* 0, or the failure that ends the current call. */
static int ended(const struct ring_comm *comm)
{
	return ring_comm_failed_in(&comm->failure, comm->run.current->turn);
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
	return moves;
}

/* Fails the call if it waits for a neighbour that said goodbye some time ago. */
static int check_departed(struct ring_comm *comm)
{
	if (!ring_comm_departed(&comm->failure, -1, RING_LEFT_MS))
		return 0;
	for (const struct ring_channel *c = comm->run.active; c; c = c->next) {
		int step, peer = ring_channel_is_done(c) ? -1 : ring_channel_waits_for(c, &step);
		if (peer >= 0 && ring_comm_departed(&comm->failure, peer, RING_LEFT_MS))
			return ring_explain_departed(comm, c, peer);
	}
	return 0;
}

/*
 * Room for every descriptor that the call could sleep on, and the doorbell's. NULL without memory.
 */
static struct pollfd *room_for_fds(struct ring_comm *comm)
{
	int needed = ring_pairs_max_fds(&comm->run.pairs) + 1;
	for (const struct ring_channel *c = comm->run.active; c; c = c->next)
		needed += 2 * c->route_count + 1;
	if (needed > comm->run.fd_room) {
		struct pollfd *fds = realloc(comm->run.fds, (size_t)needed * sizeof(*fds));
		if (!fds)
			return NULL;
		comm->run.fds = fds;
		comm->run.fd_room = needed;
	}
	return comm->run.fds;
}

static int gather_fds(const struct ring_comm *comm, int *timeout_ms)
{
	int nfds = 0;
	for (const struct ring_channel *c = comm->run.active; c; c = c->next)
		nfds += ring_channel_wait_fds(c, comm->run.fds + nfds);
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

static bool is_collective(const struct ring_comm *comm)
{
	return comm->run.active && !ring_kind_is_message(comm->run.current->kind);
}

/* The neighbour that says it is in another collective than this rank; -1: none does. */
static int find_other_call(struct ring_comm *comm, struct ring_record *theirs)
{
	return is_collective(comm)
		       ? ring_comm_find_other_call(&comm->failure,
						   &comm->run.active->call.opening.record, theirs)
		       : -1;
}

static bool is_idle(struct ring_comm *comm, int moves)
{
	struct ring_record theirs;
	return moves == 0 && !all_done(comm) && !ended(comm) && find_other_call(comm, &theirs) < 0;
}

/* A sleeper is woken by devices, too. returns 0, or the failure */
static int ask_devices(struct ring_comm *comm)
{
	for (struct ring_channel *channel = comm->run.active; channel; channel = channel->next) {
		int err = ring_channel_ask(channel, &comm->links.bell);
		if (err)
			return ring_explain_device(&comm->failure, channel->device, err);
	}
	return 0;
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
	for (const struct ring_channel *c = comm->run.active; c; c = c->next)
		ring_channel_arm(c);
	int err = ask_devices(comm), moves = err ? err : advance(comm);
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
	const struct ring_channel *channel = ring_explain_unfinished(comm->run.active);
	if (is_crowded(comm))
		return !channel || !ring_channel_waits_elsewhere(channel);
	int step, peer = channel ? ring_channel_waits_for(channel, &step) : -1;
	const struct ring_link *link = peer < 0 ? NULL : ring_channel_link(channel, peer, false);
	return link && ring_link_is_near(link);
}

/*
 * If ranks make different calls, no call ends, and somewhere on the ring two neighbours differ.
 * Mostly a record tells one of them. If not, each rank that has waited long tells both neighbours
 * which call it is in, and they compare. Until then *timeout_ms is lowered to that time. returns 0,
 * or the failure
 */
static int ask_neighbours(struct ring_comm *comm, struct ring_waiting *waiting, uint64_t waited_ms,
			  int *timeout_ms)
{
	struct ring_channel *channel = comm->run.active;
	if (!is_collective(comm))
		return 0;
	channel->failed_peer = find_other_call(comm, &channel->theirs);
	if (channel->failed_peer >= 0)
		return ring_explain_broken(comm, channel, RING_EMISMATCH);
	int rest_ms = waited_ms < RING_ASK_MS ? RING_ASK_MS - (int)waited_ms : 0;
	if (rest_ms > 0 && (*timeout_ms < 0 || *timeout_ms > rest_ms))
		*timeout_ms = rest_ms;
	if (rest_ms == 0 && !waiting->told && comm->links.lanes)
		ring_lanes_tell(comm->links.lanes, &channel->call.opening.record);
	waiting->told = rest_ms == 0;
	return 0;
}

/* Nothing moved: looks again at once, yields, or sleeps. returns moves, or the failure */
static int wait_a_little(struct ring_comm *comm, struct ring_waiting *waiting)
{
	const struct ring_config *config = &comm->team.config;
	int looks = waiting->looks++;
	int err = ended(comm);
	if (err)
		return err;
	bool asks = looks % RING_NEAR_LOOKS == RING_NEAR_LOOKS - 1 || is_crowded(comm);
	bool near = asks && looks < comm->team.patience.spins && waits_for_near(comm);
	bool awake = ring_wait_awake(&comm->team.patience, looks, near);
	if (awake && looks % RING_CLOCK_LOOKS != RING_CLOCK_LOOKS - 1)
		return 0;
	uint64_t now = ring_clock_ms();
	if (!waiting->deadline_ms && config->call_timeout_ms > 0)
		waiting->deadline_ms = now + config->call_timeout_ms; /* it never waited before */
	if (waiting->deadline_ms && now >= waiting->deadline_ms)
		return ring_explain_time_out(comm);
	if (!waiting->since_ms)
		waiting->since_ms = now;
	int timeout_ms = waiting->deadline_ms ? (int)(waiting->deadline_ms - now) : -1;
	err = check_departed(comm);
	if (!err)
		err = ask_neighbours(comm, waiting, now - waiting->since_ms, &timeout_ms);
	if (err || (awake && !ring_wait_is_long(&comm->team.patience, now - waiting->since_ms)))
		return err;
	return sleep_once(comm, timeout_ms);
}

int ring_progress_run(struct ring_comm *comm, struct ring_waiting *waiting)
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
