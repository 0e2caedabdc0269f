/* SPDX-License-Identifier: MIT */
/* The plans that ring_steps is tried with; behind cmocka.h. */
#ifndef TEST_STEPS_H
#define TEST_STEPS_H

#include "tools/steps/walk/choice.h"

#define RANKS 9
#define KINDS ((int)RING_KIND_ALL_TO_ALLV) /* there is no RECV here */

static inline struct steps_choice choice_of(int kind, int algorithm, int ranks)
{
	enum ring_kind call = (enum ring_kind)(kind + (kind >= RING_KIND_RECV));
	struct steps_choice choice = {.kind = ring_kind_even(call),
				      .uneven = ring_kind_is_uneven(call),
				      .algorithm = (enum ring_algorithm)algorithm,
				      .ranks = ranks,
				      .root = ranks > 2 ? 2 : 0,
				      .chunks_per_round = 2,
				      .depth = 64};
	steps_choice_order(&choice);
	return choice;
}

static inline void demand(bool holds, const char *promise, const struct steps_choice *choice)
{
	if (!holds)
		fail_msg("broken: %s (%s by %s, %d ranks, count %d, chunk %d, depth %d)", promise,
			 steps_call_name(choice), ring_algorithm_name(choice->algorithm),
			 choice->ranks, (int)choice->count, (int)choice->chunk_bytes, choice->depth);
}

#endif
