/* SPDX-License-Identifier: MIT */
/*
 * Walks the plans of all ranks and notes what happens in which step. Instead of numbers, memory has
 * the origins of its elements, so the walk shows what the plan does. It does not know how it is
 * shown.
 *
 * Steps are as early as possible: a rank sends an entry in the first step after those in which the
 * entries that it needs were done. What it sends arrives, is added and copied in the same step. In
 * the first one ranks do what needs no other rank. A link has `depth` slots, and a slot is free
 * again in the step after it was emptied.
 */
#ifndef STEPS_WALK_H
#define STEPS_WALK_H

#include <stddef.h>

#include "choice.h"

/*
 * An element: the sum of element `index` of the inputs of `length` ranks, from position `first` on;
 * length 0: none yet
 */
struct steps_value {
	int32_t index;
	int16_t first, length;
};

/* One entry of a plan that moved or added something, or was a signal. */
struct steps_event {
	int rank;
	bool incoming;
	uint64_t index; /* of the entry in its sequence */
	struct ring_transfer entry;
	size_t begin, count; /* values[begin, begin + count): what is sent, held, or the result */
	size_t message;      /* incoming: 1 + number of the event that sent it; 0: none */
	double us;           /* when it was done, in a recorded call; below 0: not known */
};

struct steps_step {
	size_t begin, end; /* events[begin, end) */
	int number;        /* from 0, as entries count them; -1: only signals, or before all */
	const char *phase; /* "reduce-scatter", "all-gather" .. of an all-reduce; else "" */
};

struct steps_walk {
	struct steps_choice choice;
	uint64_t recorded; /* the number of the recorded call; 0: not recorded */
	struct steps_event *events;
	struct steps_value *values;
	size_t event_count, event_room, value_count, value_room;
	struct steps_step *steps; /* in the first, ranks do what needs no other rank */
	int step_count, numbered; /* numbered: how many have a number */
	uint64_t *sent_bytes;     /* [ranks], payload that moved; and by ring_plan_cost() */
	uint64_t *cost_bytes;
	uint64_t cost_steps; /* of the rank with most */
};

/*
 * steps_choice_refuse() must have accepted the choice. returns 0; RING_ENOMEM; RING_EINVAL: a
 * deadlock
 */
int steps_walk_make(const struct steps_choice *choice, struct steps_walk *walk);

/* Accepts half-built walks. */
void steps_walk_free(struct steps_walk *walk);

/*
 * The ranks in whose memory a place of an entry lies; for summands in their order. returns how
 * many, at most 64
 */
int steps_ranks_at(const struct steps_walk *walk, const struct steps_event *event,
		   enum ring_buffer buffer, int *ranks);

/* Whether an event moves data from rank to rank, by a message or through memory. */
bool steps_event_crosses(const struct steps_event *event);

#endif
