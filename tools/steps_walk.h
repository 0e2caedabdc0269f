/* SPDX-License-Identifier: MIT */
/*
 * Walks the plans of all ranks and notes what happens in which step. Memory holds where its elements come from
 * instead of numbers, so what is told is what the plan does. It knows nothing of how that is shown.
 *
 * Steps are as early as can be: a rank sends in the first step after those in which what it needs was done, and
 * what it sends arrives, is added and copied in the same step. Step 0 is what ranks do by themselves before. A link
 * has `depth` slots, and a slot is free again in the step after it was emptied.
 */
#ifndef STEPS_WALK_H
#define STEPS_WALK_H

#include <stddef.h>

#include "steps_choice.h"

/* An element: that index of the inputs of `length` ranks, from position `first` on, added in that order; 0: nothing yet */
struct steps_value {
	int32_t index;
	int16_t first, length;
};

/* One entry of a plan that moved, added or told something. */
struct steps_event {
	int rank;
	bool incoming;
	uint64_t index; /* of the entry in its sequence */
	struct ring_transfer entry;
	size_t begin, count; /* values[begin, begin + count): what is sent, held, or the result */
	size_t message;      /* incoming: 1 + number of the event that sent it; 0: none */
	double us;           /* when it was done, in a recorded call; below 0: unknown */
};

struct steps_step {
	size_t begin, end; /* events[begin, end) */
	int number;        /* from 1; 0: nothing but signals, or what comes before the first */
};

struct steps_walk {
	struct steps_choice choice;
	uint64_t recorded; /* the number of the call, if it is a recorded one */
	struct steps_event *events;
	struct steps_value *values;
	size_t event_count, event_room, value_count, value_room;
	struct steps_step *steps; /* the first is what ranks do by themselves before all others */
	int step_count, numbered; /* so many have a number */
	uint64_t *sent_bytes;     /* [ranks], payload as moved, and as ring_plan_cost() has it */
	uint64_t *cost_bytes;
	uint64_t cost_steps; /* of the rank that has most */
};

/* The choice is one that steps_choice_refuse() has nothing against. returns 0; RING_ENOMEM; RING_EINVAL: it got stuck */
int steps_walk_make(const struct steps_choice *choice, struct steps_walk *walk);

/* Accepts what is half made. */
void steps_walk_free(struct steps_walk *walk);

/* The ranks whose memory such a place of an entry is in, of summands in their order. Returns how many, at most 64. */
int steps_ranks_at(const struct steps_walk *walk, const struct steps_event *event,
		   enum ring_buffer buffer, int *ranks);

/* True if data go from rank to rank: they are sent, or reached for. */
bool steps_event_crosses(const struct steps_event *event);

#endif
