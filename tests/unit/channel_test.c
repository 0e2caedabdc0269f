/* SPDX-License-Identifier: MIT */
/* Channels that work: results, progress, counts, what they wait for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/channel_team.h"

static void check_counts(const struct team *team)
{
	for (int rank = 0; rank < team->size; rank++) {
		for (int c = 0; c < team->channels; c++) {
			const struct ring_channel *channel = &team->members[rank].channels[c];
			uint64_t sent = 0, planned = 0;
			for (int i = 0; i < channel->route_count; i++)
				sent += channel->routes[i].sent_bytes;
			for (int call = 0; call < team->calls; call++) {
				struct ring_plan plan = plan_for(team, &team->requests[call], rank,
								 c);
				planned += ring_plan_cost(&plan).sent_bytes;
			}
			demand(team, sent == planned, "routes count what plans say");
		}
	}
}

static void results_are_exact(void **state)
{
	(void)state;
	uint64_t landed = 0;
	for (uint64_t seed = 0; seed < (is_long() ? 100000 : 1500); seed++) {
		struct team *team = make_team(first_seed() * 1000000 + seed, 0);
		demand(team, run(team), "every call comes to its end");
		check_counts(team);
		for (int c = 0; c < team->channels && team->size > 1; c++)
			for (int i = 0; i < team->size; i++)
				landed += team->wires[c][i]->landed;
		free_team(team);
	}
	assert_true(landed > 0);
}

/* What a call leaves on the stages the next one overwrites, but not before all have read it. */
static void stages_are_used_again(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (is_long() ? 100000 : 400); seed++) {
		struct team *team = make_team(first_seed() * 1000000 + seed, 0);
		for (int call = 0; call < CALLS; call++) {
			team->requests[call].kind = RING_KIND_ALL_REDUCE;
			team->requests[call].algorithm = RING_ALGORITHM_STAGED;
			team->requests[call].scaled = false;
		}
		demand(team, run(team), "every call comes to its end");
		check_counts(team);
		free_team(team);
	}
}

/* The plan's condition for progress is the channel's. */
static void too_little_room_stops(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct team *team = make_team(first_seed() + seed, 3 + seed % 3);
		team->calls = 1;
		team->requests[0].kind = RING_KIND_ALL_REDUCE;
		team->requests[0].algorithm = RING_ALGORITHM_RING;
		team->requests[0].count = team->chunk * team->chunks_per_round * team->size *
					  team->channels * (1 + seed % 2);
		team->scratch_chunks = 1 + seed % team->chunks_per_round;
		bool enough = (int)(team->depth + team->scratch_chunks) > team->chunks_per_round;
		demand(team, run(team) == enough, "depth + scratch > chunks tells progress");
		free_team(team);
	}
}

static void a_waiting_channel_says_for_whom(void **state)
{
	(void)state;
	struct team *team = make_team(first_seed(), 3);
	team->calls = 1;
	team->requests[0] = (struct request){.kind = RING_KIND_ALL_REDUCE, .count = 300};
	start_call(team, 1);
	for (int i = 0; i < 1000; i++)
		ring_channel_advance(&team->members[1].channels[0]);
	struct ring_channel *channel = &team->members[1].channels[0];
	int step = 7;
	assert_int_equal(ring_channel_waits_for(channel, &step), channel->call.plan->prev);
	assert_int_equal(step, -1); /* its record */

	struct pollfd fds[2 * RING_RING_ROUTES];
	int count = ring_channel_wait_fds(channel, fds);
	assert_int_equal(count, 2);
	for (int i = 0; i < count; i++)
		assert_int_equal(fds[i].fd, fds[i].events == POLLIN ? channel->call.plan->prev
								    : channel->call.plan->next);
	free_team(team);
}

static void closing_accepts_anything(void **state)
{
	(void)state;
	struct ring_channel channel = {0};
	ring_channel_close(&channel);
	assert_int_equal(ring_channel_open(&channel, 0, &lazy_device, 0, 0), 0);
	ring_channel_close(&channel);
	ring_channel_close(&channel);
}

/* Of a plan that is set again nothing is computed twice, and of another one nothing is believed. */
static void what_is_known_stays(void **state)
{
	(void)state;
	static const int order[] = {0, 1, 2};
	static struct ring_known_plan known;
	struct ring_plan_params params = {.kind = RING_KIND_ALL_REDUCE,
					  .algorithm = RING_ALGORITHM_RING,
					  .size = 3,
					  .order = order,
					  .count = 300,
					  .element_bytes = 4,
					  .chunk_bytes = 64,
					  .chunks_per_round = 2,
					  .channels = 1};
	struct ring_plan plan = ring_plan_make(&params);
	ring_known_plan_set(&known, &plan);
	assert_int_equal(known.incoming[1].index, UINT64_MAX);
	uint64_t bytes = ring_known_plan_incoming(&known, 1)->bytes;
	ring_known_plan_set(&known, &plan);
	assert_int_equal(known.incoming[1].index, 1);
	params.count = 30;
	plan = ring_plan_make(&params);
	ring_known_plan_set(&known, &plan);
	assert_int_not_equal(ring_known_plan_incoming(&known, 1)->bytes, bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closing_accepts_anything),
		cmocka_unit_test(results_are_exact),
		cmocka_unit_test(stages_are_used_again),
		cmocka_unit_test(too_little_room_stops),
		cmocka_unit_test(a_waiting_channel_says_for_whom),
		cmocka_unit_test(what_is_known_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
