/* SPDX-License-Identifier: MIT */
/* Asks src/tuning.h. */
#include "choice.h"

#include <string.h>

#include "src/comm.h"

static enum ring_kind kind_of(const struct call *call)
{
	int kind = 0;
	while (strcmp(ring_kind_name((enum ring_kind)kind), call_kind_name(call->kind)) != 0)
		kind++;
	return (enum ring_kind)kind;
}

struct call_way choice_of(const struct ring_comm *comm, const struct call *call)
{
	struct ring_question question = {
		.kind = kind_of(call),
		.ranks = comm->size,
		.bytes = call->count * element_bytes(call->type),
		.path = comm->placement.path,
		.scaled = call->scalars != NULL,
	};
	struct ring_choice choice = ring_tuning_choose(&comm->placement.tuning, &question);
	struct call_way way = {.size = comm->size, .order = comm->order};
	if (choice.algorithm == RING_ALGORITHM_ONE_SHOT)
		way.algorithm = BY_ONE_SHOT;
	else if (choice.algorithm == RING_ALGORITHM_TWO_SHOT)
		way.algorithm = BY_TWO_SHOT;
	return way;
}
