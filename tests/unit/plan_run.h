/* SPDX-License-Identifier: MIT */
/* Runs a world of plans to its end: who moves next is left to chance, and what must hold then. */
#ifndef RING_TEST_PLAN_RUN_H
#define RING_TEST_PLAN_RUN_H

#include "tests/unit/plan_world.h"

/* Makes moves of one rank, as chance will. Returns whether it made any. */
static bool move_actor(struct world *world, struct actor *actor, uint64_t *dice, int lazy_move)
{
	uint64_t coins = dice_roll(dice);
	bool moved = false;
	actor->idle = true;
	unsigned first = coins % MOVES;
	for (unsigned k = first; k < first + MOVES; k++, coins >>= 8) {
		enum move move = k % MOVES;
		bool skipped = (int)move == lazy_move || coins & 0x80;
		if (skipped || !make_move(world, actor, move)) {
			actor->idle = actor->idle && !skipped;
			continue;
		}
		while (coins & 0x40 && make_move(world, actor, move))
			;
		moved = true;
	}
	/* Only neighbours can make a move possible, and oneself. */
	if (moved)
		actor->idle = actor->next->idle = actor->prev->idle = false;
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
		if (!actor->idle && actor->rank != lazy_rank)
			moved = move_actor(world, actor, dice, lazy_move) || moved;
	}
	return moved;
}

static bool all_idle(const struct world *world)
{
	for (int i = 0; i < world->actor_count; i++)
		if (!world->actors[i].idle)
			return false;
	return true;
}

/* Moves until nothing can. Whoever is lazy moves only when nobody else can. */
static void run_randomly(struct world *world, uint64_t *dice)
{
	int lazy_rank = (int)dice_below(dice, 2 * world->setting->size);
	int lazy_move = (int)dice_below(dice, 2 * MOVES);
	while (!all_idle(world))
		if (!sweep(world, dice, lazy_rank, lazy_move) &&
		    !sweep(world, dice, lazy_rank, lazy_move) && !sweep(world, dice, lazy_rank, -1))
			sweep(world, dice, -1, -1);
}

static bool all_done(const struct world *world)
{
	for (int i = 0; i < world->actor_count; i++) {
		const struct actor *actor = &world->actors[i];
		if (actor->sent < actor->plan.outgoing || actor->reduced < actor->plan.incoming)
			return false;
	}
	return true;
}

static bool is_own_part(const struct setting *s, int rank, uint64_t i)
{
	return s->kind != RING_KIND_REDUCE_SCATTER || i / s->count == (uint64_t)rank;
}

/* Everything is done: nothing is on its way, results are right, inputs as they were. */
static void check_end(const struct world *world)
{
	const struct setting *s = world->setting;
	for (int i = 0; i < world->actor_count; i++) {
		const struct actor *actor = &world->actors[i];
		demand(world, actor->queued == actor->next->released, "links are empty in the end");
		demand(world, actor->payload == ring_plan_cost(&actor->plan).sent_bytes,
		       "the cost is what was sent");
	}
	for (int rank = 0; rank < s->size; rank++) {
		const struct buffer *input = &world->input[rank], *output = &world->output[rank];
		for (uint64_t i = 0; i < output->length; i++)
			demand(world, same(output->values[i], wanted_value(s, rank, i)),
			       "every rank has the result");
		for (uint64_t i = 0; i < input->length; i++)
			demand(world,
			       (s->in_place && is_own_part(s, rank, i)) ||
				       same(input->values[i], own_value(s, rank, i)),
			       "inputs are left alone");
	}
}

#endif
