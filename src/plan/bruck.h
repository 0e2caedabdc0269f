/* SPDX-License-Identifier: MIT */
/*
 * Small sums, all-gathers and barriers, in as few messages as there can be: about log2(n) for each
 * rank. Included by plan.h only.
 *
 * Every rank collects the inputs of all ranks in scratch: place d holds that of the rank d back
 * along the ring, place 0 its own. In step k it sends 2^k inputs, or as many as the receiver still
 * misses, to the rank 2^k ahead, and gets as many from the rank 2^k back. Five ranks, what rank 4
 * has at each place:
 *
 *	            0 | 1 | 2 3 | 4          rank 4 gets          and sends
 *	at first    4 |   |     |
 *	step 0      4 | 3 |     |            3     from rank 3    4     to rank 0
 *	step 1      4 | 3 | 2 1 |            2 1   from rank 2    4 3   to rank 1
 *	step 2      4 | 3 | 2 1 | 0          0     from rank 0    4     to rank 3
 *
 * If n is a power of two, ranks swap what they have: in step k with the rank whose position differs
 * in bit k. Then inputs lie in the order of positions. Each message answers one on the same
 * connection, so TCP needs none of its own to acknowledge it. (8 B on 8 ranks: 100 -> 69 us.)
 *
 *	four ranks             0         1         2         3
 *	at first               0         1         2         3
 *	step 0, with p ^ 1     0 1       0 1       2 3       2 3
 *	step 1, with p ^ 2     0 1 2 3   0 1 2 3   0 1 2 3   0 1 2 3
 *
 * Then it copies the inputs to where they belong, or adds them block by block in the order of one
 * shot (plan/one_shot.h), which is the ring's: the bits are those of one shot. There a rank sends
 * n-1 messages at once; here it waits log2(n) times, but small messages cost the CPU more than the
 * wire.
 *
 * Agreement: every message opens with its sender's record, and is sent once the records of earlier
 * messages were found equal. So a rank that has all inputs knows that all ranks agree. The last
 * message must fit behind a record, which limits how large inputs can be.
 *
 * No deadlock at any depth: a message needs those of earlier steps only.
 *
 * Source: the all-gather of Bruck, Ho, Kipnis, Upfal & Weathersby 1997, "Efficient algorithms for
 * all-to-all communications in multiport message-passing systems", in the other direction; swapping
 * is the recursive doubling in Thakur, Rabenseifner & Gropp 2005, "Optimization of collective
 * communication operations in MPICH". Without inputs it is the barrier of Hensgen, Finkel & Manber
 * 1988, "Two algorithms for barrier synchronization", and its butterfly.
 */
#ifndef RING_PLAN_BRUCK_H
#define RING_PLAN_BRUCK_H

#include "one_shot.h" /* the blocks of what is added at once */

/* Room for the inputs of all: at least a third of them is sent at once. */
#define RING_BRUCK_SCRATCH_BYTES (3 * RING_OPENING_BYTES)

/* Inputs of message number `step`. */
RING_PURE int ring_bruck_inputs(int size, int step)
{
	int collected = 1 << step;
	return collected < size - collected ? collected : size - collected;
}

/* Messages that each rank sends. */
RING_PURE int ring_bruck_steps(int size)
{
	int steps = 0;
	while (1 << steps < size)
		steps++;
	return steps;
}

/* Inputs of the largest message. */
RING_PURE int ring_bruck_most(int size)
{
	int most = 1;
	for (int step = 0; step < ring_bruck_steps(size); step++)
		if (ring_bruck_inputs(size, step) > most)
			most = ring_bruck_inputs(size, step);
	return most;
}

/* True if the largest message fits behind a record, where one input has this many bytes. */
RING_PURE bool ring_bruck_fits(int size, uint64_t bytes)
{
	return bytes <= (uint64_t)(RING_OPENING_BYTES / ring_bruck_most(size));
}

RING_PURE bool ring_bruck_can(enum ring_kind kind, int size, uint64_t bytes)
{
	return (kind == RING_KIND_ALL_REDUCE || kind == RING_KIND_ALL_GATHER ||
		kind == RING_KIND_BARRIER) &&
	       ring_bruck_fits(size, bytes);
}

/* True if ranks swap what they have. */
RING_PURE bool ring_bruck_swaps(const struct ring_plan *plan)
{
	return (plan->params.size & (plan->params.size - 1)) == 0;
}

RING_PURE struct ring_plan ring_bruck_make(const struct ring_plan_params *params)
{
	struct ring_plan plan = ring_plan_begin(params);
	int steps = ring_bruck_steps(params->size), most = ring_bruck_most(params->size);
	plan.edges = 2 * steps;
	plan.share.begin = ring_share_begin(params->count, params->channels, params->channel);
	plan.share.length = ring_share_length(params->count, params->channels, params->channel);
	plan.chunk = most * plan.share.length;
	plan.outgoing = steps;
	plan.incoming = 1 + steps;
	if (params->size > 1) { /* else one's own is the result */
		plan.scratch_chunks = (params->size + most - 1) / most;
		plan.incoming += params->kind == RING_KIND_ALL_GATHER ? (uint64_t)params->size
								      : ring_one_shot_blocks(&plan);
	}
	plan.agreed = 1 + plan.outgoing;
	plan.mutual = ring_bruck_swaps(&plan);
	plan.sends_on = params->size > 2;
	return plan;
}

/* The receiver of message number `step`, or the sender of the incoming one. */
RING_PURE int ring_bruck_partner(const struct ring_plan *plan, int step, bool outgoing)
{
	int distance = 1 << step;
	if (ring_bruck_swaps(plan))
		return plan->params.order[plan->params.position ^ distance];
	return ring_plan_at(plan, outgoing ? distance : -distance);
}

