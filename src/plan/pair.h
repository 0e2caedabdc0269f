/* SPDX-License-Identifier: MIT */
/*
 * One rank sends to another, as a plan: the entry record, then the chunks. To the same rank it is a
 * copy, which the receiver makes. Included by plan.h only.
 *
 * The sender's source is its INPUT, the receiver's result its OUTPUT. A copy is a RECV whose INPUT
 * is the buffer of the same rank's SEND.
 */
#ifndef RING_PLAN_PAIR_H
#define RING_PLAN_PAIR_H

RING_PURE bool ring_pair_can(enum ring_kind kind, int size, uint64_t bytes)
{
	(void)size, (void)bytes;
	return ring_kind_is_message(kind);
}

RING_PURE struct ring_plan ring_pair_make(const struct ring_plan_params *params)
{
	struct ring_plan plan = {.params = *params};
	bool sends = params->kind == RING_KIND_SEND;
	bool apart = params->order[params->position] != params->root;
	plan.next = plan.prev = params->root;
	plan.edges = apart;
	ring_plan_cut_part(&plan);
	if (sends) {
		plan.outgoing = apart ? 1 + plan.rounds : 0;
	} else {
		plan.signals = apart;
		plan.incoming = plan.signals + plan.rounds;
	}
	plan.agreed = plan.signals;
	return plan;
}

RING_PURE struct ring_transfer ring_pair_outgoing(const struct ring_plan *plan, uint64_t i)
{
	if (i == 0)
		return ring_plan_signal(plan->params.root, 0);
	struct ring_transfer transfer = {.action = RING_SEND, .peer = plan->params.root};
	transfer.bytes = ring_plan_piece(plan, 0, i - 1, &transfer.source.offset);
	return transfer;
}

RING_PURE struct ring_transfer ring_pair_incoming(const struct ring_plan *plan, uint64_t j)
{
	if (j < plan->signals)
		return ring_plan_signal(plan->params.root, 0);
	struct ring_transfer transfer = {.action = RING_COPY, .peer = plan->params.root};
	transfer.bytes = ring_plan_piece(plan, 0, j - plan->signals, &transfer.source.offset);
	transfer.result = (struct ring_place){RING_OUTPUT, transfer.source.offset};
	return transfer;
}

RING_PURE int ring_pair_edge(const struct ring_plan *plan, int index, bool *outgoing)
{
	(void)index;
	*outgoing = plan->params.kind == RING_KIND_SEND;
	return plan->params.root;
}

RING_PURE struct ring_plan_cost ring_pair_cost(const struct ring_plan *plan)
{
	bool sends = plan->params.kind == RING_KIND_SEND && plan->edges > 0;
	return (struct ring_plan_cost){
		.steps = plan->edges > 0,
		.sent_bytes = sends ? plan->share.length * plan->params.element_bytes : 0};
}

#endif
