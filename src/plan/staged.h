/* SPDX-License-Identifier: MIT */
/*
 * All-reduce of ranks that map one another's stage, whatever memory their buffers are: each copies
 * there what the others add, and they read it in place. Included by plan.h only.
 *
 * A stage has two halves, and a half one place for every rank: for a piece of that rank's block.
 * Round k takes the next piece of each, in half k % 2:
 *
 *	copy in     what others are to add, from INPUT to their places of one's own stage
 *	add         one's own block, from one's place of all others' stages and INPUT, to OUTPUT
 *	            and to one's place of one's own stage, where nothing was copied in
 *	copy out    the others' sums, from their places of their own stages, to OUTPUT
 *
 * Before each of these, ranks exchange signals. Rounds overlap, so that one exchange serves several
 * steps. Three rounds, what a rank does before each exchange and after the last:
 *
 *	exchange 0   exchange 1         exchange 2                    exchange 3          end
 *	copy in 0    add 0, copy in 1   add 1, copy in 2, copy out 0  add 2, copy out 1   copy out 2
 *
 * Nothing is overwritten that is still to be read, also not by the next call, whose exchange 0
 * follows all of this one: what round k copied in was added before exchange k + 1, and what round k
 * + 2 copies there comes behind that. The sum of round k was copied out before exchange k + 2, and
 * behind that comes round k + 2's. For that a place must be where it was in the last call: places
 * are place_bytes apart.
 *
 * No deadlock: only exchanges wait for peers, for one message of each.
 */
#ifndef RING_PLAN_STAGED_H
#define RING_PLAN_STAGED_H

#include "two_shot.h" /* its bytes */

/*
 * Of this many ranks: a stage has places for all, and two ranks gain nothing. For them one shot
 * sends the same bytes by one exchange less.
 */
#define RING_STAGED_RANKS_LEAST 3
#define RING_STAGED_RANKS_MOST 16

RING_PURE uint64_t ring_staged_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Incoming entries before the first signal of an exchange: earlier exchanges, copies in and out,
 * and sums.
 */
RING_PURE uint64_t ring_staged_before(const struct ring_plan *plan, uint64_t exchange)
{
	uint64_t copied_in = ring_staged_least(exchange + 1, plan->rounds);
	uint64_t copied_out = exchange < 2 ? 0 : exchange - 1;
	return (exchange + copied_in + copied_out) * plan->fan.out +
	       ring_staged_least(exchange, plan->rounds);
}

/* The same, up to the last signal of the exchange before it. */
RING_PURE uint64_t ring_staged_begin(const struct ring_plan *plan, uint64_t exchange)
{
	return exchange == 0 ? 0 : ring_staged_before(plan, exchange - 1) + plan->fan.out;
}

/* The exchange that incoming entry j leads to or belongs to; behind the last one, their number. */
RING_PURE uint64_t ring_staged_exchange(const struct ring_plan *plan, uint64_t j)
{
	uint64_t exchange = j / (3 * plan->fan.out + 1); /* each has as many at most */
	while (exchange <= plan->rounds && j >= ring_staged_begin(plan, exchange + 1))
		exchange++;
	return exchange;
}

RING_PURE bool ring_staged_can(enum ring_kind kind, int size, uint64_t bytes)
{
	(void)bytes;
	return kind == RING_KIND_ALL_REDUCE && size >= RING_STAGED_RANKS_LEAST &&
	       size <= RING_STAGED_RANKS_MOST;
}

RING_PURE struct ring_plan ring_staged_make(const struct ring_plan_params *params)
{
	struct ring_plan plan = ring_plan_begin(params);
	plan.edges = 2 * (params->size - 1);
	plan.fan.out = (uint64_t)params->size - 1;
	ring_plan_cut_blocks(&plan, 1);
	plan.exchanges = params->size > 1 ? plan.rounds + 1 : 0;
	plan.outgoing = plan.exchanges * plan.fan.out;
	plan.incoming = ring_staged_before(&plan, plan.rounds + 1);
	plan.mutual = true;
	return plan;
}

