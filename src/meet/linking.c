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
	struct ring_placement placement = ring_arrangement_place(&root->arrangement, root->peers,
								 root->size, position);
	placement.attempt = root->attempt;
	placement.masked = root->masked;
	placement.shunned = root->shunned[member->rank];
	struct ring_wire wire = ring_wire_writer(letter, ring_placement_bytes(root->size));
	ring_wire_placement(&wire, &placement);
	ring_root_post(member, RING_LETTER_PLACE, letter, wire.at);
}

/* Sends placements, BEHIND_MAX at once; goes on when sockets have taken some. */
void ring_root_place_more(struct ring_root *root)
{
	if (root->stage != RING_PLACED || root->placed == root->size || root->behind >= BEHIND_MAX)
		return;
	unsigned char *letter = malloc(ring_placement_bytes(root->size));
	if (!letter) {
		ring_root_fail(root, RING_ENOMEM, RING_RANK_ROOT,
			       "the root has no memory for %d placements", root->size);
		return;
	}
	while (root->placed < root->size && root->behind < BEHIND_MAX) {
		int position = root->placed++;
		place(root->by_rank[root->arrangement.order[position]], position, letter);
	}
	free(letter);
}

/* Begins an attempt with the transports that are left. */
static void begin_attempt(struct ring_root *root)
{
	struct ring_failure failure = {0};
	int err = ring_arrangement_link(&root->arrangement, root->peers, root->size,
					&root->schedules[0], root->masked, &failure);
	if (err) {
		ring_root_fail(root, err, RING_RANK_ROOT, "%s%s%s", failure.text,
			       root->why[0] ? ": " : "", root->why);
		return;
	}
	root->stage = RING_PLACED;
	memset(root->is_ready, 0, (size_t)root->size * sizeof(*root->is_ready));
	root->failing = 0;
	root->placed = 0;
	ring_root_place_more(root);
}

static void try_again(void *owner)
{
	struct ring_root *root = ((struct settling *)owner)->root;
	if (!(root->failing & ~root->masked)) {
		ring_root_fail(root, RING_ENOTSUP, RING_RANK_ROOT, "%s", root->why);
		return;
	}
	root->masked |= root->failing;
	root->attempt++;
	ring_log(RING_WARN, "meeting at %s: again, because %s", root->address, root->why);
	begin_attempt(root);
}

static bool all_are_ready(const struct ring_root *root)
{
	return !memchr(root->is_ready, false, (size_t)root->size);
}

/*
 * A link between two hosts failed. Which of them is to blame is not known, nor which of their ranks
 * are the next to be linked: all do without that transport in their next meetings, too.
 */
static void shun(struct ring_root *root, int rank, int peer, uint32_t transports)
{
	for (int other = 0; other < root->size; other++)
		if (ring_same_host(&root->peers[other], &root->peers[rank]) ||
		    ring_same_host(&root->peers[other], &root->peers[peer]))
			root->shunned[other] |= transports;
}

void ring_root_take_readiness(struct ring_member *member, struct ring_wire *wire)
{
	struct ring_root *root = member->root;
	struct ring_readiness readiness;
	ring_wire_readiness(wire, &readiness);
	if (!ring_wire_done(wire) || readiness.peer >= root->size) {
		ring_root_fail(root, RING_EPEER, member->rank, "rank %d reported nonsense",
			       member->rank);
	} else if (root->stage != RING_PLACED || !member->described ||
		   readiness.attempt != root->attempt) {
		return; /* most likely it had not yet heard of the later attempt */
	} else if (!readiness.failed) {
		root->is_ready[member->rank] = true;
		if (all_are_ready(root))
			ring_root_conclude(root, &(struct ring_news){0});
	} else {
		if (!root->failing) {
			memcpy(root->why, readiness.why, sizeof(root->why));
			ring_watcher_alarm(root->watcher, &root->settling, try_again,
					   RING_RELINK_MS);
		}
		root->failing |= readiness.failed;
		shun(root, member->rank, readiness.peer, readiness.failed);
	}
}

void ring_root_begin_linking(struct ring_root *root)
{
	struct ring_failure failure = {0};
	int err = ring_meeting_agree(root->schedules, root->size, &failure);
	if (err) {
		ring_root_fail(root, err, RING_RANK_ROOT, "%s", failure.text);
		return;
	}
	err = ring_arrangement_make(&root->arrangement, root->peers, root->size);
	if (err) {
		ring_root_fail(root, err, RING_RANK_ROOT, "the root cannot order %d ranks: %s",
			       root->size, ring_strerror(err));
		return;
	}
	begin_attempt(root);
}
