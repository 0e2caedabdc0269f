/* SPDX-License-Identifier: MIT */
/* Looks who completes sums, and whether what goes from rank to rank is complete. */
#include "phase.h"

/* Who completes the sums. */
enum makers {
	NOBODY,
	ONE_RANK,     /* which then hands them out: a reduction and a broadcast */
	BLOCK_OWNERS, /* each those of its block: a reduce-scatter and an all-gather */
	ALL_RANKS,    /* each all of them: there is nothing to hand out */
};

static bool completes(const struct steps_walk *walk, const struct steps_event *event)
{
	return event->incoming && event->entry.action == RING_REDUCE && event->count > 0 &&
	       walk->values[event->begin].length == walk->choice.ranks;
}

static bool has_element(const struct steps_walk *walk, const struct steps_event *event,
			uint64_t element)
{
	for (size_t i = 0; i < event->count; i++)
		if ((uint64_t)walk->values[event->begin + i].index == element)
			return true;
	return false;
}

/* The rank that completes the sum of an element; -1: none, or more than one do. */
static int maker_of(const struct steps_walk *walk, uint64_t element)
{
	int maker = -1;
	for (size_t e = 0; e < walk->event_count; e++) {
		const struct steps_event *event = &walk->events[e];
		if (!completes(walk, event) || !has_element(walk, event, element))
			continue;
		if (maker >= 0 && maker != event->rank)
			return -1;
		maker = event->rank;
	}
	return maker;
}

static enum makers find_makers(const struct steps_walk *walk)
{
	const struct steps_choice *choice = &walk->choice;
	if (choice->kind != RING_KIND_ALL_REDUCE || choice->ranks < 2 || choice->count == 0)
		return NOBODY;
	int first = maker_of(walk, 0), last = maker_of(walk, choice->count - 1);
	if (first < 0)
		return ALL_RANKS;
	return first == last ? ONE_RANK : BLOCK_OWNERS;
}

/* Whether an event carries sums that still grow, or complete ones. */
static void look(const struct steps_walk *walk, const struct steps_event *event, bool *grows,
		 bool *complete)
{
	if (!steps_event_crosses(event))
		return;
	if (walk->values[event->begin].length < walk->choice.ranks)
		*grows = true;
	else if (!completes(walk, event))
		*complete = true;
	else /* it reads its terms from the others, and may write the sum to them */
		*grows = true, *complete = *complete || event->entry.result.buffer != RING_OUTPUT;
}

static const char *name_of(enum makers makers, bool grows, bool complete)
{
	bool blocks = makers == BLOCK_OWNERS;
	if (grows && complete)
		return blocks ? "reduce-scatter and all-gather" : "reduce and broadcast";
	if (grows)
		return blocks ? "reduce-scatter" : "reduce";
	if (complete)
		return blocks ? "all-gather" : "broadcast";
	return "";
}

void steps_phases_mark(struct steps_walk *walk)
{
	enum makers makers = find_makers(walk);
	for (int s = 0; s < walk->step_count; s++) {
		struct steps_step *step = &walk->steps[s];
		bool grows = false, complete = false;
		for (size_t e = step->begin; e < step->end; e++)
			look(walk, &walk->events[e], &grows, &complete);
		if (makers == ONE_RANK || makers == BLOCK_OWNERS)
			step->phase = name_of(makers, grows, complete);
	}
}
