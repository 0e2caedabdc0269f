/* SPDX-License-Identifier: MIT */
/* Adds and copies what entries say. */
#include "world.h"

#include <string.h>

/* ---- memory -------------------------------------------------------------------------------- */

struct steps_value *steps_values_at(const struct steps_world *world, const struct steps_actor *actor,
				    int rank, struct ring_place place)
{
	struct steps_value *values = world->output[rank];
	switch (place.buffer) {
	case RING_INPUT:
	case RING_PEER_INPUT:
	case RING_ALL_INPUTS:
		values = world->input[rank];
		break;
	case RING_STAGE:
	case RING_PEER_STAGE:
	case RING_ALL_STAGES:
		values = world->actors[rank].stage;
		break;
	case RING_SCRATCH:
	case RING_SUMMANDS:
		values = actor->scratch;
		break;
	default:
		break;
	}
	return values + place.offset / steps_element_bytes(&world->walk->choice);
}

static int all_ranks(int count, int *ranks)
{
	for (int rank = 0; rank < count; rank++)
		ranks[rank] = rank;
	return count;
}

int steps_ranks_at(const struct steps_walk *walk, const struct steps_event *event,
		   enum ring_buffer buffer, int *ranks)
{
	const struct ring_transfer *entry = &event->entry;
	int n = walk->choice.ranks;
	struct ring_plan plan = steps_plan(&walk->choice, event->rank, false);
	switch (buffer) {
	case RING_ALL_INPUTS:
	case RING_ALL_STAGES:
		for (int k = 0; k < n; k++)
			ranks[k] = ring_direct_summand(&plan, entry->behind, k);
		return n;
	case RING_ALL_OUTPUTS:
		return all_ranks(n, ranks);
	case RING_OTHER_OUTPUTS:
		for (int rank = 0; rank < n - 1; rank++)
			ranks[rank] = rank < entry->peer ? rank : rank + 1;
		return n - 1;
	default:
		ranks[0] = buffer <= RING_STAGE ? event->rank : entry->peer;
		return 1;
	}
}

/* ---- adding and copying -------------------------------------------------------------------- */

/* before + behind; either may have no value */
static struct steps_value add(struct steps_value before, struct steps_value behind)
{
	if (before.length == 0)
		return behind;
	before.length = (int16_t)(before.length + behind.length);
	return before;
}

/* Element i of a message that an earlier entry holds. */
static struct steps_value held_at(const struct steps_world *world, const struct steps_actor *actor,
				  uint64_t index, uint64_t i)
{
	const struct steps_walk *walk = world->walk;
	return walk->values[walk->events[actor->message[index] - 1].begin + i];
}

static struct steps_value add_held(const struct steps_world *world, const struct steps_actor *actor,
				   const struct ring_transfer *in, struct steps_value own,
				   uint64_t i)
{
	struct steps_value sum = {0};
	i += in->held.skip / steps_element_bytes(&world->walk->choice);
	for (int k = in->behind; k < in->held.count; k++)
		sum = add(sum, held_at(world, actor, in->held.first + (uint64_t)k, i));
	sum = add(sum, own);
	for (int k = 0; k < in->behind; k++)
		sum = add(sum, held_at(world, actor, in->held.first + (uint64_t)k, i));
	return sum;
}

/* Adds the inputs that lie before the rank's own in scratch. */
static struct steps_value add_pile(const struct steps_world *world, const struct steps_actor *actor,
				   const struct ring_transfer *in, struct steps_value sum,
				   uint64_t i)
{
	uint64_t chunk = actor->plan.chunk * steps_element_bytes(&world->walk->choice);
	for (int k = 0; k < in->pile.count; k++) {
		struct ring_place place = {RING_SCRATCH, in->pile.offset + (uint64_t)k * chunk};
		sum = add(sum, steps_values_at(world, actor, actor->rank, place)[i]);
	}
	return sum;
}

