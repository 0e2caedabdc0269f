/* SPDX-License-Identifier: MIT */
/*
 * What the root of a meeting decides, as pure functions of what the ranks said: whether they agree,
 * who sits where, which transport each edge of the ring takes. root.c acts on it.
 */
#ifndef RING_MEETING_H
#define RING_MEETING_H

#include "describe.h"

/* Who sits where, and how each position reaches the next. */
struct ring_arrangement {
	int *order;      /* order[size]: position -> rank */
	int *transports; /* transports[size]: from a position to the next; -1 if alone */
	bool *crowded;   /* crowded[size], by position */
	int turns; /* the most ranks that take turns on a CPU of any machine, as the tuning's */
	struct ring_tuning tuning;
	enum ring_path path;
};

/*
 * Whether a newcomer fits with the ranks that are here. peers[size], is_here[size]: by rank; size
 * is the first one's. returns 0; RING_EMISMATCH naming both that disagree
 */
int ring_meeting_admit(const struct ring_peer *peers, const bool *is_here, int size,
		       const struct ring_description *newcomer, struct ring_failure *failure);

/* returns 0; RING_EMISMATCH naming option, rank and both values. schedules[size], by rank */
int ring_meeting_agree(const struct ring_config *schedules, int size, struct ring_failure *failure);

/* Computes the order. returns 0; RING_ENOMEM. Free with ring_arrangement_free. */
int ring_arrangement_make(struct ring_arrangement *arrangement, const struct ring_peer *peers,
			  int size, const struct ring_config *schedule);
void ring_arrangement_free(struct ring_arrangement *arrangement); /* all zero is allowed */

/*
 * Chooses transports, path and tuning without the transports of `masked`.
 * returns 0; RING_ENOTSUP naming two neighbours that no transport links
 */
int ring_arrangement_link(struct ring_arrangement *arrangement, const struct ring_peer *peers,
			  int size, const struct ring_config *schedule, uint32_t masked,
			  struct ring_failure *failure);

/* One position's view of it; order is the arrangement's. */
struct ring_placement ring_arrangement_place(const struct ring_arrangement *arrangement,
					     const struct ring_peer *peers, int size, int position);

/* "rank 3", "ranks 3, 5..7": those without has[rank]. Returns how many. */
#define RING_RANKS_TEXT 128
int ring_ranks_lacking(const bool *has, int size, char text[RING_RANKS_TEXT]);

#endif
