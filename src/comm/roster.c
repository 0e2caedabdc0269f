/* SPDX-License-Identifier: MIT */
/* Everybody's descriptions, around the ring; see roster.h. */
#include "roster.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/waits.h"
#include "explain.h"
#include "start.h"
#include "meet/describe.h"

static unsigned char *card_of(const struct ring_roster *roster, int rank)
{
	return roster->cards + (size_t)rank * RING_CARD_BYTES;
}

int ring_roster_begin(struct ring_roster *roster, struct ring_comm *comm, uint64_t deadline_ms,
		      struct ring_failure *failure)
{
	*roster = (struct ring_roster){
		.cards = calloc((size_t)comm->team.size, RING_CARD_BYTES),
		.deadline_ms = deadline_ms,
	};
	if (!roster->cards)
		return ring_fail(failure, RING_ENOMEM, "rank %d: no memory for %d ranks",
				 comm->team.rank, comm->team.size);
	/* it may have to be named */
	comm->team.peers[comm->team.placement.next.rank] = comm->team.placement.next;
	comm->team.peers[comm->team.placement.prev.rank] = comm->team.placement.prev;
	struct ring_wire wire = ring_wire_writer(card_of(roster, comm->team.rank), RING_CARD_BYTES);
	ring_wire_card(&wire, &comm->team.peers[comm->team.rank]);
	struct ring_record record = ring_record_make(RING_KIND_ALL_GATHER, 0, RING_CARD_BYTES,
						     RING_UINT8, -1, -1);
	ring_start_gathering(comm, roster->cards, RING_CARD_BYTES, &record);
	return 0;
}

static void explain(struct ring_comm *comm, int err)
{
	char who[RING_RANK_TEXT];
	int peer = comm->links.channels[0].failed_peer;
	ring_team_rank_text(&comm->team, peer, who);
	if (err == RING_EPEER || err == RING_EMISMATCH)
		ring_comm_fail(&comm->failure, RING_EPEER, peer,
			       "the link between rank %d and %s broke, or carried what no plan "
			       "sends, while the communicator was being created",
			       comm->team.rank, who);
	else
		ring_explain_device(&comm->failure, comm->links.channels[0].device, err);
}

static void time_out(struct ring_comm *comm)
{
	char who[RING_RANK_TEXT];
	int step = -1, peer = ring_channel_waits_for(&comm->links.channels[0], &step);
	ring_comm_fail(&comm->failure, RING_ETIMEDOUT, peer,
		       "rank %d waited for %s, to hear who the others are, until %d ms were over; "
		       "is it stopped?",
		       comm->team.rank, ring_team_rank_text(&comm->team, peer, who),
		       comm->team.config.create_timeout_ms);
}

static void read_cards(const struct ring_roster *roster, struct ring_comm *comm)
{
	for (int rank = 0; rank < comm->team.size; rank++) {
		struct ring_peer *peer = &comm->team.peers[rank];
		struct ring_wire wire = ring_wire_reader(card_of(roster, rank), RING_CARD_BYTES);
		*peer = (struct ring_peer){0};
		ring_wire_card(&wire, peer);
		if (!ring_wire_done(&wire) || peer->rank != rank)
			ring_comm_fail(&comm->failure, RING_EPEER, rank,
				       "what rank %d tells about itself makes no sense", rank);
	}
}

/* The creation was no call: nothing that was sent for it is counted. */
static void forget_counters(struct ring_channel *channel)
{
	for (int i = 0; i < channel->route_count; i++) {
		struct ring_route *route = &channel->routes[i];
		route->sent_messages = route->sent_bytes = 0;
		route->received_messages = route->received_bytes = 0;
	}
}

/* A rank that finds nothing may sleep. returns as ring_channel_advance() */
static int advance(struct ring_channel *channel)
{
	int moves = ring_channel_advance(channel);
	if (moves != 0)
		return moves;
	ring_channel_arm(channel);
	return ring_channel_advance(channel);
}

int ring_roster_step(struct ring_roster *roster, struct ring_comm *comm,
		     struct ring_failure *failure)
{
	struct ring_channel *channel = &comm->links.channels[0];
	uint64_t now = ring_clock_ms();
	int moves = 1;
	while (moves > 0 && !roster->broken)
		moves = advance(channel);
	if (moves < 0) {
		roster->broken = moves;
		roster->broken_ms = now;
	}
	bool done = !roster->broken && ring_channel_is_done(channel);
	bool lost = roster->broken && now >= roster->broken_ms + RING_NEWS_MS;
	bool late = !done && now >= roster->deadline_ms;
	if (done)
		read_cards(roster, comm);
	else if (lost)
		explain(comm, roster->broken);
	else if (late)
		time_out(comm);

	/*
	 * Ranks that are through may fail in their first call: that ends no creation that can go
	 * on.
	 */
	int err = lost || late ? ring_comm_failed(&comm->failure)
			       : ring_comm_failed_in(&comm->failure, 0);
	if (err)
		return ring_fail(failure, err, "%s", ring_comm_error(comm));
	if (!done)
		return RING_EAGAIN;
	forget_counters(channel);
	return 0;
}

int ring_roster_poll(const struct ring_roster *roster, const struct ring_comm *comm,
		     struct pollfd *fds, int *ms)
{
	uint64_t now = ring_clock_ms(), until = roster->deadline_ms;
	int count = 0;
	fds[count++] = (struct pollfd){.fd = comm->links.bell.event_fd, .events = POLLIN};
	if (!roster->broken)
		count += ring_channel_wait_fds(&comm->links.channels[0], fds + count);
	else if (roster->broken_ms + RING_NEWS_MS < until)
		until = roster->broken_ms + RING_NEWS_MS;
	uint64_t left = until > now ? until - now : 0;
	if (left < (uint64_t)*ms)
		*ms = (int)left;
	return count;
}

void ring_roster_free(struct ring_roster *roster)
{
	free(roster->cards);
	*roster = (struct ring_roster){0};
}