/* Bytes of a stage. */
RING_PURE uint64_t ring_staged_bytes(uint64_t place_bytes, int size)
{
	return 2 * place_bytes * (uint64_t)size;
}

/* Where the place of `rank` begins in a round. */
RING_PURE uint64_t ring_staged_place(const struct ring_plan *plan, uint64_t round, int rank)
{
	const struct ring_plan_params *params = &plan->params;
	return (round % 2 * (uint64_t)params->size + (uint64_t)rank) * params->place_bytes;
}

RING_PURE struct ring_transfer ring_staged_outgoing(const struct ring_plan *plan, uint64_t i)
{
	uint64_t exchange = i / plan->fan.out, distance = i % plan->fan.out + 1;
	struct ring_transfer signal = ring_plan_signal(ring_plan_at(plan, (int)distance),
						       ring_staged_before(plan, exchange));
	signal.exchange = exchange;
	return signal;
}

RING_PURE struct ring_transfer ring_staged_sum(const struct ring_plan *plan, uint64_t round)
{
	int self = ring_plan_self(plan);
	struct ring_transfer sum = {.action = RING_REDUCE,
				    .peer = self,
				    .source = {RING_ALL_STAGES, 0},
				    .result = {RING_OUTPUT, 0},
				    .last = true,
				    .behind = ring_plan_last(plan, 0)};
	sum.source.offset = ring_staged_place(plan, round, self);
	sum.bytes = ring_plan_chunk(plan, self, round, &sum.result.offset);
	return sum;
}

RING_PURE struct ring_transfer ring_staged_copy_in(const struct ring_plan *plan, uint64_t round,
						   int rank)
{
	struct ring_transfer copy = {.action = RING_COPY,
				     .peer = ring_plan_self(plan),
				     .source = {RING_INPUT, 0},
				     .result = {RING_STAGE, ring_staged_place(plan, round, rank)}};
	copy.bytes = ring_plan_chunk(plan, rank, round, &copy.source.offset);
	return copy;
}

RING_PURE struct ring_transfer ring_staged_copy_out(const struct ring_plan *plan, uint64_t round,
						    int rank)
{
	struct ring_transfer copy = {.action = RING_COPY,
				     .peer = rank,
				     .source = {RING_PEER_STAGE,
						ring_staged_place(plan, round, rank)},
				     .result = {RING_OUTPUT, 0},
				     .step = 1};
	copy.bytes = ring_plan_chunk(plan, rank, round, &copy.result.offset);
	return copy;
}

/* The sum first: all others wait for it. */
RING_PURE struct ring_transfer ring_staged_incoming(const struct ring_plan *plan, uint64_t j)
{
	uint64_t exchange = ring_staged_exchange(plan, j);
	uint64_t entry = j - ring_staged_begin(plan, exchange);
	if (j >= ring_staged_before(plan, exchange)) {
		int distance = (int)(j - ring_staged_before(plan, exchange)) + 1;
		struct ring_transfer signal = ring_plan_signal(ring_plan_at(plan, -distance), 0);
		signal.exchange = exchange;
		return signal;
	}
	bool sums = exchange >= 1 && exchange <= plan->rounds;
	if (sums && entry == 0)
		return ring_staged_sum(plan, exchange - 1);
	entry -= sums;
	if (exchange < plan->rounds && entry < plan->fan.out)
		return ring_staged_copy_in(plan, exchange, ring_plan_at(plan, (int)entry + 1));
	return ring_staged_copy_out(plan, exchange - 2,
				    ring_plan_at(plan, -(int)(entry % plan->fan.out) - 1));
}

RING_PURE int ring_staged_edge(const struct ring_plan *plan, int index, bool *outgoing)
{
	return ring_plan_edge_of_all(plan, index, outgoing);
}

/* The bytes of two shots; here the receivers fetch them. */
RING_PURE struct ring_plan_cost ring_staged_cost(const struct ring_plan *plan)
{
	return ring_two_shot_cost(plan);
}

#endif
