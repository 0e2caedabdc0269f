/* SPDX-License-Identifier: MIT */
/*
 * Calls along a tree: small ones in the fewest possible messages, large broadcasts in chunks.
 * Included by plan.h only.
 *
 * Places count from root along the ring. Place p has the children p + 2^k for all 2^k below p's
 * lowest bit; root, place 0, for all 2^k. Eight ranks:
 *
 *	0 -+-> 4 -+-> 6 --> 7
 *	   |      `-> 5
 *	   +-> 2 --> 3
 *	   `-> 1
 *
 * A small broadcast begins with signals up to root. Then its bytes go down with the entry record,
 * to the farthest child first: a rank compares the record with its own, keeps the bytes and passes
 * both on.
 *
 * A larger one is cut into chunks, which follow signals up to root and down again. Root sends each
 * chunk to its log2(n) children only, not to n-1 ranks. Neighbours on the ring may share a CPU, but
 * children lie far from their parent, so CPUs share the work. (1 MiB over TCP on 2 CPUs, in one
 * shot -> down a tree: 4 ranks 0.42 -> 0.27 ms, 8 ranks 1.1 -> 0.74 ms.)
 *
 * Sums and barriers go up to position 0 as root, and down again: 2(n-1) messages in all. A rank
 * collects inputs in scratch, its own and behind it those of each child, nearest first, and passes
 * all of them up. So root has them in the order of positions. It adds them block by block in the
 * order of one shot (plan/one_shot.h), which is the ring's: the bits are those of one shot. The
 * sums go down. Where every rank has a CPU, the fewer steps of plan/bruck.h are faster; where ranks
 * take turns, messages count. (8 B over TCP on 2 CPUs, 8 ranks, plan/bruck.h -> a tree: 78 -> 60
 * us.)
 *
 * Agreement of sums: every message opens with its sender's record, and is sent once the records of
 * earlier ones were found equal. So root knows that all agree before it sends sums, and so does
 * every rank that has got them.
 *
 * Agreement of a broadcast: a signal goes up once those from below were found equal. So root knows
 * that all agree before it sends anything down, and so does every rank that has got some of it.
 *
 * A rank that makes another call may be neither above nor below this one. Then all wait, and
 * neighbours on the ring tell one another in which call (lanes.h).
 *
 * No deadlock at any depth: what goes up needs only what comes from below, and what goes down needs
 * only what went up.
 *
 * Source: the binomial trees that short broadcasts and reductions take in Thakur, Rabenseifner &
 * Gropp 2005, "Optimization of collective communication operations in MPICH"; there sums go up, not
 * inputs.
 */
#ifndef RING_PLAN_TREE_H
#define RING_PLAN_TREE_H

#include "bruck.h"    /* what fits */
#include "one_shot.h" /* the blocks of what is added at once */

/* ---- the tree ---- */

/* How far away the farthest child is, 0 without children. */
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

/* Ranks at a place and below it. */
RING_PURE int ring_tree_ranks(int place, int size)
{
	int lowest = place & -place, rest = size - place;
	return place == 0 || rest < lowest ? rest : lowest;
}

/* True if inputs go up before the result goes down. */
RING_PURE bool ring_tree_goes_up(enum ring_kind kind)
{
	return kind == RING_KIND_ALL_REDUCE || kind == RING_KIND_BARRIER;
}

/*
 * True if a tree can carry inputs of this many bytes: no more goes up than Bruck's plan sends at
 * once.
 */
RING_PURE bool ring_tree_can(enum ring_kind kind, int size, uint64_t bytes)
{
	if (ring_tree_goes_up(kind))
		return ring_bruck_fits(size, bytes);
	return kind == RING_KIND_BROADCAST;
}

RING_PURE int ring_tree_place(const struct ring_plan *plan)
{
	bool up = ring_tree_goes_up(plan->params.kind);
	return up ? plan->params.position : ring_plan_behind_root(plan);
}