static struct steps_value add_summands(const struct steps_world *world,
				       const struct steps_actor *actor,
				       const struct ring_transfer *in, uint64_t i)
{
	const struct ring_plan *plan = &actor->plan;
	struct steps_value sum = {0};
	for (int k = 0; k < plan->params.size; k++) {
		struct ring_place place = in->source;
		place.offset += (uint64_t)ring_plan_summand(plan, in, k) * plan->share.length *
				steps_element_bytes(&world->walk->choice);
		sum = add(sum, steps_values_at(world, actor, actor->rank, place)[i]);
	}
	return sum;
}

/*
 * Element i of the result of an entry, with or without a message, that reaches into no peer's
 * memory.
 */
static struct steps_value result_at(const struct steps_world *world, const struct steps_actor *actor,
				    const struct ring_transfer *in, size_t message, uint64_t i)
{
	const struct steps_walk *walk = world->walk;
	struct steps_value arrived = {0}, own = {0};
	if (message > 0)
		arrived = walk->values[walk->events[message - 1].begin + i];
	if (in->action == RING_HOLD || (in->action == RING_COPY && message > 0))
		return arrived;
	if (in->action == RING_COPY && in->held.count > 0)
		return held_at(world, actor, in->held.first, i);
	if (in->source.buffer == RING_SUMMANDS)
		return add_summands(world, actor, in, i);
	own = steps_values_at(world, actor, actor->rank, in->source)[i];
	if (in->held.count > 0)
		return add_held(world, actor, in, own, i);
	return add(add_pile(world, actor, in, arrived, i), own);
}

void steps_work_here(struct steps_world *world, struct steps_actor *actor,
		     const struct steps_event *event)
{
	struct steps_value *values = &world->walk->values[event->begin];
	for (size_t i = 0; i < event->count; i++)
		values[i] = result_at(world, actor, &event->entry, event->message, i);
	if (event->entry.action != RING_HOLD)
		memcpy(steps_values_at(world, actor, actor->rank, event->entry.result), values,
		       event->count * sizeof(*values));
}

/* ---- reaching into peers' memory ----------------------------------------------------------- */

/* Where a source lies. A rank's own part is in its input, those of others on their stages. */
static const struct steps_value *source_of(const struct steps_world *world,
					   const struct steps_actor *actor,
					   const struct ring_transfer *in, int rank)
{
	struct ring_place place = in->source;
	if (place.buffer == RING_ALL_STAGES && rank == actor->rank)
		place = (struct ring_place){RING_INPUT, in->result.offset};
	return steps_values_at(world, actor, rank, place);
}

static void count_moved(struct steps_world *world, const struct steps_event *event,
			const int *readers, int sources, const int *writers, int results)
{
	uint64_t *sent = world->walk->sent_bytes;
	bool sums = event->entry.action == RING_REDUCE;
	int from = sums ? event->rank : readers[0];
	for (int k = 0; k < sources && sums; k++)
		sent[readers[k]] += readers[k] == event->rank ? 0 : event->entry.bytes;
	for (int r = 0; r < results; r++)
		sent[from] += writers[r] == from ? 0 : event->entry.bytes;
}

void steps_work_there(struct steps_world *world, struct steps_actor *actor,
		      const struct steps_event *event)
{
	struct steps_walk *walk = world->walk;
	struct steps_value *values = &walk->values[event->begin];
	const struct ring_transfer *in = &event->entry;
	int readers[STEPS_RANKS_MOST], writers[STEPS_RANKS_MOST];
	int sources = steps_ranks_at(walk, event, in->source.buffer, readers);
	int results = steps_ranks_at(walk, event, in->result.buffer, writers);
	size_t bytes = event->count * sizeof(*values);
	for (int k = 0; k < sources; k++)
		for (size_t i = 0; i < event->count; i++)
			values[i] = add(values[i], source_of(world, actor, in, readers[k])[i]);
	for (int r = 0; r < results; r++)
		memcpy(steps_values_at(world, actor, writers[r], in->result), values, bytes);
	if (in->source.buffer == RING_ALL_STAGES)
		memcpy(steps_values_at(world, actor, actor->rank, in->source), values, bytes);
	count_moved(world, event, readers, sources, writers, results);
}
