/* SPDX-License-Identifier: MIT */
/*
 * The root while ranks link: gives each its place, hears whether its links stand, and lets all
 * start again without a transport that failed; see root.c for what comes before and after.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/waits.h"
#include "order.h"
#include "root_parts.h"

#define BEHIND_MAX 64 /* placements that wait for their sockets at once; each has the whole order */

static void place(struct ring_member *member, int position, unsigned char *letter)
{
	struct ring_root *root = member->root;
	const struct ring_linking *linking = &root->linking;
	const struct ring_seats *seats = &root->seats;
	struct ring_placement placement = ring_arrangement_place(&linking->arrangement, seats->peers,
								 seats->size, position);
	placement.attempt = linking->attempt;
	placement.masked = linking->masked;
	placement.shunned = seats->shunned[member->rank];
	struct ring_wire wire = ring_wire_writer(letter, ring_placement_bytes(seats->size));
	ring_wire_placement(&wire, &placement);
	ring_root_post(member, RING_LETTER_PLACE, letter, wire.at);
}

/* Sends placements, BEHIND_MAX at once; goes on when sockets have taken some. */
void ring_root_place_more(struct ring_root *root)
{
	struct ring_linking *linking = &root->linking;
	const struct ring_seats *seats = &root->seats;
	if (root->stage != RING_PLACED || linking->placed == seats->size ||
	    linking->behind >= BEHIND_MAX)
		return;
	unsigned char *letter = malloc(ring_placement_bytes(seats->size));
	if (!letter) {
		ring_root_fail(root, RING_ENOMEM, RING_RANK_ROOT,
			       "the root has no memory for %d placements", seats->size);
		return;
	}
	while (linking->placed < seats->size && linking->behind < BEHIND_MAX) {
		int position = linking->placed++;
		place(seats->by_rank[linking->arrangement.order[position]], position, letter);
	}
	free(letter);
}

/* Begins an attempt with the transports that are left. */
static void begin_attempt(struct ring_root *root)
{
	struct ring_linking *linking = &root->linking;
	struct ring_seats *seats = &root->seats;
	struct ring_failure failure = {0};
	int err = ring_arrangement_link(&linking->arrangement, seats->peers, seats->size,
					&seats->schedules[0], linking->masked, &failure);
	if (err) {
		ring_root_fail(root, err, RING_RANK_ROOT, "%s%s%s", failure.text,
			       linking->why[0] ? ": " : "", linking->why);
		return;
	}
	root->stage = RING_PLACED;
	memset(seats->is_ready, 0, (size_t)seats->size * sizeof(*seats->is_ready));
	linking->failing = 0;
	linking->placed = 0;
	ring_root_place_more(root);
}

static void try_again(void *owner)
{
	struct ring_linking *linking = owner;
	struct ring_root *root = linking->root;
	if (!(linking->failing & ~linking->masked)) {
		ring_root_fail(root, RING_ENOTSUP, RING_RANK_ROOT, "%s", linking->why);
		return;
	}
	linking->masked |= linking->failing;
	linking->attempt++;
	ring_log(RING_WARN, "meeting at %s: again, because %s", root->address, linking->why);
	begin_attempt(root);
}

static bool all_are_ready(const struct ring_seats *seats)
{
	return !memchr(seats->is_ready, false, (size_t)seats->size);
}

/*
 * A link between two hosts failed. Which of them is to blame is not known, nor which of their ranks
 * are the next to be linked: in their next meetings, too, all do without that transport.
 */
static void shun(struct ring_seats *seats, int rank, int peer, uint32_t transports)
{
	for (int other = 0; other < seats->size; other++)
		if (ring_same_host(&seats->peers[other], &seats->peers[rank]) ||
		    ring_same_host(&seats->peers[other], &seats->peers[peer]))
			seats->shunned[other] |= transports;
}

void ring_root_take_readiness(struct ring_member *member, struct ring_wire *wire)
{
	struct ring_root *root = member->root;
	struct ring_linking *linking = &root->linking;
	struct ring_readiness readiness;
	ring_wire_readiness(wire, &readiness);
	if (!ring_wire_done(wire) || readiness.peer >= root->seats.size) {
		ring_root_fail(root, RING_EPEER, member->rank, "rank %d reported nonsense",
			       member->rank);
	} else if (root->stage != RING_PLACED || !member->described ||
		   readiness.attempt != linking->attempt) {
		return; /* most likely it had not yet heard of the later attempt */
	} else if (!readiness.failed) {
		root->seats.is_ready[member->rank] = true;
		if (all_are_ready(&root->seats))
			ring_root_conclude(root, &(struct ring_news){0});
	} else {
		if (!linking->failing) {
			memcpy(linking->why, readiness.why, sizeof(linking->why));
			ring_watcher_alarm(root->watcher, linking, try_again, RING_RELINK_MS);
		}
		linking->failing |= readiness.failed;
		shun(&root->seats, member->rank, readiness.peer, readiness.failed);
	}
}

void ring_root_begin_linking(struct ring_root *root)
{
	const struct ring_seats *seats = &root->seats;
	struct ring_failure failure = {0};
	int err = ring_meeting_agree(seats->schedules, seats->size, &failure);
	if (err) {
		ring_root_fail(root, err, RING_RANK_ROOT, "%s", failure.text);
		return;
	}
	err = ring_arrangement_make(&root->linking.arrangement, seats->peers, seats->size,
				    &seats->schedules[0]);
	if (err) {
		ring_root_fail(root, err, RING_RANK_ROOT, "the root cannot order %d ranks: %s",
			       seats->size, ring_strerror(err));
		return;
	}
	begin_attempt(root);
}
