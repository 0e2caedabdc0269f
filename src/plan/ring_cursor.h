/* SPDX-License-Identifier: MIT */
/*
 * The entries of a ring's plan one after the other, found by counting: plan.h finds any of them by
 * dividing, which on a GPU takes longer than all else that a thread has to decide. Both are the
 * same entries, of all kinds that go around the ring.
 *
 *	struct ring_cursor at = ring_cursor_first(plan, outgoing);
 *	for (; at.index < plan->outgoing; ring_cursor_next(plan, &at))
 *		... ring_cursor_entry(plan, &at) ...    equals ring_plan_outgoing(plan, at.index)
 */
#ifndef RING_RING_CURSOR_H
#define RING_RING_CURSOR_H

#include "plan.h"

struct ring_cursor {
	bool outgoing;  /* which sequence */
	uint64_t index; /* of the entry, in it */
	uint64_t steps; /* of a round */
	struct ring_ring_index at;
	/* Incoming: results that still find an empty place in scratch, ... */
	uint64_t empty;
	/* ... then as many outgoing entries free one, and it was so many-th of its round. */
	uint64_t freed, of_round;
};

/* The entry at index 0, if there is one. */
RING_PURE struct ring_cursor ring_cursor_first(const struct ring_plan *plan, bool outgoing)
{
	struct ring_cursor cursor = {.outgoing = outgoing};
	cursor.steps = outgoing ? (uint64_t)plan->around.steps : ring_ring_incoming_steps(plan);
	cursor.empty = plan->scratch_chunks;
	cursor.freed = plan->signals + 1;
	if (!ring_ring_is_chain(plan))
		cursor.freed += (1 - plan->around.scalings) * plan->chunks;
	return cursor;
}

/* The next place in scratch, around and around. */
RING_PURE void ring_cursor_next_place(const struct ring_plan *plan, struct ring_cursor *cursor)
{
	if (++cursor->at.place >= plan->scratch_chunks)
		cursor->at.place = 0;
	if (cursor->empty > 0)
		cursor->empty--;
	if (cursor->empty > 0)
		return;
	if (cursor->at.freed == 0) {
		cursor->at.freed = cursor->freed;
		return;
	}
	cursor->at.freed++;
	if (ring_ring_is_chain(plan) ||
	    ++cursor->of_round < ring_ring_scratch_steps(plan) * plan->chunks)
		return;
	/* The rest of the round sends from elsewhere. */
	cursor->at.freed += (plan->around.steps - ring_ring_scratch_steps(plan)) * plan->chunks;
	cursor->of_round = 0;
}

RING_PURE bool ring_cursor_is_in_scratch(const struct ring_plan *plan,
					 const struct ring_cursor *cursor)
{
	if (ring_ring_is_chain(plan))
		return plan->scratch_chunks > 0;
	return cursor->outgoing ? ring_ring_sends_scratch(plan, cursor->at.step)
				: ring_ring_fills_scratch(plan, cursor->at.step);
}

RING_PURE void ring_cursor_next(const struct ring_plan *plan, struct ring_cursor *cursor)
{
	if (cursor->index++ < plan->signals)
		return;
	if (ring_cursor_is_in_scratch(plan, cursor))
		ring_cursor_next_place(plan, cursor);
	if (++cursor->at.chunk < plan->chunks || ring_ring_is_chain(plan))
		return;
	cursor->at.chunk = 0;
	if (++cursor->at.step < cursor->steps)
		return;
	cursor->at.step = 0;
	cursor->at.round++;
}

/* There must be one. */
RING_PURE struct ring_transfer ring_cursor_entry(const struct ring_plan *plan,
						 const struct ring_cursor *cursor)
{
	if (cursor->index < plan->signals)
		return cursor->outgoing ? ring_plan_signal(plan->next, cursor->index)
					: ring_plan_signal(plan->prev, 0);
	return cursor->outgoing ? ring_ring_outgoing_at(plan, cursor->at)
				: ring_ring_incoming_at(plan, cursor->at);
}

#endif
