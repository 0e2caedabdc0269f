/* SPDX-License-Identifier: MIT */
/* The root's decisions; see meeting.h. Nothing here waits, sends or remembers. */
#include "meeting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose/agreement.h"
#include "order.h"

/* ---- do they agree? ---- */

int ring_meeting_admit(const struct ring_peer *peers, const bool *is_here, int size,
		       const struct ring_description *newcomer, struct ring_failure *failure)
{
	char mine[RING_PEER_NAME], other[RING_PEER_NAME];
	int rank = newcomer->peer.rank, first = 0;
	ring_peer_name(&newcomer->peer, mine);
	if (newcomer->size != size) {
		while (!is_here[first])
			first++;
		return ring_fail(failure, RING_EMISMATCH, "%s expects %d ranks, but %s expects %d",
				 mine, newcomer->size, ring_peer_name(&peers[first], other), size);
	}
	if (!is_here[rank])
		return 0;
	return ring_fail(failure, RING_EMISMATCH, "%s and %s both claim to be rank %d",
			 ring_peer_name(&peers[rank], other), mine, rank);
}

int ring_meeting_agree(const struct ring_config *schedules, int size, struct ring_failure *failure)
{
	int err = 0;
	for (int rank = 1; rank < size && !err; rank++)
		err = ring_config_compare(&schedules[rank], rank, &schedules[0], failure);
	return err;
}

/* ---- who sits where, and how are they linked? ---- */

/* Notes the most ranks that take turns on a CPU. */
static bool is_crowded(struct ring_arrangement *arrangement, const struct ring_peer *peers,
		       int size, int rank)
{
	int turns = ring_order_turns(peers, size, rank);
	if (turns > arrangement->turns)
		arrangement->turns = turns;
	return turns > RING_TURNS_NONE;
}

/* Neighbours are mostly on one host, so one answer serves until the host changes. */
static void find_crowds(struct ring_arrangement *arrangement, const struct ring_peer *peers,
			int size)
{
	const int *order = arrangement->order;
	for (int p = 0; p < size; p++) {
		if (p > 0 && ring_same_host(&peers[order[p - 1]], &peers[order[p]]))
			arrangement->crowded[p] = arrangement->crowded[p - 1];
		else
			arrangement->crowded[p] = is_crowded(arrangement, peers, size, order[p]);
	}
}

/* Where sums are in the order of ranks, positions are too. returns 0; RING_ENOMEM */
static int find_order(const struct ring_peer *peers, int size, const struct ring_config *schedule,
		      int *order)
{
	for (int rank = 0; rank < size; rank++)
		order[rank] = rank;
	return schedule->order[0] ? 0 : ring_order_compute(peers, size, order);
}

int ring_arrangement_make(struct ring_arrangement *arrangement, const struct ring_peer *peers,
			  int size, const struct ring_config *schedule)
{
	size_t count = (size_t)size;
	*arrangement = (struct ring_arrangement){
		.order = calloc(count, sizeof(*arrangement->order)),
		.transports = calloc(count, sizeof(*arrangement->transports)),
		.crowded = calloc(count, sizeof(*arrangement->crowded)),
	};
	int err = RING_ENOMEM;
	if (arrangement->order && arrangement->transports && arrangement->crowded)
		err = find_order(peers, size, schedule, arrangement->order);
	if (err) {
		ring_arrangement_free(arrangement);
		return err;
	}
	find_crowds(arrangement, peers, size);
	return 0;
}

void ring_arrangement_free(struct ring_arrangement *arrangement)
{
	free(arrangement->order);
	free(arrangement->transports);
	free(arrangement->crowded);
	*arrangement = (struct ring_arrangement){0};
}

/* The stamps of paced links mean something only where there is one clock. */
static int check_clock(const struct ring_peer *peers, int size, struct ring_failure *failure)
{
	for (int rank = 0; rank < size; rank++) {
		if (ring_same_machine(&peers[rank], &peers[0]))
			continue;
		char here[RING_PEER_NAME], there[RING_PEER_NAME];
		return ring_fail(failure, RING_ENOTSUP,
				 "RING_LINK is for the ranks of one machine, and %s is not known "
				 "to be on that of %s",
				 ring_peer_name(&peers[rank], there),
				 ring_peer_name(&peers[0], here));
	}
	return 0;
}

