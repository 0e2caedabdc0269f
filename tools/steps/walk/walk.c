/* SPDX-License-Identifier: MIT */
/* Moves all ranks, step by step, and notes what they do. */
#include "walk.h"

#include <stdlib.h>
#include <string.h>

#include "ringccl.h"
#include "phase.h"
#include "world.h"

/* ---- what is noted ------------------------------------------------------------------------- */

/* Makes room for `wanted` elements in an array with room for *room. */
static bool grow(void **array, size_t size, size_t wanted, size_t *room)
{
	if (wanted <= *room)
		return true;
	size_t more = wanted + *room + 256;
	void *grown = realloc(*array, more * size);
	if (!grown)
		return false;
	*array = grown;
	*room = more;
	return true;
}

static struct steps_event *add_event(struct steps_world *world, const struct steps_actor *actor,
				     const struct ring_transfer *entry, bool incoming)
{
	struct steps_walk *walk = world->walk;
	size_t count = entry->bytes / steps_element_bytes(&walk->choice), room = walk->event_room;
	if (!grow((void **)&walk->events, sizeof(*walk->events), walk->event_count + 1,
		  &walk->event_room) ||
	    (room != walk->event_room &&
	     !grow((void **)&world->next, sizeof(*world->next), walk->event_room, &room)) ||
	    !grow((void **)&walk->values, sizeof(*walk->values), walk->value_count + count,
		  &walk->value_room)) {
		world->failed = true;
		return NULL;
	}
	struct steps_event *event = &walk->events[walk->event_count++];
	*event = (struct steps_event){.rank = actor->rank,
				      .incoming = incoming,
				      .index = incoming ? actor->finished : actor->posted,
				      .entry = *entry,
				      .begin = walk->value_count,
				      .count = count,
				      .us = -1};
	for (size_t i = 0; i < count; i++)
		walk->values[walk->value_count++] = (struct steps_value){0};
	return event;
}

bool steps_event_crosses(const struct steps_event *event)
{
	return event->count > 0 && (!event->incoming || ring_transfer_is_direct(&event->entry));
}

/* ---- sending ------------------------------------------------------------------------------- */

/* The actor at the other end of a link to, or from, a rank. */
static struct steps_actor *peer_of(const struct steps_world *world, const struct steps_actor *actor,
				   int rank)
{
	bool receives = actor->plan.params.kind == RING_KIND_SEND;
	return &world->actors[rank + (receives ? world->walk->choice.ranks : 0)];
}

static struct steps_link *link_between(const struct steps_world *world,
				       const struct steps_actor *from, const struct steps_actor *to)
{
	size_t row = (size_t)(from - world->actors), column = (size_t)(to - world->actors);
	return &world->links[row * (size_t)world->actor_count + column];
}

static void queue_message(struct steps_world *world, struct steps_link *link, size_t event)
{
	world->next[event] = 0;
	if (link->first == 0)
		link->first = event + 1;
	else
		world->next[link->last - 1] = event + 1;
	link->last = event + 1;
	link->queued++;
}

static bool send_message(struct steps_world *world, struct steps_actor *actor,
			 const struct ring_transfer *out)
{
	struct steps_walk *walk = world->walk;
	struct steps_link *link = link_between(world, actor, peer_of(world, actor, out->peer));
	if (link->queued - link->freed >= (uint64_t)walk->choice.depth)
		return false;
	struct steps_event *event = add_event(world, actor, out, false);
	if (!event)
		return false;
	if (event->count > 0)
		memcpy(&walk->values[event->begin],
		       steps_values_at(world, actor, actor->rank, out->source),
		       event->count * sizeof(*walk->values));
	queue_message(world, link, walk->event_count - 1);
	walk->sent_bytes[actor->rank] += out->bytes;
	return true;
}

/*
 * Sends the actor's next entry, if it may; entries that are no message take no step. returns
 * whether it did
 */
static bool post(struct steps_world *world, struct steps_actor *actor, bool messages)
{
	if (actor->posted == actor->plan.outgoing || world->failed)
		return false;
	struct ring_transfer out = ring_plan_outgoing(&actor->plan, actor->posted);
	bool is_message = ring_transfer_is_message(&out, actor->rank);
	if (out.needs > (is_message ? actor->ready : actor->finished))
		return false;
	if (is_message && (!messages || !send_message(world, actor, &out)))
		return false;
	actor->posted++;
	return true;
}

/* ---- receiving ----------------------------------------------------------------------------- */