/* Going up first takes links both ways, and scratch for the inputs of all below. */
RING_PURE void ring_tree_make_up(struct ring_plan *plan)
{
	int size = plan->params.size, most = ring_bruck_most(size);
	bool is_root = plan->hop == 0;
	plan->outgoing++;
	if (size == 1) /* the own input is the result */
		return;
	plan->incoming += plan->children + (is_root ? ring_one_shot_blocks(plan) : 1);
	plan->chunk = most * plan->share.length;
	plan->scratch_chunks = (ring_tree_ranks(plan->hop, size) + most - 1) / most;
}

/* True if what a broadcast sends is cut into chunks. */
RING_PURE bool ring_tree_is_cut(const struct ring_plan *plan)
{
	const struct ring_plan_params *params = &plan->params;
	return !ring_tree_goes_up(params->kind) &&
	       (params->apart || params->count * params->element_bytes > RING_OPENING_BYTES);
}

/*
 * Of a broadcast: signals up, then the vector down; if it is cut, signals down, then all chunks to
 * each child.
 */
RING_PURE void ring_tree_make_down(struct ring_plan *plan)
{
	uint64_t children = (uint64_t)plan->children, up = plan->hop > 0;
	plan->signals = children;
	plan->outgoing = up + children;
	plan->incoming = children + 1;
	if (!ring_tree_is_cut(plan))
		return;
	ring_plan_cut(plan, plan->share.length, 1);
	plan->signals += up;
	plan->outgoing += plan->rounds * children;
	plan->incoming = plan->signals + plan->rounds;
}

/*
 * Incoming entries until every rank that this one hears of has agreed: where inputs go up, all
 * messages open with records.
 */
RING_PURE uint64_t ring_tree_agreed(const struct ring_plan *plan)
{
	uint64_t messages = (uint64_t)plan->children + (plan->hop > 0);
	return messages + ring_tree_goes_up(plan->params.kind);
}

RING_PURE struct ring_plan ring_tree_make(const struct ring_plan_params *params)
{
	struct ring_plan plan = {.params = *params};
	plan.share.begin = ring_share_begin(params->count, params->channels, params->channel);
	plan.share.length = ring_share_length(params->count, params->channels, params->channel);
	plan.chunk = plan.share.length;
	plan.hop = ring_tree_place(&plan);
	for (int away = ring_tree_farthest(plan.hop, params->size); away > 0; away /= 2)
		plan.children++;
	plan.outgoing = plan.children;
	plan.incoming = 1;
	plan.edges = 2 * (plan.children + (plan.hop > 0));
	if (ring_tree_goes_up(params->kind))
		ring_tree_make_up(&plan);
	else
		ring_tree_make_down(&plan);
	plan.agreed = ring_tree_agreed(&plan);
	plan.mutual = true;
	plan.sends_on = params->size > 2;
	return plan;
}

/* Child number `index`, the farthest first. */
RING_PURE int ring_tree_child(const struct ring_plan *plan, int index)
{
	return ring_plan_at(plan, ring_tree_farthest(plan->hop, plan->params.size) >> index);
}

RING_PURE int ring_tree_parent(const struct ring_plan *plan)
{
	int lowest = plan->hop & -plan->hop;
	return ring_plan_at(plan, -lowest);
}

/* ---- broadcasts ---- */

/* Up to the parent once all below are known to agree, then down to the children once all do. */
RING_PURE struct ring_transfer ring_tree_outgoing_signal(const struct ring_plan *plan, int index)
{
	int child = index - (plan->hop > 0);
	if (child < 0)
		return ring_plan_signal(ring_tree_parent(plan), (uint64_t)plan->children);
	return ring_plan_signal(ring_tree_child(plan, child), plan->signals);
}

RING_PURE struct ring_transfer ring_tree_incoming_signal(const struct ring_plan *plan, int index)
{
	return ring_plan_signal(index < plan->children ? ring_tree_child(plan, index)
						       : ring_tree_parent(plan),
				0);
}

