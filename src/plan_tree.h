/* SPDX-License-Identifier: MIT */
/*
 * A broadcast of few bytes, down a tree. Included by plan.h only.
 *
 * They travel with the entry record: a rank compares it with its own, keeps the bytes and passes both on. Nobody
 * answers, so root is done once its messages are on their way. Ranks count from root along the ring; place p sends
 * to p + 2^k for all 2^k below the lowest bit that p has, root for all, the farthest first. Eight ranks:
 *
 *	0 -+-> 4 -+-> 6 --> 7
 *	   |      `-> 5
 *	   +-> 2 --> 3
 *	   `-> 1
 *
 * Agreement: a rank that makes another call has a message of its parent that it did not ask for, which it looks at
 * when it has waited long (receive.h), as all ranks but root wait for something. Who is done by then learns of it in
 * a later call.
 *
 * No deadlock at any depth: messages go down only.
 *
 * Source: the binomial tree that short broadcasts take in Thakur, Rabenseifner & Gropp 2005, "Optimization of
 * collective communication operations in MPICH".
 */
#ifndef RING_PLAN_TREE_H
#define RING_PLAN_TREE_H

/* True if a tree can carry so many bytes. */
RING_PURE bool ring_tree_fits(enum ring_kind kind, uint64_t bytes)
{
	return kind == RING_KIND_BROADCAST && bytes <= RING_OPENING_BYTES;
}

RING_PURE int ring_tree_place(const struct ring_plan *plan)
{
	int distance = 0;
	while (ring_plan_at(plan, -distance) != plan->params.root)
		distance++;
	return distance;
}

/* How far away the first child is, 0 without children. */
RING_PURE int ring_tree_farthest(int place, int size)
{
	int below = 1;
	while (below < size && !(place & below))
		below *= 2;
	do
		below /= 2;
	while (place + below >= size);
	return below;
}

RING_PURE struct ring_plan ring_tree_make(const struct ring_plan_params *params)
{
	struct ring_plan plan = {.params = *params};
	bool is_root = ring_plan_self(&plan) == params->root;
	plan.unanswered = true;
	plan.opening = params->count * params->element_bytes;
	plan.begin = ring_share_begin(params->count, params->channels, params->channel);
	plan.length = ring_share_length(params->count, params->channels, params->channel);
	plan.chunk = plan.length;
	plan.hop = ring_tree_place(&plan);
	for (int away = ring_tree_farthest(plan.hop, params->size); away > 0; away /= 2)
		plan.outgoing++;
	plan.incoming = 1;
	plan.edges = (int)plan.outgoing + !is_root;
	return plan;
}

RING_PURE int ring_tree_child(const struct ring_plan *plan, int index)
{
	return ring_plan_at(plan, ring_tree_farthest(plan->hop, plan->params.size) >> index);
}

RING_PURE int ring_tree_parent(const struct ring_plan *plan)
{
	int lowest = plan->hop & -plan->hop;
	return ring_plan_at(plan, -lowest);
}

/* What root and all others have, at the same place. */
RING_PURE struct ring_transfer ring_tree_piece(const struct ring_plan *plan)
{
	uint64_t offset = plan->begin * plan->params.element_bytes;
	return (struct ring_transfer){
		.source = {RING_INPUT, offset},
		.result = {RING_OUTPUT, offset},
		.bytes = plan->length * plan->params.element_bytes,
	};
}

RING_PURE struct ring_transfer ring_tree_outgoing(const struct ring_plan *plan, uint64_t i)
{
	bool is_root = ring_plan_self(plan) == plan->params.root;
	struct ring_transfer transfer = ring_tree_piece(plan);
	transfer.action = RING_SEND;
	transfer.peer = ring_tree_child(plan, (int)i);
	transfer.opens = true;
	transfer.step = (int)i;
	if (!is_root) {
		transfer.source.buffer = RING_OUTPUT;
		transfer.needs = 1;
	}
	return transfer;
}

/* Root's own bytes are copied once they are sent. */
RING_PURE struct ring_transfer ring_tree_incoming(const struct ring_plan *plan)
{
	bool is_root = ring_plan_self(plan) == plan->params.root;
	struct ring_transfer transfer = ring_tree_piece(plan);
	transfer.action = RING_COPY;
	transfer.peer = is_root ? plan->params.root : ring_tree_parent(plan);
	transfer.opens = !is_root;
	transfer.needs = is_root ? plan->outgoing : 0;
	return transfer;
}

/* To the children, and last from the parent. */
RING_PURE int ring_tree_edge(const struct ring_plan *plan, int index, bool *outgoing)
{
	*outgoing = (uint64_t)index < plan->outgoing;
	return *outgoing ? ring_tree_child(plan, index) : ring_tree_parent(plan);
}

/* The place that has most bits is deepest. */
RING_PURE struct ring_plan_cost ring_tree_cost(const struct ring_plan *plan)
{
	const struct ring_plan_params *params = &plan->params;
	uint64_t levels = 0;
	while (2 << levels <= params->size)
		levels++;
	return (struct ring_plan_cost){.steps = levels,
				       .sent_bytes = plan->outgoing * plan->length *
						     params->element_bytes};
}

#endif