static void release(struct steps_world *world, struct steps_actor *actor, uint64_t index)
{
	struct ring_transfer in = ring_plan_incoming(&actor->plan, index);
	if (ring_transfer_is_message(&in, actor->rank))
		link_between(world, peer_of(world, actor, in.peer), actor)->released++;
}

static void release_slots(struct steps_world *world, struct steps_actor *actor,
			  const struct ring_transfer *in)
{
	if (in->action != RING_HOLD)
		release(world, actor, actor->finished);
	for (int k = 0; in->held.releases && k < in->held.count; k++)
		release(world, actor, in->held.first + (uint64_t)k);
}

/*
 * Takes the message that an entry waits for; *message is 0 if it needs none. returns false if it is
 * not there yet
 */
static bool take_message(struct steps_world *world, struct steps_actor *actor,
			 const struct ring_transfer *in, size_t *message)
{
	*message = 0;
	if (!ring_transfer_is_message(in, actor->rank))
		return true;
	struct steps_link *link = link_between(world, peer_of(world, actor, in->peer), actor);
	*message = link->first;
	if (*message == 0)
		return false;
	link->first = world->next[*message - 1];
	actor->message[actor->finished] = *message;
	return true;
}

/* Whether a rank can do this entry before the first step. */
static bool is_by_itself(const struct steps_actor *actor, const struct ring_transfer *in)
{
	bool reaches = ring_transfer_is_direct(in) && in->bytes > 0 && actor->plan.params.size > 1;
	return !ring_transfer_is_message(in, actor->rank) && !reaches;
}

/* Runs the actor's next incoming entry, if it may. returns whether it did */
static bool finish(struct steps_world *world, struct steps_actor *actor, bool before_all)
{
	size_t message;
	if (actor->finished == actor->plan.incoming || world->failed)
		return false;
	struct ring_transfer in = ring_plan_incoming(&actor->plan, actor->finished);
	if (in.needs > actor->posted || (before_all && !is_by_itself(actor, &in)) ||
	    !take_message(world, actor, &in, &message))
		return false;
	if (in.bytes > 0 || message > 0) {
		struct steps_event *event = add_event(world, actor, &in, true);
		if (!event)
			return false;
		event->message = message;
		if (in.bytes > 0 && ring_transfer_is_direct(&in))
			steps_work_there(world, actor, event);
		else if (in.bytes > 0)
			steps_work_here(world, actor, event);
	}
	release_slots(world, actor, &in);
	actor->finished++;
	return true;
}

/* ---- steps --------------------------------------------------------------------------------- */

static void begin_step(struct steps_world *world)
{
	size_t links = (size_t)world->actor_count * (size_t)world->actor_count;
	for (int i = 0; i < world->actor_count; i++)
		world->actors[i].ready = world->actors[i].finished;
	for (size_t i = 0; i < links; i++)
		world->links[i].freed = world->links[i].released;
}

/* Every rank sends, and then receives, as much as it can. returns whether anything moved */
static bool make_step(struct steps_world *world, bool before_all)
{
	bool moved = false, moves;
	begin_step(world);
	for (int i = 0; i < world->actor_count && !before_all; i++)
		while (post(world, &world->actors[i], true))
			moved = true;
	do {
		moves = false;
		for (int i = 0; i < world->actor_count; i++)
			while (finish(world, &world->actors[i], before_all) ||
			       post(world, &world->actors[i], false))
				moved = moves = true;
	} while (moves);
	return moved;
}

static bool note_step(struct steps_walk *walk, size_t begin)
{
	struct steps_step *grown = realloc(walk->steps,
					   (size_t)(walk->step_count + 1) * sizeof(*grown));
	if (!grown)
		return false;
	walk->steps = grown;
	walk->steps[walk->step_count++] = (struct steps_step){begin, walk->event_count, -1, ""};
	return true;
}

static bool is_done(const struct steps_world *world)
{
	for (int i = 0; i < world->actor_count; i++) {
		const struct steps_actor *actor = &world->actors[i];
		if (actor->posted < actor->plan.outgoing || actor->finished < actor->plan.incoming)
			return false;
	}
	return true;
}

/* Numbers the steps in which data go from rank to rank; without data, all steps. */
static void number_steps(struct steps_walk *walk)
{
	for (int s = 1; s < walk->step_count; s++) {
		struct steps_step *step = &walk->steps[s];
		bool counts = walk->value_count == 0 && step->end > step->begin;
		for (size_t e = step->begin; e < step->end && !counts; e++)
			counts = steps_event_crosses(&walk->events[e]);
		step->number = counts ? walk->numbered++ : -1;
	}
}

