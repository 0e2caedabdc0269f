/* SPDX-License-Identifier: MIT */
/*
 * A plan with its computed entries, entry i at i modulo the room: a channel's counters walk close
 * together, and a short plan that is repeated has all its entries here.
 */
#ifndef RING_KNOWN_PLAN_H
#define RING_KNOWN_PLAN_H

#include "plan/plan.h"

#define RING_KNOWN_OUTGOING 16 /* all entries of small calls of 8 ranks, and over stages */
#define RING_KNOWN_INCOMING 32

struct ring_known_entry {
	uint64_t index; /* UINT64_MAX: none yet */
	struct ring_transfer transfer;
};

struct ring_known_plan {
	struct ring_plan plan;
	bool past;      /* copies to RING_OUTPUT bypass caches: they are not sent on */
	bool is_small;  /* all is said at once, and all entries are known */
	uint64_t hears; /* if small: how many entries, the first ones, take what others say */
	uint64_t holds; /* if small: how many of those only hold it */
	struct ring_known_entry outgoing[RING_KNOWN_OUTGOING], incoming[RING_KNOWN_INCOMING];
};

/* Of plans that are not small nothing is computed yet, unless it is the same plan as before. */
void ring_known_plan_set(struct ring_known_plan *known, const struct ring_plan *plan);

void ring_known_plan_learn_outgoing(struct ring_known_plan *known, uint64_t i);
void ring_known_plan_learn_incoming(struct ring_known_plan *known, uint64_t j);

/* Entry i, computed if need be; it stays until another takes its place. */
static inline const struct ring_transfer *ring_known_plan_outgoing(struct ring_known_plan *known,
								   uint64_t i)
{
	struct ring_known_entry *entry = &known->outgoing[i % RING_KNOWN_OUTGOING];
	if (entry->index != i)
		ring_known_plan_learn_outgoing(known, i);
	return &entry->transfer;
}

static inline const struct ring_transfer *ring_known_plan_incoming(struct ring_known_plan *known,
								   uint64_t j)
{
	struct ring_known_entry *entry = &known->incoming[j % RING_KNOWN_INCOMING];
	if (entry->index != j)
		ring_known_plan_learn_incoming(known, j);
	return &entry->transfer;
}

/* The same, but replaces no entry: a new one is put into `room`. */
static inline const struct ring_transfer *ring_known_plan_peek(const struct ring_known_plan *known,
							       uint64_t j,
							       struct ring_transfer *room)
{
	const struct ring_known_entry *entry = &known->incoming[j % RING_KNOWN_INCOMING];
	if (entry->index == j)
		return &entry->transfer;
	*room = ring_plan_incoming(&known->plan, j);
	return room;
}

#endif
