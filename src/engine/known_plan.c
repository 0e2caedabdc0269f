/* SPDX-License-Identifier: MIT */
/* Computing a plan's entries once; see known_plan.h. */
#include "known_plan.h"

#include <string.h>

/*
 * Field by field, with the plan inlined: a struct that is returned whole passes through memory, and
 * reading it back so soon waits for all earlier stores, among them those to slots that the other
 * CPU still holds. (8 B on 2 ranks: 1.1 -> 0.8 us.)
 */
static inline void keep(struct ring_known_entry *entry, uint64_t index,
			struct ring_transfer transfer)
{
	entry->index = index;
	entry->transfer.action = transfer.action;
	entry->transfer.peer = transfer.peer;
	entry->transfer.source.buffer = transfer.source.buffer;
	entry->transfer.source.offset = transfer.source.offset;
	entry->transfer.result.buffer = transfer.result.buffer;
	entry->transfer.result.offset = transfer.result.offset;
	entry->transfer.bytes = transfer.bytes;
	entry->transfer.needs = transfer.needs;
	entry->transfer.exchange = transfer.exchange;
	entry->transfer.step = transfer.step;
	entry->transfer.opens = transfer.opens;
	entry->transfer.last = transfer.last;
	entry->transfer.behind = transfer.behind;
	entry->transfer.held.first = transfer.held.first;
	entry->transfer.held.skip = transfer.held.skip;
	entry->transfer.held.count = transfer.held.count;
	entry->transfer.held.releases = transfer.held.releases;
	entry->transfer.pile.offset = transfer.pile.offset;
	entry->transfer.pile.count = transfer.pile.count;
}

__attribute__((flatten)) void ring_known_plan_learn_outgoing(struct ring_known_plan *known,
							     uint64_t i)
{
	keep(&known->outgoing[i % RING_KNOWN_OUTGOING], i, ring_plan_outgoing(&known->plan, i));
}

__attribute__((flatten)) void ring_known_plan_learn_incoming(struct ring_known_plan *known,
							     uint64_t j)
{
	keep(&known->incoming[j % RING_KNOWN_INCOMING], j, ring_plan_incoming(&known->plan, j));
}

static void learn_all(struct ring_known_plan *known)
{
	for (uint64_t i = 0; i < known->plan.outgoing; i++)
		ring_known_plan_learn_outgoing(known, i);
	for (uint64_t j = 0; j < known->plan.incoming; j++)
		ring_known_plan_learn_incoming(known, j);
}

static void count_heard(struct ring_known_plan *known)
{
	const struct ring_known_entry *in = known->incoming;
	uint64_t j = 0, holds = 0;
	for (; j < known->plan.incoming && in[j].transfer.opens; j++)
		holds += in[j].transfer.action == RING_HOLD || in[j].transfer.action == RING_SIGNAL;
	known->hears = j;
	known->holds = holds;
}

void ring_known_plan_set(struct ring_known_plan *known, const struct ring_plan *plan)
{
	if (!plan->params.parts && memcmp(&known->plan, plan, sizeof(*plan)) == 0)
		/* all that is known of it still holds (padding that differs costs only time) */
		return;
	known->plan = *plan;
	for (int i = 0; i < RING_KNOWN_OUTGOING; i++)
		known->outgoing[i].index = UINT64_MAX;
	for (int j = 0; j < RING_KNOWN_INCOMING; j++)
		known->incoming[j].index = UINT64_MAX;
	known->past = plan->params.past && !plan->sends_on;
	known->is_small = ring_plan_is_said_at_once(plan) && plan->outgoing <= RING_KNOWN_OUTGOING &&
			  plan->incoming <= RING_KNOWN_INCOMING;
	if (!known->is_small)
		return;
	learn_all(known);
	count_heard(known);
}
