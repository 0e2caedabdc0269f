/* SPDX-License-Identifier: MIT */
/* What is kept of a plan: entries as they are, and which results may go past the caches: no copy that is sent on. */
#include "engine/known_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/plan_ways.h"

static bool goes_past(enum ring_kind kind, enum ring_algorithm algorithm, int size, bool much)
{
	static struct ring_known_plan known;
	struct setting s = plain_setting(kind, algorithm, size, 1 << 10);
	s.past = much;
	struct ring_plan plan = plan_of(&s, 0, 0);
	ring_known_plan_set(&known, &plan);
	return known.past;
}

static void what_is_sent_on_stays(void **state)
{
	(void)state;
	assert_true(goes_past(RING_KIND_BROADCAST, RING_ALGORITHM_DIRECT, 4, true));
	assert_false(goes_past(RING_KIND_BROADCAST, RING_ALGORITHM_DIRECT, 4, false));
	assert_true(goes_past(RING_KIND_ALL_GATHER, RING_ALGORITHM_ONE_SHOT, 4, true));
	assert_true(goes_past(RING_KIND_ALL_REDUCE, RING_ALGORITHM_STAGED, 4, true));
	assert_true(goes_past(RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING, 2, true));
	assert_false(goes_past(RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING, 2, false));
	assert_false(goes_past(RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING, 3, true));
	assert_false(goes_past(RING_KIND_BROADCAST, RING_ALGORITHM_RING, 4, true));
}

static bool overlap(const struct ring_place *a, uint64_t a_bytes, const struct ring_place *b,
		    uint64_t b_bytes)
{
	return a->buffer == b->buffer && a->offset < b->offset + b_bytes &&
	       b->offset < a->offset + a_bytes;
}

/* Whether any entry sends what another one copied to OUTPUT. */
static bool sends_a_copy(const struct ring_plan *plan)
{
	for (uint64_t i = 0; i < plan->outgoing; i++) {
		struct ring_transfer out = ring_plan_outgoing(plan, i);
		if (out.source.buffer != RING_OUTPUT || out.bytes == 0)
			continue;
		for (uint64_t j = 0; j < plan->incoming; j++) {
			struct ring_transfer in = ring_plan_incoming(plan, j);
			if (in.action == RING_COPY &&
			    overlap(&out.source, out.bytes, &in.result, in.bytes))
				return true;
		}
	}
	return false;
}

static void what_goes_past_is_not_sent_on(void **state)
{
	(void)state;
	uint64_t dice = first_seed();
	for (int pick = 0; pick < 40 * count_ways(); pick++) {
		struct setting s = some_setting(way_of(pick), 1 + pick % 9, (uint64_t)pick, &dice);
		shuffle(s.order, s.size, &dice);
		for (int place = 0; place < actors_of(&s); place++) {
			struct ring_plan plan = plan_of(&s, place, 0);
			demand(&(struct world){.setting = &s},
			       plan.sends_on || !sends_a_copy(&plan), "a copy is not sent on");
		}
	}
}

/* Entries are kept field by field. */
static void entries_are_kept_whole(void **state)
{
	(void)state;
	static struct ring_known_plan known;
	struct setting s = plain_setting(RING_KIND_BROADCAST, RING_ALGORITHM_RING, 2, 3);
	for (int place = 0; place < 2; place++) {
		struct ring_plan plan = plan_of(&s, place, 0);
		ring_known_plan_set(&known, &plan);
		for (uint64_t i = 0; i < plan.outgoing; i++) {
			struct ring_transfer out = ring_plan_outgoing(&plan, i);
			const struct ring_transfer *kept = ring_known_plan_outgoing(&known, i);
			assert_int_equal(kept->action, out.action);
			assert_int_equal(kept->bytes, out.bytes);
			assert_int_equal(kept->needs, out.needs);
			assert_int_equal(kept->opens, out.opens);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_kept_whole),
		cmocka_unit_test(what_is_sent_on_stays),
		cmocka_unit_test(what_goes_past_is_not_sent_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
