/* SPDX-License-Identifier: MIT */
/*
 * Counting finds the same entries as dividing: both sequences of a ring's plan, of every kind, for
 * every number of ranks up to 64 and every position. The long form has more counts and shapes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/ring_cursor.h"
#include "tests/unit/plan_ways.h"

static bool is_same_place(struct ring_place a, struct ring_place b)
{
	return a.buffer == b.buffer && a.offset == b.offset;
}

static bool is_same(const struct ring_transfer *a, const struct ring_transfer *b)
{
	return a->action == b->action && a->peer == b->peer && is_same_place(a->source, b->source) &&
	       is_same_place(a->result, b->result) && a->bytes == b->bytes &&
	       a->needs == b->needs && a->exchange == b->exchange && a->opens == b->opens &&
	       a->last == b->last && a->behind == b->behind && a->held.count == b->held.count &&
	       a->pile.count == b->pile.count && a->step == b->step;
}

/* Every entry of one sequence. Returns how many there are. */
static uint64_t walk(const struct setting *s, const struct ring_plan *plan, bool outgoing)
{
	const uint64_t entries = outgoing ? plan->outgoing : plan->incoming;
	struct ring_cursor cursor = ring_cursor_first(plan, outgoing);
	for (uint64_t i = 0; i < entries; i++, ring_cursor_next(plan, &cursor)) {
		struct ring_transfer counted = ring_cursor_entry(plan, &cursor);
		struct ring_transfer divided = outgoing ? ring_plan_outgoing(plan, i)
							: ring_plan_incoming(plan, i);
		if (cursor.index == i && is_same(&counted, &divided))
			continue;
		char text[256];
		describe(s, text, sizeof(text));
		fail_msg("%s entry %" PRIu64 " of position %d differs (%s)",
			 outgoing ? "outgoing" : "incoming", i, plan->params.position, text);
	}
	return entries;
}

static uint64_t walk_all(const struct setting *s, int channel)
{
	uint64_t entries = 0;
	for (int position = 0; position < s->size; position++) {
		struct ring_plan plan = plan_of(s, position, channel);
		entries += walk(s, &plan, true) + walk(s, &plan, false);
	}
	return entries;
}

/* Small numbers of ranks have all shapes, large ones share them out among them. */
static uint64_t walk_shapes(enum ring_kind kind, int size, uint64_t *dice)
{
	const struct way ring = {.kind = kind, .algorithm = RING_ALGORITHM_RING};
	const int shapes = is_long() ? 96 : size <= 8 ? 24 : size <= 16 ? 8 : 3;
	uint64_t entries = 0;
	for (int shape = size; shape < size + shapes; shape++) {
		struct setting s = some_setting(ring, size, shape, dice);
		shuffle(s.order, size, dice);
		s.scaled = can_scale(ring) && shape % 2;
		s.channels = 1 + shape % 3;
		if (shape % 4 == 3) /* less scratch than is planned */
			s.scratch_chunks = plan_of(&s, 0, 0).scratch_chunks / 2;
		entries += walk_all(&s, (int)dice_below(dice, s.channels));
	}
	return entries;
}

static void counting_finds_what_dividing_finds(void **state)
{
	(void)state;
	uint64_t dice = first_seed(), entries = 0;
	for (int size = 1; size <= RANKS_MAX; size++)
		for (int kind = 0; kind <= RING_KIND_REDUCE; kind++)
			entries += walk_shapes((enum ring_kind)kind, size, &dice);
	print_message("%" PRIu64 " entries, seed 0x%" PRIx64 "\n", entries, first_seed());
	assert_true(entries > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counting_finds_what_dividing_finds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