/* A chunk lies at the same place in all outputs; root has it in its input. */
RING_PURE struct ring_transfer ring_tree_chunk(const struct ring_plan *plan, uint64_t number)
{
	uint64_t offset, bytes = ring_plan_piece(plan, 0, number, &offset);
	return (struct ring_transfer){
		.source = {plan->hop > 0 ? RING_OUTPUT : RING_INPUT, offset},
		.result = {RING_OUTPUT, offset},
		.bytes = bytes,
	};
}

RING_PURE struct ring_transfer ring_tree_outgoing_chunk(const struct ring_plan *plan, uint64_t i)
{
	uint64_t children = (uint64_t)plan->children, number = i / children;
	int child = (int)(i % children);
	struct ring_transfer transfer = ring_tree_chunk(plan, number);
	transfer.action = RING_SEND;
	transfer.peer = ring_tree_child(plan, child);
	transfer.needs = plan->hop > 0 ? plan->signals + number + 1 : 0;
	transfer.step = child;
	return transfer;
}

RING_PURE struct ring_transfer ring_tree_incoming_chunk(const struct ring_plan *plan,
							uint64_t number)
{
	struct ring_transfer transfer = ring_tree_chunk(plan, number);
	transfer.action = RING_COPY;
	transfer.peer = plan->hop > 0 ? ring_tree_parent(plan) : ring_plan_self(plan);
	return transfer;
}

/* ---- what is not cut ---- */

/* An input, or the sum of all, where it belongs. */
RING_PURE struct ring_transfer ring_tree_vector(const struct ring_plan *plan,
						enum ring_action action, int peer)
{
	uint64_t offset = plan->share.begin * plan->params.element_bytes;
	return (struct ring_transfer){
		.action = action,
		.peer = peer,
		.source = {RING_INPUT, offset},
		.result = {RING_OUTPUT, offset},
		.bytes = plan->share.length * plan->params.element_bytes,
		.opens = peer != ring_plan_self(plan),
	};
}

/* So many inputs, from number `first` of those in scratch on. */
RING_PURE struct ring_transfer ring_tree_inputs(const struct ring_plan *plan,
						enum ring_action action, int peer, int first,
						int inputs)
{
	uint64_t bytes = plan->share.length * plan->params.element_bytes;
	struct ring_place place = {RING_SCRATCH, first * bytes};
	return (struct ring_transfer){.action = action,
				      .peer = peer,
				      .source = place,
				      .result = place,
				      .bytes = inputs * bytes,
				      .opens = peer != ring_plan_self(plan)};
}

/* All collected inputs, to the parent; root's entry is empty and tells that they are there. */
RING_PURE struct ring_transfer ring_tree_up(const struct ring_plan *plan)
{
	int inputs = plan->hop > 0 ? ring_tree_ranks(plan->hop, plan->params.size) : 0;
	struct ring_transfer transfer = ring_tree_inputs(plan, RING_SEND, ring_tree_parent(plan), 0,
							 inputs);
	transfer.needs = 1 + (uint64_t)plan->children;
	return transfer;
}

RING_PURE struct ring_transfer ring_tree_outgoing(const struct ring_plan *plan, uint64_t i)
{
	bool sums = ring_tree_goes_up(plan->params.kind), up = sums || plan->hop > 0;
	if (up && i == 0)
		return sums ? ring_tree_up(plan) : ring_tree_outgoing_signal(plan, 0);
	if (ring_tree_is_cut(plan))
		return i < plan->signals ? ring_tree_outgoing_signal(plan, (int)i)
					 : ring_tree_outgoing_chunk(plan, i - plan->signals);
	struct ring_transfer transfer = ring_tree_vector(plan, RING_SEND,
							 ring_tree_child(plan, (int)i - up));
	transfer.step = (int)i;
	transfer.needs = up ? plan->incoming : plan->signals;
	if (up)
		transfer.source.buffer = RING_OUTPUT;
	return transfer;
}

