/* SPDX-License-Identifier: MIT */
/*
 * All-reduce in two steps over links between any two ranks. Included by plan.h only.
 *
 * The vector is cut into a block for each rank, as the ring's. In the first step every rank sends
 * each block straight to its owner, and the owner adds it up; in the second the owner sends the
 * result to all others. Three ranks, who sends which block to whom:
 *
 *	         first          second
 *	rank 0   1:1  2:2       0:1  0:2       a block goes out once to be added,
 *	rank 1   2:2  0:0       1:2  1:0       and n-1 times added
 *	rank 2   0:0  1:1       2:0  2:1
 *
 * That is a reduce-scatter and an all-gather in one shot each (plan/one_shot.h), and it adds in the
 * same order, which is the ring's. The two overlap: a chunk's result is sent `ahead` chunks after
 * its summands, so that while one is waited for, the other is on its way.
 *
 *	ahead 1:   first(0) first(1) second(0) first(2) second(1) ... second(last)
 *
 * No deadlock at any depth: all ranks send and take in this one order, and a message needs at most
 * what is taken before it. Nothing in it needs a message of the same chunk and step, nor scratch.
 *
 * Overwriting a block in the second step is safe: its result comes only after its owner has what
 * was sent of it.
 *
 * Source: Thakur, Rabenseifner & Gropp 2005, "Optimization of collective communication operations
 * in MPICH": Rabenseifner's all-reduce is a reduce-scatter and an all-gather; here each is their
 * pairwise exchange, with steps that overlap.
 */
#ifndef RING_PLAN_TWO_SHOT_H
#define RING_PLAN_TWO_SHOT_H

/* Chunks whose summands are sent before the first result. */
RING_PURE uint64_t ring_two_shot_ahead(const struct ring_plan *plan)
{
	uint64_t ahead = (uint64_t)plan->params.chunks_per_round;
	return ahead < plan->rounds ? ahead : plan->rounds;
}

RING_PURE bool ring_two_shot_can(enum ring_kind kind, int size, uint64_t bytes)
{
	(void)size, (void)bytes;
	return kind == RING_KIND_ALL_REDUCE;
}

RING_PURE struct ring_plan ring_two_shot_make(const struct ring_plan_params *params)
{
	struct ring_plan plan = ring_plan_begin(params);
	uint64_t others = params->size - 1;
	plan.edges = 2 * (params->size - 1);
	plan.signals = others;
	plan.fan.out = others;
	plan.fan.in = others + 1;
	ring_plan_cut_blocks(&plan, 1);
	plan.outgoing = plan.signals + plan.rounds * 2 * others;
	plan.incoming = plan.signals + plan.rounds * (plan.fan.in + others);
	plan.agreed = plan.signals;
	plan.mutual = true;
	plan.sends_on = params->size > 2;
	return plan;
}

/* An entry behind the signals: of which step, which chunk, and its number within that. */
struct ring_two_shot_index {
	bool second;
	uint64_t chunk;
	int entry;
};

/* Where the first step has `first` entries of each chunk, and the second n-1. */
RING_PURE struct ring_two_shot_index ring_two_shot_split(const struct ring_plan *plan,
							 uint64_t index, uint64_t first)
{
	uint64_t ahead = ring_two_shot_ahead(plan), second = plan->fan.out;
	if (index < ahead * first)
		return (struct ring_two_shot_index){false, index / first, (int)(index % first)};
	index -= ahead * first;
	uint64_t both = first + second, chunk = index / both, entry = index % both;
	uint64_t mixed = plan->rounds - ahead;
	if (chunk >= mixed) { /* the last results, with nothing to send before them */
		index -= mixed * both;
		return (struct ring_two_shot_index){true, mixed + index / second,
						    (int)(index % second)};
	}
	if (entry < first)
		return (struct ring_two_shot_index){false, ahead + chunk, (int)entry};
	return (struct ring_two_shot_index){true, chunk, (int)(entry - first)};
}

/* Incoming entries up to the sum of a chunk: it is the last of its first step. */
RING_PURE uint64_t ring_two_shot_summed(const struct ring_plan *plan, uint64_t chunk)
{
	uint64_t ahead = ring_two_shot_ahead(plan);
	uint64_t results = chunk < ahead ? 0 : chunk - ahead;
	return plan->signals + (chunk + 1) * plan->fan.in + results * plan->fan.out;
}

RING_PURE struct ring_transfer ring_two_shot_outgoing(const struct ring_plan *plan, uint64_t i)
{
	if (i < plan->signals)
		return ring_plan_signal(ring_plan_at(plan, (int)i + 1), 0);
	struct ring_two_shot_index at = ring_two_shot_split(plan, i - plan->signals, plan->fan.out);
	int peer = ring_plan_at(plan, at.entry + 1), self = ring_plan_self(plan);
	struct ring_transfer transfer = {.action = RING_SEND,
					 .peer = peer,
					 .source = {at.second ? RING_OUTPUT : RING_INPUT, 0},
					 .needs = at.second ? ring_two_shot_summed(plan, at.chunk)
							    : 0,
					 .step = at.second};
	transfer.bytes = ring_plan_chunk(plan, at.second ? self : peer, at.chunk,
					 &transfer.source.offset);
	return transfer;
}

RING_PURE struct ring_transfer ring_two_shot_incoming(const struct ring_plan *plan, uint64_t j)
{
	if (j < plan->signals)
		return ring_plan_signal(ring_plan_at(plan, -(int)j - 1), 0);
	struct ring_two_shot_index at = ring_two_shot_split(plan, j - plan->signals, plan->fan.in);
	int peer = at.second ? ring_plan_at(plan, -at.entry - 1) : ring_plan_self(plan);
	uint64_t offset, bytes = ring_plan_chunk(plan, peer, at.chunk, &offset);
	if (!at.second && at.entry < (int)plan->fan.out)
		return ring_plan_hold(plan, at.entry, bytes);
	if (!at.second) {
		struct ring_transfer sum = ring_plan_sum(plan, j - plan->fan.out, 0, offset, offset);
		sum.bytes = bytes;
		return sum;
	}
	return (struct ring_transfer){.action = RING_COPY,
				      .peer = peer,
				      .result = {RING_OUTPUT, offset},
				      .bytes = bytes,
				      .step = 1};
}

RING_PURE struct ring_plan_cost ring_two_shot_cost(const struct ring_plan *plan)
{
	const struct ring_plan_params *params = &plan->params;
	uint64_t begin, elements = 0, own = ring_plan_block(plan, ring_plan_self(plan), &begin);
	for (int rank = 0; rank < params->size; rank++)
		elements += ring_plan_block(plan, rank, &begin);
	elements += params->size * own - 2 * own;
	return (struct ring_plan_cost){.steps = params->size > 1 ? 2 : 0,
				       .sent_bytes = elements * params->element_bytes};
}

RING_PURE int ring_two_shot_edge(const struct ring_plan *plan, int index, bool *outgoing)
{
	return ring_plan_edge_of_all(plan, index, outgoing);
}

#endif
