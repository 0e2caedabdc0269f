/* SPDX-License-Identifier: MIT */
/* Asks src/choose/tuning.h. */
#include "choice.h"

#include <string.h>

#include "base/datatype.h"
#include "comm/comm.h"
#include "tests/place.h"

static enum ring_kind kind_of(const struct call *call)
{
	int kind = 0;
	while (strcmp(ring_kind_name((enum ring_kind)kind), call_kind_name(call->kind)) != 0)
		kind++;
	return (enum ring_kind)kind;
}

static enum ring_memory memory_of(const struct ring_comm *comm, bool shared)
{
	if (shared)
		return RING_MEMORY_SHARED;
	return comm->run.partners.all_reach ? RING_MEMORY_REACHABLE : RING_MEMORY_PRIVATE;
}

static bool is_in_order(const struct ring_comm *comm, enum ring_op op, enum ring_datatype type)
{
	return comm->team.config.order[0] && ring_op_shows_order(op, type);
}

struct call_way choice_of(const struct ring_comm *comm, const struct call *call, bool shared)
{
	struct ring_question question = {
		.kind = kind_of(call),
		.ranks = comm->team.size,
		.order = comm->team.order,
		.bytes = call->count * element_bytes(call->type),
		.path = comm->team.placement.path,
		.memory = memory_of(comm, shared),
		.scaled = call->scalars != NULL,
		.in_order = call_kind_reduces(call->kind) && is_in_order(comm, call->op, call->type),
		.staged = comm->run.partners.stage.all != NULL,
		.apart = place_is_far() && kind_of(call) != RING_KIND_BARRIER,
	};
	if (!ring_tuning_reaches(&comm->team.placement.tuning, &question))
		question.memory = RING_MEMORY_PRIVATE;
	struct ring_choice choice = ring_tuning_choose(&comm->team.placement.tuning, &question);
	struct call_way way = {.size = comm->team.size, .order = comm->team.order};
	if (choice.algorithm == RING_ALGORITHM_ONE_SHOT || choice.algorithm == RING_ALGORITHM_BRUCK)
		way.algorithm = BY_ONE_SHOT;
	else if (choice.algorithm == RING_ALGORITHM_TWO_SHOT ||
		 choice.algorithm == RING_ALGORITHM_STAGED) /* alike in bytes and bits */
		way.algorithm = BY_TWO_SHOT;
	else if (choice.algorithm == RING_ALGORITHM_STRIDE)
		way.algorithm = BY_STRIDE;
	else if (choice.algorithm == RING_ALGORITHM_DIRECT)
		way.algorithm = DIRECTLY;
	else if (choice.algorithm == RING_ALGORITHM_TREE)
		way.algorithm = BY_TREE;
	return way;
}

/* What all know of the longest part. */
static uint64_t longest_of(const struct uneven *uneven)
{
	size_t longest = 0;
	for (int rank = 0; rank < uneven->size; rank++) {
		size_t part = uneven_part(uneven, rank, rank);
		longest = longest < part ? part : longest;
	}
	return longest * element_bytes(uneven->type);
}

struct call_way choice_of_uneven(const struct ring_comm *comm, const struct uneven *uneven)
{
	bool known = uneven->kind == REDUCE_SCATTERV || uneven->kind == ALL_GATHERV;
	const struct ring_question question = {
		.kind = uneven->kind == REDUCE_SCATTERV ? RING_KIND_REDUCE_SCATTER
							: RING_KIND_ALL_GATHER,
		.ranks = comm->team.size,
		.order = comm->team.order,
		.bytes = longest_of(uneven),
		.path = comm->team.placement.path,
		.in_order = uneven->kind == REDUCE_SCATTERV &&
			    is_in_order(comm, uneven->op, uneven->type),
		.uneven = true,
		.staged = comm->run.partners.stage.all != NULL,
		.apart = place_is_far(),
	};
	struct ring_choice choice = ring_tuning_choose(&comm->team.placement.tuning, &question);
	bool around = known && choice.algorithm == RING_ALGORITHM_RING;
	return (struct call_way){.size = comm->team.size,
				 .order = comm->team.order,
				 .algorithm = around ? BY_RING : BY_ONE_SHOT};
}