/* Root adds up the block of owner number `index`. */
RING_PURE struct ring_transfer ring_tree_sum(const struct ring_plan *plan, uint64_t index)
{
	int behind = ring_one_shot_owner(plan, index);
	struct ring_transfer sum = ring_tree_vector(plan, RING_REDUCE, ring_plan_self(plan));
	uint64_t begin = sum.result.offset;
	sum.bytes = ring_one_shot_block(plan, ring_plan_at(plan, behind), &sum.result.offset,
					sum.bytes);
	sum.source = (struct ring_place){RING_SUMMANDS, sum.result.offset - begin};
	sum.last = true;
	sum.behind = ring_plan_last(plan, behind);
	return sum;
}

/* Which input in root's scratch is summand k < n for the owner that lies `behind`. */
RING_PURE int ring_tree_summand(const struct ring_plan *plan, int behind, int k)
{
	return ring_plan_mod(behind + 1 + k - plan->params.size, plan->params.size);
}

/* Of a small broadcast, what the parent sends; root's own bytes are copied once they are sent. */
RING_PURE struct ring_transfer ring_tree_take(const struct ring_plan *plan)
{
	bool is_root = plan->hop == 0;
	int peer = is_root ? ring_plan_self(plan) : ring_tree_parent(plan);
	struct ring_transfer transfer = ring_tree_vector(plan, RING_COPY, peer);
	transfer.needs = is_root ? plan->outgoing : 0;
	return transfer;
}

/*
 * What comes before sums: the own input, as child -1, and those of the children and below, nearest
 * first.
 */
RING_PURE struct ring_transfer ring_tree_collect(const struct ring_plan *plan, int child)
{
	struct ring_transfer own = ring_tree_vector(plan, RING_COPY, ring_plan_self(plan));
	int ahead = 1 << (child < 0 ? 0 : child);
	if (child >= 0)
		return ring_tree_inputs(plan, RING_COPY, ring_plan_at(plan, ahead), ahead,
					ring_tree_ranks(plan->hop + ahead, plan->params.size));
	if (plan->params.size > 1)
		own.result = (struct ring_place){RING_SCRATCH, 0};
	return own;
}

/*
 * The sums are root's, or come from the parent. In place, they replace the own input once all are
 * in scratch.
 */
RING_PURE struct ring_transfer ring_tree_incoming(const struct ring_plan *plan, uint64_t j)
{
	int child = (int)j - 1, sum = child - plan->children;
	struct ring_transfer transfer;
	if (j < plan->signals)
		return ring_tree_incoming_signal(plan, (int)j);
	if (ring_tree_is_cut(plan))
		return ring_tree_incoming_chunk(plan, j - plan->signals);
	if (!ring_tree_goes_up(plan->params.kind))
		return ring_tree_take(plan);
	if (sum < 0)
		return ring_tree_collect(plan, child);
	transfer = plan->hop == 0 ? ring_tree_sum(plan, (uint64_t)sum)
				  : ring_tree_vector(plan, RING_COPY, ring_tree_parent(plan));
	transfer.needs = 1;
	return transfer;
}

/* To and from each child, and last the parent. */
RING_PURE int ring_tree_edge(const struct ring_plan *plan, int index, bool *outgoing)
{
	int other = index / 2;
	*outgoing = index % 2 == 0;
	return other < plan->children ? ring_tree_child(plan, other) : ring_tree_parent(plan);
}

/* The place that has most bits is deepest. */
RING_PURE struct ring_plan_cost ring_tree_cost(const struct ring_plan *plan)
{
	const struct ring_plan_params *params = &plan->params;
	bool up = ring_tree_goes_up(params->kind);
	uint64_t levels = 0, vectors = (uint64_t)plan->children;
	while (2 << levels <= params->size)
		levels++;
	if (up && plan->hop > 0)
		vectors += (uint64_t)ring_tree_ranks(plan->hop, params->size);
	return (struct ring_plan_cost){.steps = levels * (up ? 2 : 1),
				       .agreement = up ? 0 : levels,
				       .sent_bytes = vectors * plan->share.length *
						     params->element_bytes};
}

#endif
