/* SPDX-License-Identifier: MIT */
/*
 * Channels that cannot work: records that differ, sizes that are wrong, links that break at each
 * operation, a device that fails at each look.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/channel_team.h"

/* Makes the odd one's request differ in something. */
static void disagree(struct team *team, int what)
{
	struct request *odd = &team->odd;
	*odd = team->requests[0];
	if (what == 0)
		odd->count++;
	else if (what == 1)
		odd->kind = (enum ring_kind)((odd->kind + 1) % KINDS);
	else if (what == 2)
		odd->root++;
	else if (what == 3)
		odd->op = odd->op == RING_SUM ? RING_AVG : RING_SUM;
	else if (what == 4)
		odd->sequence++;
	else
		team->garbles = true;
	if (odd->root == team->size)
		odd->root = 0;
	if (odd->kind == RING_KIND_BARRIER)
		odd->count = 0;
}

static bool is_untouched(const struct team *team, int rank)
{
	const struct request *request = rank == team->odd_one ? &team->odd : &team->requests[0];
	const struct member *member = &team->members[rank];
	float garbage;
	memset(&garbage, 0x5a, sizeof(garbage));
	uint64_t length = input_length(team, request, rank);
	bool same = length == 0 ||
		    memcmp(member->input, team->inputs[0][rank], length * sizeof(float)) == 0;
	length = output_length(team, request, rank);
	for (uint64_t i = 0; i < length; i++) {
		const float *place = &member->output[i];
		bool is_input = member->input && place >= member->input &&
				place < member->input + input_length(team, request, rank);
		same = same && (is_input || memcmp(place, &garbage, sizeof(garbage)) == 0);
	}
	return same;
}

static bool waits(const struct team *team, int rank)
{
	const struct member *member = &team->members[rank];
	return !member->err && member->calls == 0;
}

/* Those who wait long tell their neighbours on the ring in which call, and hear the same of them (progress.c). */
static void ask_neighbours(struct team *team)
{
	for (int position = 0; position < team->size; position++) {
		int a = team->order[position], b = team->order[(position + 1) % team->size];
		struct member *one = &team->members[a], *other = &team->members[b];
		if (waits(team, a) && waits(team, b) &&
		    one->record.sequence == other->record.sequence &&
		    !ring_record_equals(&one->record, &other->record))
			one->err = other->err = RING_EMISMATCH;
	}
}

/* A user would see results in buffers that the others never agreed to, or ranks that wait for ever. */
static void differing_calls_touch_nothing(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (is_long() ? 40000 : 3000); seed++) {
		int what = (int)(seed % 6);
		struct team *team = make_team(first_seed() * 1000000 + seed, 2 + seed % 5);
		team->odd_one = (int)dice_below(&lazy_dice, team->size);
		disagree(team, what);
		bool same_record = what == 2 && team->odd.root == team->requests[0].root;
		same_record = same_record || (what == 0 && team->odd.kind == RING_KIND_BARRIER);
		if (same_record) {
			free_team(team);
			continue;
		}
		team->calls = 1;
		demand(team, !run(team), "ranks that differ do not come to an end");
		bool rings = algorithm_of(team, &team->odd) == RING_ALGORITHM_RING &&
			     algorithm_of(team, &team->requests[0]) == RING_ALGORITHM_RING;
		if (!rings && !team->garbles)
			ask_neighbours(team);
		int position = position_of(team, team->odd_one);
		int next = team->order[(position + 1) % team->size];
		int seen = 0;
		for (int rank = 0; rank < team->size; rank++) {
			int err = team->members[rank].err;
			demand(team, is_untouched(team, rank), "no rank's buffers are touched");
			demand(team, err == 0 || rank == next || rank == team->odd_one || !rings,
			       "on a ring, only these two see that records differ");
			bool garbled = team->garbles && rank != team->odd_one;
			demand(team, err == 0 || err == (garbled ? RING_EPEER : RING_EMISMATCH),
			       "a difference is a mismatch, garbage a lost peer");
			seen += err != 0;
		}
		demand(team, seen > 0, "one of them sees it");
		free_team(team);
	}
}