static int make_steps(struct steps_world *world)
{
	struct steps_walk *walk = world->walk;
	bool moved = true;
	for (int step = 0; moved && (step == 0 || !is_done(world)); step++) {
		size_t begin = walk->event_count;
		moved = make_step(world, step == 0) || step == 0;
		if (world->failed || !note_step(walk, begin))
			return RING_ENOMEM;
	}
	number_steps(walk);
	steps_phases_mark(walk);
	return is_done(world) ? 0 : RING_EINVAL;
}

/* ---- making a world ------------------------------------------------------------------------ */

static bool make_buffers(struct steps_world *world, int rank)
{
	const struct steps_choice *choice = &world->walk->choice;
	uint64_t length = steps_input_length(choice, rank);
	world->input[rank] = calloc(length + 1, sizeof(struct steps_value));
	world->output[rank] = calloc(steps_output_length(choice, rank) + 1,
				     sizeof(struct steps_value));
	if (!world->input[rank] || !world->output[rank])
		return false;
	int16_t position = (int16_t)steps_position(choice, rank);
	for (uint64_t i = 0; i < length; i++)
		world->input[rank][i] = (struct steps_value){(int32_t)i, position, 1};
	return true;
}

static bool make_actor(struct steps_world *world, int i)
{
	struct steps_walk *walk = world->walk;
	struct steps_actor *actor = &world->actors[i];
	int ranks = walk->choice.ranks;
	actor->rank = i % ranks;
	actor->plan = steps_plan(&walk->choice, actor->rank, i >= ranks);
	struct ring_plan_cost cost = ring_plan_cost(&actor->plan);
	walk->cost_bytes[actor->rank] += cost.sent_bytes;
	if (cost.steps > walk->cost_steps)
		walk->cost_steps = cost.steps;
	actor->scratch = calloc(actor->plan.scratch_chunks * actor->plan.chunk + 1,
				sizeof(*actor->scratch));
	actor->stage = calloc(steps_stage_length(&walk->choice) + 1, sizeof(*actor->stage));
	actor->message = calloc(actor->plan.incoming + 1, sizeof(*actor->message));
	return actor->scratch && actor->stage && actor->message;
}

static bool make_world(struct steps_world *world)
{
	struct steps_walk *walk = world->walk;
	size_t ranks = (size_t)walk->choice.ranks;
	world->actor_count = walk->choice.ranks * (walk->choice.kind == RING_KIND_SEND ? 2 : 1);
	size_t actors = (size_t)world->actor_count;
	walk->sent_bytes = calloc(ranks, sizeof(*walk->sent_bytes));
	walk->cost_bytes = calloc(ranks, sizeof(*walk->cost_bytes));
	world->input = calloc(ranks, sizeof(*world->input));
	world->output = calloc(ranks, sizeof(*world->output));
	world->actors = calloc(actors, sizeof(*world->actors));
	world->links = calloc(actors * actors, sizeof(*world->links));
	bool made = walk->sent_bytes && walk->cost_bytes && world->input && world->output &&
		    world->actors && world->links;
	for (int rank = 0; rank < walk->choice.ranks && made; rank++)
		made = make_buffers(world, rank);
	for (int i = 0; i < world->actor_count && made; i++)
		made = make_actor(world, i);
	return made;
}

static void free_world(struct steps_world *world)
{
	for (int rank = 0; world->input && rank < world->walk->choice.ranks; rank++)
		free(world->input[rank]);
	for (int rank = 0; world->output && rank < world->walk->choice.ranks; rank++)
		free(world->output[rank]);
	for (int i = 0; world->actors && i < world->actor_count; i++) {
		free(world->actors[i].scratch);
		free(world->actors[i].stage);
		free(world->actors[i].message);
	}
	free(world->input);
	free(world->output);
	free(world->actors);
	free(world->links);
	free(world->next);
}

int steps_walk_make(const struct steps_choice *choice, struct steps_walk *walk)
{
	struct steps_walk made = {.choice = *choice};
	struct steps_world world = {.walk = &made};
	int err = make_world(&world) ? make_steps(&world) : RING_ENOMEM;
	free_world(&world);
	if (err) {
		steps_walk_free(&made);
		return err;
	}
	*walk = made;
	return 0;
}

void steps_walk_free(struct steps_walk *walk)
{
	if (!walk)
		return;
	free(walk->events);
	free(walk->values);
	free(walk->steps);
	free(walk->sent_bytes);
	free(walk->cost_bytes);
	*walk = (struct steps_walk){0};
}
