/* SPDX-License-Identifier: MIT */
/*
 * Links between any two ranks as a plan: each part goes straight to its rank, so each byte travels
 * once. Included by plan.h only.
 *
 * Distances are counted along the ring: at distance d = 1..n-1, position p sends to p+d and receives
 * from p-d, so that no rank is everybody's first; d = n is oneself, a copy. Data go in the order
 * (chunk, distance). Three ranks, all-to-all, who sends to whom:
 *
 *	         d = 1   d = 2 |  d = 3                gather: only what goes to root,
 *	rank 0     1       2   |    0 (copied)         scatter: only what comes from root
 *	rank 1     2       0   |    1
 *	rank 2     0       1   |    2
 *
 * Agreement: all-to-all begins with a signal to every rank, so each hears of all others itself. In
 * gather and scatter a rank signals to its next on the ring (ranks that disagree about the kind still
 * meet there) and to root; root answers all of them once it has heard all of them, so an answer proves
 * that every rank agrees.
 *
 *	out of root    next, then behind all incoming signals: distance 1, 2 ... n-1
 *	into root      prev, distance 1, 2 ... n-1          the first two of these share a link
 *	others         out: next, root      in: prev, root
 *
 * No deadlock at any depth: a rank takes messages in the order (chunk, distance), and the message for
 * which there is no slot is one distance or one chunk ahead of one that is still to be taken; the
 * earliest of all that are waiting can go.
 *
 * Source: the order of distances is that of the pairwise exchange in Thakur, Rabenseifner & Gropp
 * 2005, "Optimization of collective communication operations in MPICH", where steps follow one
 * another; here they overlap as far as slots reach.
 */
#ifndef RING_PLAN_MESH_H
#define RING_PLAN_MESH_H

/* True for a rank that has a link to and from every other one. */
RING_PURE bool ring_mesh_is_hub(const struct ring_plan *plan)
{
	const struct ring_plan_params *params = &plan->params;
	return params->kind == RING_KIND_ALL_TO_ALL ||
	       params->order[params->position] == params->root;
}

/* The rank that lies `distance` of [-n, n] along the ring. */
RING_PURE int ring_mesh_at(const struct ring_plan *plan, int distance)
{
	const struct ring_plan_params *params = &plan->params;
	return params->order[ring_plan_mod(params->position + distance, params->size)];
}

/* Signals on the ring alone; in all-to-all, distance 1 is the ring. */
RING_PURE uint64_t ring_mesh_ring_signals(const struct ring_plan *plan)
{
	return plan->params.kind != RING_KIND_ALL_TO_ALL && plan->params.size > 1;
}

RING_PURE struct ring_plan ring_mesh_make(const struct ring_plan_params *params)
{
	struct ring_plan plan = {.params = *params};
	uint64_t others = params->size - 1;
	bool hub = ring_mesh_is_hub(&plan);
	bool root = hub && params->kind != RING_KIND_ALL_TO_ALL;
	plan.next = ring_mesh_at(&plan, 1);
	plan.prev = ring_mesh_at(&plan, -1);
	plan.edges = hub ? 2 * (params->size - 1) : 4;
	plan.signals = ring_mesh_ring_signals(&plan) + (hub ? others : 1);

	plan.fan_out = others;
	plan.fan_in = others + 1;
	if (params->kind == RING_KIND_GATHER) {
		plan.fan_out = !root;
		plan.fan_in = root ? others + 1 : 0;
	} else if (params->kind == RING_KIND_SCATTER) {
		plan.fan_out = root ? others : 0;
		plan.fan_in = 1;
	}
	ring_plan_cut_part(&plan);
	plan.outgoing = plan.signals + plan.rounds * plan.fan_out;
	plan.incoming = plan.signals + plan.rounds * plan.fan_in;
	return plan;
}

/* The one partner of a rank that is no hub is root. */
RING_PURE int ring_mesh_partner(const struct ring_plan *plan, int distance)
{
	return ring_mesh_is_hub(plan) ? ring_mesh_at(plan, distance) : plan->params.root;
}

/* The answers of a root need all signals. */
RING_PURE struct ring_transfer ring_mesh_outgoing_signal(const struct ring_plan *plan, uint64_t i)
{
	uint64_t ring = ring_mesh_ring_signals(plan);
	if (i < ring)
		return ring_plan_signal(plan->next, 0);
	bool answers = ring > 0 && ring_mesh_is_hub(plan);
	return ring_plan_signal(ring_mesh_partner(plan, (int)(i - ring) + 1),
				answers ? plan->signals : 0);
}

RING_PURE struct ring_transfer ring_mesh_incoming_signal(const struct ring_plan *plan, uint64_t j)
{
	uint64_t ring = ring_mesh_ring_signals(plan);
	if (j < ring)
		return ring_plan_signal(plan->prev, 0);
	return ring_plan_signal(ring_mesh_partner(plan, -(int)(j - ring) - 1), 0);
}

RING_PURE struct ring_transfer ring_mesh_outgoing(const struct ring_plan *plan, uint64_t i)
{
	if (i < plan->signals)
		return ring_mesh_outgoing_signal(plan, i);
	i -= plan->signals;
	uint64_t chunk = plan->fan_out == 1 ? i : i / plan->fan_out;
	int step = (int)(i - chunk * plan->fan_out);
	int peer = ring_mesh_partner(plan, step + 1);
	struct ring_transfer transfer = {.action = RING_SEND, .peer = peer, .step = step};
	transfer.bytes = ring_plan_piece(plan, plan->params.kind == RING_KIND_GATHER ? 0 : peer,
					 chunk, &transfer.source.offset);
	return transfer;
}

RING_PURE struct ring_transfer ring_mesh_incoming(const struct ring_plan *plan, uint64_t j)
{
	if (j < plan->signals)
		return ring_mesh_incoming_signal(plan, j);
	j -= plan->signals;
	enum ring_kind kind = plan->params.kind;
	uint64_t chunk = plan->fan_in == 1 ? j : j / plan->fan_in;
	int step = (int)(j - chunk * plan->fan_in);
	int self = plan->params.order[plan->params.position];
	int peer = kind == RING_KIND_SCATTER ? plan->params.root : ring_mesh_at(plan, -step - 1);
	struct ring_transfer transfer = {.action = RING_COPY, .peer = peer, .step = step};
	ring_plan_piece(plan, kind == RING_KIND_GATHER ? 0 : self, chunk, &transfer.source.offset);
	transfer.result.buffer = RING_OUTPUT;
	transfer.bytes = ring_plan_piece(plan, kind == RING_KIND_SCATTER ? 0 : peer, chunk,
					 &transfer.result.offset);
	return transfer;
}

/* A hub's links by distance, to and from; the others' to next, from prev, to and from root. */
RING_PURE int ring_mesh_edge(const struct ring_plan *plan, int index, bool *outgoing)
{
	int distance = index / 2 + 1;
	*outgoing = index % 2 == 0;
	if (ring_mesh_is_hub(plan) || distance == 1)
		return ring_mesh_at(plan, *outgoing ? distance : -distance);
	return plan->params.root;
}

/* All parts are on their way at once. */
RING_PURE struct ring_plan_cost ring_mesh_cost(const struct ring_plan *plan)
{
	return (struct ring_plan_cost){.steps = plan->params.size > 1,
				       .sent_bytes = plan->fan_out * plan->length *
						     plan->params.element_bytes};
}

#endif