/* The ring goes through every host and every kind of link there is. */
static enum ring_path find_path(const struct ring_arrangement *arrangement,
				const struct ring_peer *peers, int size)
{
	const int *order = arrangement->order;
	bool memory = false, sockets = false, wires = false, hosts = false;
	for (int p = 0; size > 1 && p < size; p++) {
		const struct ring_transport *transport = ring_transports[arrangement->transports[p]];
		memory = memory || transport->kind == RING_REACH_MEMORY;
		sockets = sockets || transport->kind == RING_REACH_SOCKET;
		wires = wires || transport->kind == RING_REACH_WIRE;
		hosts = hosts || !ring_same_host(&peers[order[p]], &peers[order[(p + 1) % size]]);
	}
	if (!sockets && !wires)
		return RING_PATH_MEMORY;
	if (memory)
		return RING_PATH_MIXED;
	if (!sockets)
		return RING_PATH_VERBS;
	return hosts || wires ? RING_PATH_NETWORK : RING_PATH_SOCKET;
}

int ring_arrangement_link(struct ring_arrangement *arrangement, const struct ring_peer *peers,
			  int size, const struct ring_config *schedule, uint32_t masked,
			  struct ring_failure *failure)
{
	const char *allowed = schedule->transport[0] ? schedule->transport : NULL;
	int err = schedule->link[0] && size > 1 ? check_clock(peers, size, failure) : 0;
	if (err)
		return err;
	for (int p = 0; p < size; p++) {
		const struct ring_peer *from = &peers[arrangement->order[p]];
		const struct ring_peer *to = &peers[arrangement->order[(p + 1) % size]];
		int transport = -1;
		if (size > 1)
			transport = ring_transport_choose(from, to, allowed, masked);
		if (size > 1 && transport < 0) {
			char sender[RING_PEER_NAME], receiver[RING_PEER_NAME];
			return ring_fail(failure, RING_ENOTSUP,
					 "no transport%s%s reaches from %s to %s",
					 allowed ? " of RING_TRANSPORT=" : "",
					 allowed ? allowed : "", ring_peer_name(from, sender),
					 ring_peer_name(to, receiver));
		}
		arrangement->transports[p] = transport;
	}
	enum ring_path path = find_path(arrangement, peers, size);
	arrangement->tuning = ring_tuning_make(schedule, path == RING_PATH_MEMORY, size);
	arrangement->tuning.turns = arrangement->turns;
	arrangement->path = schedule->link[0] ? RING_PATH_NETWORK : path;
	return 0;
}

struct ring_placement ring_arrangement_place(const struct ring_arrangement *arrangement,
					     const struct ring_peer *peers, int size, int position)
{
	int after = (position + 1) % size, before = (position + size - 1) % size;
	return (struct ring_placement){
		.size = size,
		.position = position,
		.order = arrangement->order,
		.next = peers[arrangement->order[after]],
		.prev = peers[arrangement->order[before]],
		.next_transport = arrangement->transports[position],
		.prev_transport = arrangement->transports[before],
		.crowded = arrangement->crowded[position],
		.tuning = arrangement->tuning,
		.path = arrangement->path,
	};
}

/* ---- naming ranks ---- */

int ring_ranks_lacking(const bool *has, int size, char text[RING_RANKS_TEXT])
{
	char list[RING_RANKS_TEXT - 16] = "";
	size_t length = 0;
	int count = 0;
	for (int rank = 0; rank < size; rank++) {
		if (has[rank])
			continue;
		int last = rank;
		while (last + 1 < size && !has[last + 1])
			last++;
		count += last - rank + 1;
		const char *comma = length ? ", " : "";
		if (length > sizeof(list) - 40) {
			if (strcmp(list + length - 3, "...") != 0)
				length += (size_t)sprintf(list + length, "%s...", comma);
		} else if (last == rank) {
			length += (size_t)sprintf(list + length, "%s%d", comma, rank);
		} else {
			length += (size_t)sprintf(list + length, "%s%d%s%d", comma, rank,
						  last == rank + 1 ? ", " : "..", last);
		}
		rank = last;
	}
	snprintf(text, RING_RANKS_TEXT, "rank%s %s", count == 1 ? "" : "s", list);
	return count;
}
