/* SPDX-License-Identifier: MIT */
/* Runs a world of plans in every order that there is, remembering the states it has been in. */
#ifndef RING_TEST_PLAN_EXPLORE_H
#define RING_TEST_PLAN_EXPLORE_H

#include "tests/unit/plan_run.h"

/* States that were visited, as packed counters; open addressing. */
struct visited {
	uint64_t *states, count, room;
};

static uint64_t *place_of(const struct visited *visited, uint64_t state)
{
	uint64_t dice = state, at = dice_roll(&dice) & (visited->room - 1);
	while (visited->states[at] != 0 && visited->states[at] != state)
		at = (at + 1) & (visited->room - 1);
	return &visited->states[at];
}

/* Returns false if it was there. */
static bool visit(struct visited *visited, uint64_t state)
{
	uint64_t *place = place_of(visited, state);
	if (*place)
		return false;
	*place = state;
	if (++visited->count * 2 < visited->room)
		return true;
	struct visited grown = {.count = visited->count, .room = 2 * visited->room};
	grown.states = calloc(grown.room, sizeof(uint64_t));
	assert_non_null(grown.states);
	for (uint64_t i = 0; i < visited->room; i++)
		if (visited->states[i])
			*place_of(&grown, visited->states[i]) = visited->states[i];
	free(visited->states);
	*visited = grown;
	return true;
}

static uint64_t append(const struct world *world, uint64_t state, int bits, uint64_t counter)
{
	demand(world, counter < UINT64_C(1) << bits, "a state fits a word");
	return state << bits | counter;
}

/* All counters in one word; what memory holds follows from them. Never 0. */
static uint64_t pack(const struct world *world)
{
	int counters = 4 * world->actor_count;
	for (int i = 0; i < world->actor_count; i++)
		counters += world->actors[i].link_count;
	int bits = 63 / counters;
	uint64_t state = 1;
	for (int i = 0; i < world->actor_count; i++) {
		const struct actor *a = &world->actors[i];
		const uint64_t own[] = {a->posted, a->sent, a->started, a->reduced};
		for (int k = 0; k < 4; k++)
			state = append(world, state, bits, own[k]);
		for (int k = 0; k < a->link_count; k++)
			state = append(world, state, bits, a->links[k].flown);
	}
	return state;
}

/* Makes move k of an actor, where the links follow the other moves; false if it cannot. */
static bool make_one_of_all_moves(struct world *world, struct actor *actor, int k)
{
	if (k >= MOVES)
		return fly_over(world, &actor->links[k - MOVES]);
	return k != MOVE_FLY && make_move(world, actor, (enum move)k);
}

/* Makes every possible move from here, goes on from there, and undoes it. */
static void explore(struct world *world, struct visited *visited)
{
	if (!visit(visited, pack(world)))
		return;
	struct world *before = malloc(world->bytes);
	assert_non_null(before);
	memcpy(before, world, world->bytes);
	bool moved = false;
	for (int i = 0; i < world->actor_count; i++) {
		struct actor *actor = &world->actors[i];
		for (int k = 0; k < MOVES + actor->link_count; k++) {
			if (!make_one_of_all_moves(world, actor, k))
				continue;
			moved = true;
			explore(world, visited);
			memcpy(world, before, world->bytes);
		}
	}
	free(before);
	if (moved)
		return;
	demand(world, all_done(world), "every interleaving comes to the end");
	check_end(world);
}

static uint64_t explore_setting(struct setting *setting)
{
	for (int i = 0; i < setting->size; i++)
		setting->order[i] = i;
	struct world *world = make_world(setting);
	struct visited visited = {.room = 1 << 16, .states = calloc(1 << 16, sizeof(uint64_t))};
	assert_non_null(visited.states);
	explore(world, &visited);
	free(visited.states);
	free(world);
	return visited.count;
}

#endif
