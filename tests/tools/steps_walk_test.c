/* SPDX-License-Identifier: MIT */
/*
 * The walk of ring_steps: what it moves is what the collective is defined as and what the plan costs, and its steps are
 * those that the plan counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/tools/steps.h"
#include "tools/steps/walk/walk.h"

/* What is in a rank's output in the end, by the events alone. */
static void replay(const struct steps_walk *walk, int rank, struct steps_value *output)
{
	for (size_t e = 0; e < walk->event_count; e++) {
		const struct steps_event *event = &walk->events[e];
		enum ring_buffer buffer = event->entry.result.buffer;
		bool lands = buffer == RING_OUTPUT || buffer == RING_PEER_OUTPUT ||
			     buffer == RING_ALL_OUTPUTS || buffer == RING_OTHER_OUTPUTS;
		int ranks[STEPS_RANKS_MOST];
		if (!event->incoming || !lands || event->entry.action == RING_HOLD)
			continue;
		int count = steps_ranks_at(walk, event, buffer, ranks);
		for (int k = 0; k < count; k++)
			for (size_t i = 0; i < event->count && ranks[k] == rank; i++)
				output[event->entry.result.offset / STEPS_ELEMENT_BYTES + i] =
					walk->values[event->begin + i];
	}
}

static int length_of(const struct steps_choice *choice, int part)
{
	return (int)choice->count * (choice->uneven ? part : 1);
}

static int begin_of(const struct steps_choice *choice, int part)
{
	return (int)choice->count * (choice->uneven ? part * (part - 1) / 2 : part);
}

/* Whose part of a rank's output has an element, and where in it. */
static int part_at(const struct steps_choice *choice, int rank, int *at)
{
	bool apart = choice->kind == RING_KIND_ALL_TO_ALL;
	int n = choice->ranks, part = 0;
	for (int length; part < n; part++) {
		length = length_of(choice, apart ? (rank - part + n) % n : part);
		if (*at < length)
			break;
		*at -= length;
	}
	return part;
}

/* Element i of a rank's output as the collective is defined: of whom, which element of theirs, of how many a sum. */
static struct steps_value defined(const struct steps_choice *choice, int rank, uint64_t i)
{
	int n = choice->ranks, at = (int)i, part = part_at(choice, rank, &at);
	int16_t root = (int16_t)steps_position(choice, choice->root);
	switch (choice->kind) {
	case RING_KIND_ALL_REDUCE:
	case RING_KIND_REDUCE:
		return (struct steps_value){(int)i, 0, (int16_t)n};
	case RING_KIND_REDUCE_SCATTER:
		return (struct steps_value){begin_of(choice, rank) + (int)i, 0, (int16_t)n};
	case RING_KIND_ALL_GATHER:
	case RING_KIND_GATHER:
		return (struct steps_value){at, (int16_t)steps_position(choice, part), 1};
	case RING_KIND_ALL_TO_ALL:
		for (int other = 0; other < rank; other++)
			at += length_of(choice, (other - part + n) % n);
		return (struct steps_value){at, (int16_t)steps_position(choice, part), 1};
	case RING_KIND_SCATTER:
		return (struct steps_value){begin_of(choice, rank) + (int)i, root, 1};
	case RING_KIND_SEND:
		return (struct steps_value){(int)i, (int16_t)((rank + n - 1) % n), 1};
	default:
		return (struct steps_value){(int)i, root, 1};
	}
}

static void check_results(const struct steps_walk *walk)
{
	const struct steps_choice *choice = &walk->choice;
	for (int rank = 0; rank < choice->ranks; rank++) {
		uint64_t length = steps_output_length(choice, rank);
		struct steps_value *output = calloc(length + 1, sizeof(*output));
		assert_non_null(output);
		replay(walk, rank, output);
		for (uint64_t i = 0; i < length; i++) {
			struct steps_value wanted = defined(choice, rank, i);
			/* of a sum of all, it is alike who comes first, unless an order is asked for */
			bool whole = wanted.length > 1 && (!choice->in_order || choice->ranks == 2);
			demand(output[i].index == wanted.index && output[i].length == wanted.length &&
				       (whole || output[i].first == wanted.first),
			       "every rank has the result", choice);
		}
		free(output);
	}
}

static void check_walk(const struct steps_choice *choice)
{
	struct steps_walk walk;
	char sentence[512];
	if (steps_choice_refuse(choice, sentence, sizeof(sentence)))
		return;
	demand(steps_walk_make(choice, &walk) == 0, "the plan ends", choice);
	for (int rank = 0; rank < choice->ranks; rank++)
		demand(walk.sent_bytes[rank] == walk.cost_bytes[rank],
		       "as many bytes move as the plan counts", choice);
	check_results(&walk);
	steps_walk_free(&walk);
}

/* Ranks lie the other way around the ring. */
static void turn_round(struct steps_choice *choice)
{
	for (int position = 0; position < choice->ranks; position++)
		choice->order[position] = choice->ranks - 1 - position;
}

/* A student who adds up what the steps show would not get the result, or not the bytes of ring_plan_cost(). */
static void every_plan_does_what_it_is_for(void **state)
{
	(void)state;
	for (int kind = 0; kind < KINDS; kind++)
		for (int algorithm = 0; algorithm < RING_ALGORITHMS; algorithm++)
			for (int ranks = 1; ranks <= RANKS; ranks++) {
				struct steps_choice choice = choice_of(kind, algorithm, ranks);
				steps_choice_complete(&choice);
				check_walk(&choice);
				choice.count = kind == RING_KIND_BARRIER ? 0 : 23;
				choice.chunk_bytes = 2 * STEPS_ELEMENT_BYTES;
				choice.depth = 1;
				check_walk(&choice);
				choice.in_order = true;
				check_walk(&choice);
				choice.count *= 3; /* more than travels with an entry record */
				choice.depth = 3;
				choice.in_order = false;
				if (kind != RING_KIND_SEND)
					turn_round(&choice);
				check_walk(&choice);
			}
}

/* The ring would seem to take more or fewer steps than 2(N-1). */
static void steps_are_those_that_the_plan_counts(void **state)
{
	(void)state;
	int shown = 0;
	for (int kind = 0; kind < KINDS; kind++)
		for (int algorithm = 0; algorithm < RING_ALGORITHMS; algorithm++)
			for (int ranks = 1; ranks <= RANKS; ranks++) {
				struct steps_choice choice = choice_of(kind, algorithm, ranks);
				struct steps_walk walk;
				char sentence[512];
				steps_choice_complete(&choice);
				if (steps_choice_refuse(&choice, sentence, sizeof(sentence)))
					continue;
				assert_int_equal(steps_walk_make(&choice, &walk), 0);
				demand(walk.numbered == (int)walk.cost_steps,
				       "there are as many steps as the plan counts", &choice);
				if (kind == RING_KIND_ALL_REDUCE && algorithm == RING_ALGORITHM_RING)
					assert_int_equal(walk.numbered, 2 * (ranks - 1));
				steps_walk_free(&walk);
				shown++;
			}
	assert_true(shown > 250);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_plan_does_what_it_is_for),
		cmocka_unit_test(steps_are_those_that_the_plan_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