static void wrong_sizes_are_refused(void **state)
{
	(void)state;
	uint64_t refused = 0;
	for (uint64_t seed = 0; seed < 60; seed++) {
		uint64_t messages = 1;
		for (uint64_t k = 1; k <= messages; k++) {
			struct team *team = make_team(first_seed() + seed, 2 + seed % 3);
			int position = (int)(seed % team->size);
			struct lazy_wire *wire = team->wires[0][position];
			wire->wrong_at = k;
			wire->wrong_bytes = seed % 2 ? SLOT_BYTES + 1 : 1;
			struct member *victim =
				&team->members[team->order[(position + 1) % team->size]];
			team->calls = 1;
			bool done = run(team);
			messages = wire->posted;
			bool exact = wire->wrong_bytes == sizeof(float) && done;
			demand(team, exact || !done || messages < k, "a wrong size is seen");
			if (!done) {
				demand(team, victim->err == RING_EPEER,
				       "a wrong size is the sender's failure");
				demand(team,
				       victim->channels[0].failed_peer == team->order[position],
				       "the failure names the sender");
				refused++;
			}
			free_team(team);
		}
	}
	assert_true(refused > 100);
}

/* Breaks one end of one link at operation k. Returns false once k is beyond the call's end. */
static bool break_at(uint64_t seed, uint64_t k, bool sender)
{
	struct team *team = make_team(seed, 2 + seed % 4);
	int position = (int)(seed % team->size);
	struct lazy_wire *wire = team->wires[0][position];
	struct lazy_end *end = sender ? &wire->sender : &wire->receiver;
	end->break_at = k;
	struct member *victim = &team->members[end->base.self];
	team->calls = 2;
	bool done = run(team);
	bool reached = end->operations >= k;
	demand(team, reached || done, "only the broken link stops the call");
	demand(team, done || victim->err == RING_EPEER, "a broken link is a lost peer");
	if (!done)
		demand(team, victim->channels[0].failed_peer == end->base.peer,
		       "the failure names the other end");
	free_team(team);
	return reached;
}

static void links_break_at_each_operation(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (is_long() ? 200 : 20); seed++)
		for (int sender = 0; sender < 2; sender++)
			for (uint64_t k = 1; break_at(first_seed() + seed, k, sender); k++)
				;
}

/* Whose last messages are shown as sent only when their receiver has gone, as paced ones may be, is done all the same. */
static void a_receiver_that_has_all_may_go(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (is_long() ? 2000 : 200); seed++) {
		struct team *team = make_team(first_seed() + seed, 2);
		team->calls = 1;
		for (int c = 0; c < team->channels; c++)
			for (int rank = 0; rank < 2; rank++)
				team->mesh[c][rank][1 - rank]->leaver =
					&team->members[1 - rank].calls;
		demand(team, run(team), "who waits for nothing is done");
		free_team(team);
	}
}

/* A run up to each look takes long, so a team tries every seventh, and the next one those beside them. */
static void the_device_fails_at_each_look(void **state)
{
	(void)state;
	int stride = is_long() ? 1 : 7;
	for (uint64_t seed = 0; seed < 21; seed++) {
		int failed = 1;
		for (int k = 1 + (int)(seed % (uint64_t)stride); failed; k += stride) {
			struct team *team = make_team(first_seed() + seed, 0);
			team->calls = 1;
			lazy_fails_in = k;
			bool done = run(team);
			failed = 0;
			for (int rank = 0; rank < team->size; rank++)
				failed += team->members[rank].err == RING_ESYSTEM;
			demand(team, failed == !done, "one device's failure is its rank's");
			free_team(team);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differing_calls_touch_nothing),
		cmocka_unit_test(wrong_sizes_are_refused),
		cmocka_unit_test(links_break_at_each_operation),
		cmocka_unit_test(a_receiver_that_has_all_may_go),
		cmocka_unit_test(the_device_fails_at_each_look),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