/* The place of the input of the rank that lies `distance` of [-n, n] along the ring. */
RING_PURE int ring_bruck_place_of(const struct ring_plan *plan, int distance)
{
	int place = ring_bruck_swaps(plan) ? plan->params.position + distance : -distance;
	return ring_plan_mod(place, plan->params.size);
}

/* The first place of what this rank has before message number `step`, or of what it brings. */
RING_PURE int ring_bruck_first(const struct ring_plan *plan, int step, bool brought)
{
	int collected = 1 << step, bit = brought ? collected : 0;
	return ring_bruck_swaps(plan) ? (plan->params.position ^ bit) & -collected : bit;
}

/* The place of summand k < n for the owner that lies `behind`. */
RING_PURE int ring_bruck_place(const struct ring_plan *plan, int behind, int k)
{
	return ring_bruck_place_of(plan, behind + 1 + k - plan->params.size);
}

/* Bytes of an input. */
RING_PURE uint64_t ring_bruck_bytes(const struct ring_plan *plan)
{
	return plan->share.length * plan->params.element_bytes;
}

RING_PURE struct ring_transfer ring_bruck_outgoing(const struct ring_plan *plan, uint64_t i)
{
	int step = (int)i, inputs = ring_bruck_inputs(plan->params.size, step);
	int first = ring_bruck_first(plan, step, false);
	return (struct ring_transfer){.action = RING_SEND,
				      .peer = ring_bruck_partner(plan, step, true),
				      .source = {RING_SCRATCH, first * ring_bruck_bytes(plan)},
				      .bytes = inputs * ring_bruck_bytes(plan),
				      .needs = 1 + i,
				      .opens = true,
				      .step = step};
}

/* What this rank begins with. */
RING_PURE struct ring_transfer ring_bruck_own(const struct ring_plan *plan)
{
	uint64_t begin = plan->share.begin * plan->params.element_bytes;
	uint64_t place = ring_bruck_place_of(plan, 0) * ring_bruck_bytes(plan);
	bool alone = plan->params.size == 1;
	return (struct ring_transfer){
		.action = RING_COPY,
		.peer = ring_plan_self(plan),
		.source = {RING_INPUT, begin},
		.result = {alone ? RING_OUTPUT : RING_SCRATCH, alone ? begin : place},
		.bytes = ring_bruck_bytes(plan),
	};
}

/*
 * Adds up the block of owner number `index`. In place, the sum replaces the own input, once that
 * was copied.
 */
RING_PURE struct ring_transfer ring_bruck_sum(const struct ring_plan *plan, uint64_t index)
{
	uint64_t begin = plan->share.begin * plan->params.element_bytes, sum = begin;
	int behind = ring_one_shot_owner(plan, index);
	uint64_t bytes = ring_one_shot_block(plan, ring_plan_at(plan, behind), &sum,
					     ring_bruck_bytes(plan));
	return (struct ring_transfer){.action = RING_REDUCE,
				      .peer = ring_plan_self(plan),
				      .source = {RING_SUMMANDS, sum - begin},
				      .result = {RING_OUTPUT, sum},
				      .bytes = bytes,
				      .needs = 1,
				      .last = true,
				      .behind = ring_plan_last(plan, behind),
				      .step = (int)plan->outgoing};
}

/* Copies what lies at a place to where it belongs. */
RING_PURE struct ring_transfer ring_bruck_part(const struct ring_plan *plan, uint64_t place)
{
	int at = (int)place;
	uint64_t rank = ring_bruck_swaps(plan) ? plan->params.order[at] : ring_plan_at(plan, -at);
	uint64_t begin = plan->params.count * rank + plan->share.begin;
	return (struct ring_transfer){
		.action = RING_COPY,
		.peer = ring_plan_self(plan),
		.source = {RING_SCRATCH, place * ring_bruck_bytes(plan)},
		.result = {RING_OUTPUT, begin * plan->params.element_bytes},
		.bytes = ring_bruck_bytes(plan),
		.needs = 1,
		.step = (int)plan->outgoing,
	};
}

/* Entry `index` behind all messages. */
RING_PURE struct ring_transfer ring_bruck_result(const struct ring_plan *plan, uint64_t index)
{
	bool gathers = plan->params.kind == RING_KIND_ALL_GATHER;
	return gathers ? ring_bruck_part(plan, index) : ring_bruck_sum(plan, index);
}

RING_PURE struct ring_transfer ring_bruck_incoming(const struct ring_plan *plan, uint64_t j)
{
	if (j == 0)
		return ring_bruck_own(plan);
	if (j > plan->outgoing)
		return ring_bruck_result(plan, j - plan->outgoing - 1);
	int step = (int)j - 1, first = ring_bruck_first(plan, step, true);
	return (struct ring_transfer){
		.action = RING_COPY,
		.peer = ring_bruck_partner(plan, step, false),
		.result = {RING_SCRATCH, first * ring_bruck_bytes(plan)},
		.bytes = ring_bruck_inputs(plan->params.size, step) * ring_bruck_bytes(plan),
		.opens = true,
		.step = step,
	};
}

/* Links of each step, to and from. */
RING_PURE int ring_bruck_edge(const struct ring_plan *plan, int index, bool *outgoing)
{
	*outgoing = index % 2 == 0;
	return ring_bruck_partner(plan, index / 2, *outgoing);
}

RING_PURE struct ring_plan_cost ring_bruck_cost(const struct ring_plan *plan)
{
	return (struct ring_plan_cost){.steps = plan->outgoing,
				       .sent_bytes = (plan->params.size - 1) *
						     ring_bruck_bytes(plan)};
}

#endif
