/* SPDX-License-Identifier: MIT */
/* Runs a world of plans to its end: who moves next is left to chance, and what must hold then. */
#ifndef RING_TEST_PLAN_RUN_H
#define RING_TEST_PLAN_RUN_H

#include "tests/unit/plan_moves.h"

/*
 * Makes moves of one rank, as chance will. Returns whether it made any. Now and then it skips none, or
 * it would take long to find out that nothing can move.
 */
static bool move_actor(struct world *world, struct actor *actor, uint64_t *dice, int lazy_move)
{
	uint64_t coins = dice_roll(dice);
	bool moved = false, idle = true, skips = coins >> 60 < 12;
	unsigned first = coins % MOVES;
	for (unsigned k = first; k < first + MOVES; k++, coins >>= 8) {
		enum move move = k % MOVES;
		bool skipped = (int)move == lazy_move || (skips && coins & 0x80);
		if (skipped || !make_move(world, actor, move)) {
			idle = idle && !skipped;
			continue;
		}
		while (coins & 0x40 && make_move(world, actor, move))
			;
		moved = true;
	}
	world->idle[actor - world->actors] = idle && !moved;
	return moved;
}

/* Offers moves to everybody but the lazy, beginning anywhere. Returns whether anything moved. */
static bool sweep(struct world *world, uint64_t *dice, int lazy_rank, int lazy_move)
{
	int begin = (int)dice_below(dice, world->actor_count);
	bool moved = false;
	for (int k = 0; k < world->actor_count; k++) {
		int at = begin + k < world->actor_count ? begin + k : begin + k - world->actor_count;
		struct actor *actor = &world->actors[at];
		if (!world->idle[at] && actor->rank != lazy_rank)
			moved = move_actor(world, actor, dice, lazy_move) || moved;
	}
	return moved;
}

static bool all_idle(const struct world *world)
{
	for (int i = 0; i < world->actor_count; i++)
		if (!world->idle[i])
			return false;
	return true;
}

/* Moves until nothing can. Whoever is lazy moves only when nobody else can. */
static inline void run_randomly(struct world *world, uint64_t *dice)
{
	int lazy_rank = (int)dice_below(dice, 2 * world->setting->size);
	int lazy_move = (int)dice_below(dice, 2 * MOVES);
	while (!all_idle(world))
		if (!sweep(world, dice, lazy_rank, lazy_move) &&
		    !sweep(world, dice, lazy_rank, lazy_move) && !sweep(world, dice, lazy_rank, -1))
			sweep(world, dice, -1, -1);
}

static inline bool all_done(const struct world *world)
{
	for (int i = 0; i < world->actor_count; i++) {
		const struct actor *actor = &world->actors[i];
		if (actor->sent < actor->plan.outgoing || actor->reduced < actor->plan.incoming)
			return false;
	}
	return true;
}

/* In place, a sum replaces what was added. */
static bool is_overwritten(const struct setting *s, int rank, uint64_t i)
{
	if (!s->in_place)
		return false;
	return s->kind == RING_KIND_ALL_REDUCE || (s->kind == RING_KIND_REDUCE && rank == s->root) ||
	       (s->kind == RING_KIND_REDUCE_SCATTER && i >= input_begin(s, rank, rank) &&
		i < input_begin(s, rank, rank) + part_length(s, rank, rank));
}

/* A call ends once all its channels have, and the first has data if any has. */
static bool ends_with_proof(const struct world *world, const struct actor *actor)
{
	return !is_pair(world->setting) && actor->plan.params.channel == 0;
}

static bool knows_all(const struct world *world, const struct actor *actor)
{
	uint64_t proof = actor->proof[actor->plan.incoming] | UINT64_C(1) << actor->rank;
	return proof == everybody(world->setting);
}

/* Elements that a rank sends in all: what header and pages say of uneven parts. */
static uint64_t wanted_payload(const struct setting *s, const struct actor *actor)
{
	bool around = s->algorithm == RING_ALGORITHM_RING;
	uint64_t payload = 0;
	for (int rank = 0; rank < s->size; rank++) {
		bool own = rank == actor->rank;
		if (around && s->kind == RING_KIND_ALL_GATHER)
			payload += rank == actor->plan.next ? 0 : part_length(s, rank, rank);
		else if (!own && flows(s, actor->rank, rank))
			payload += part_length(s, actor->rank, rank);
	}
	return payload;
}

static void check_actor(const struct world *world, const struct actor *actor)
{
	const struct setting *s = world->setting;
	for (int i = 0; i < actor->link_count; i++) {
		const struct link *link = &actor->links[i];
		demand(world, link->queued == link->released, "links are empty in the end");
		demand(world, link->queued > 0 && link->named_by_receiver,
		       "no link is named in vain");
	}
	demand(world, actor->payload == ring_plan_cost(&actor->plan).sent_bytes,
	       "the cost is what was sent");
	demand(world,
	       !s->uneven || s->channels > 1 ||
		       actor->payload == wanted_payload(s, actor) * s->element_bytes,
	       "of uneven parts what goes to others is sent");
	demand(world, !ring_plan_knows_own_parts(&actor->plan.params) || actor->plan.exchanges == 0,
	       "what two alone know is on no board");
	demand(world, !ends_with_proof(world, actor) || knows_all(world, actor),
	       "who is done knows that all have entered");
}

/* Everything is done: nothing is on its way, results are right, inputs as they were. */
static inline void check_end(const struct world *world)
{
	const struct setting *s = world->setting;
	for (int i = 0; i < world->actor_count; i++)
		check_actor(world, &world->actors[i]);
	for (int rank = 0; rank < s->size; rank++) {
		const struct buffer *input = &world->input[rank], *output = &world->output[rank];
		for (uint64_t i = 0; i < output->length; i++)
			demand(world, same_sum(s, output->values[i], wanted_value(s, rank, i)),
			       "every rank has the result");
		for (uint64_t i = 0; i < input->length; i++)
			demand(world,
			       is_overwritten(s, rank, i) ||
				       same(input->values[i], own_value(s, rank, i)),
			       "inputs are left alone");
	}
}

#endif
