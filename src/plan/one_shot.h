/* SPDX-License-Identifier: MIT */
/*
 * Everything straight from rank to rank in one step, over links between any two. Included by plan.h
 * only.
 *
 * Distances are counted along the ring: at distance d = 1..n-1, position p sends to p+d and
 * receives from p-d, so that no rank is everybody's first. Data go in the order (chunk, distance):
 * what goes to several ranks stays in the cache. Where each rank gets something else, they go in
 * the order (distance, chunk): few links at a time are busy. (all_to_all of 128 MiB, 8 ranks over
 * TCP: 177 -> 125 ms.) Three ranks, who sends to whom, when all send to all:
 *
 *	         d = 1   d = 2
 *	rank 0     1       2          gather, reduce: only what goes to root,
 *	rank 1     2       0          scatter, broadcast: only what comes from root
 *	rank 2     0       1
 *
 * What stays on a rank and is not added is copied whole and last, once the others have theirs.
 *
 * Summands are held in their slots until all of a chunk are there, and then added in one pass, so
 * the first byte that lands is the result. The order of additions is the ring's: the block of
 * position p from p+1 around to p. So an all-reduce adds each block of a chunk by itself, except
 * blocks that are empty in every chunk. In order, all blocks are added from position 0 on. Two
 * ranks each add what arrives to their own: a sum of two has one order only.
 *
 * Agreement: where all send to all, they begin with a signal to every rank, so each hears all
 * others itself. The same holds with a root where this costs no more messages: over boards, and
 * between two ranks. Else a rank signals to its next on the ring (where ranks that disagree about
 * the kind still meet) and to root. Root answers once it has heard all, so an answer proves that
 * every rank agrees.
 *
 * Uneven parts are cut into chunks as the longest that a rank knows; what a shorter one lacks are
 * entries of no bytes, which both ends skip, so the two need not know the same number. Where only
 * the two ends of a link know how long a part is, the record on it says so: there are no boards,
 * which say the same to all.
 *
 * Small calls where all signal to all need no signals: each rank's data travel with its record, and
 * are held until all records are there.
 *
 *	out of root    next, then behind all incoming signals: distance 1, 2 ... n-1
 *	into root      prev, distance 1, 2 ... n-1          the first two of these share a link
 *	others         out: next, root      in: prev, root
 *
 * No deadlock at any depth: a rank takes messages in the order in which all send them, and a
 * message waits for earlier ones of that order only, so the earliest that waits can go. A sum that
 * may overwrite what is still to be sent waits for that, after taking all that the others send.
 *
 * Source: the order of distances is that of the pairwise exchange in Thakur, Rabenseifner & Gropp
 * 2005, "Optimization of collective communication operations in MPICH", where steps follow one
 * another; here they overlap as far as slots reach.
 */
#ifndef RING_PLAN_ONE_SHOT_H
#define RING_PLAN_ONE_SHOT_H

/*
 * Which part of a rank's input goes to `rank`, and which part of its output comes from it; the
 * whole is part 0.
 */
RING_PURE int ring_one_shot_input_part(enum ring_kind kind, int rank)
{
	return ring_kind_has_parts_in(kind) ? rank : 0;
}

RING_PURE int ring_one_shot_output_part(enum ring_kind kind, int rank)
{
	return ring_kind_has_parts_out(kind) ? rank : 0;
}

/* This channel's bytes of what goes to a rank that gets something. */
RING_PURE uint64_t ring_one_shot_bytes_to(const struct ring_plan *plan, int rank)
{
	uint64_t begin = 0, elements = plan->share.length;
	if (plan->params.parts)
		elements = ring_plan_of_channel(plan, plan->params.parts->to[rank], &begin);
	return elements * plan->params.element_bytes;
}

/* Chunk `index` of an uneven part on this channel. */
RING_PURE uint64_t ring_one_shot_uneven(const struct ring_plan *plan, uint64_t begin,
					uint64_t length, uint64_t index, uint64_t *offset)
{
	length = ring_plan_of_channel(plan, length, &begin);
	return ring_plan_chunk_of(plan, begin, length, index, offset);
}

/* Bytes of chunk `index` of what this rank sends to `rank`, and where they begin in its input. */
RING_PURE uint64_t ring_one_shot_to(const struct ring_plan *plan, int rank, uint64_t index,
				    uint64_t *offset)
{
	const struct ring_parts *parts = plan->params.parts;
	if (parts)
		return ring_one_shot_uneven(plan, parts->to_at[rank], parts->to[rank], index,
					    offset);
	return ring_plan_piece(plan, ring_one_shot_input_part(plan->params.kind, rank), index,
			       offset);
}

/* The same of what comes from `rank`, in this rank's output. */
RING_PURE uint64_t ring_one_shot_from(const struct ring_plan *plan, int rank, uint64_t index,
				      uint64_t *offset)
{
	const struct ring_parts *parts = plan->params.parts;
	if (parts)
		return ring_one_shot_uneven(plan, parts->from_at[rank], parts->from[rank], index,
					    offset);
	return ring_plan_piece(plan, ring_one_shot_output_part(plan->params.kind, rank), index,
			       offset);
}

/* Where the same lies in the input of the rank that sends it; uneven parts go without records. */
RING_PURE uint64_t ring_one_shot_there(const struct ring_plan *plan, uint64_t index)
{
	uint64_t offset = 0;
	if (!plan->params.parts)
		ring_plan_piece(plan,
				ring_one_shot_input_part(plan->params.kind, ring_plan_self(plan)),
				index, &offset);
	return offset;
}

/* Bytes of the whole input of a rank that has one. */
RING_PURE uint64_t ring_one_shot_input_bytes(const struct ring_plan_params *params)
{
	int last_part = ring_one_shot_input_part(params->kind, params->size - 1);
	return (last_part + 1) * params->count * params->element_bytes;
}

/* True if every rank sends to every other, at least its record. */
RING_PURE bool ring_one_shot_is_exchange(const struct ring_plan *plan)
{
	const struct ring_plan_params *params = &plan->params;
	bool boards = params->boards && !ring_plan_knows_own_parts(params);
	return !ring_kind_has_root(params->kind) || boards || params->size == 2;
}

/* True for a rank that has a link to and from every other one. */
RING_PURE bool ring_one_shot_is_hub(const struct ring_plan *plan)
{
	return ring_one_shot_is_exchange(plan) || ring_plan_self(plan) == plan->params.root;
}

/* True if data go from rank to rank. */
RING_PURE bool ring_one_shot_flows(const struct ring_plan *plan, int from, int to)
{
	const struct ring_plan_params *params = &plan->params;
	return (to == params->root || !ring_kind_is_to_root(params->kind)) &&
	       (from == params->root || !ring_kind_is_from_root(params->kind));
}

/* Ranks that this one has data for. */
RING_PURE uint64_t ring_one_shot_receivers(const struct ring_plan *plan)
{
	const struct ring_plan_params *params = &plan->params;
	bool is_root = ring_plan_self(plan) == params->root;
	if (ring_kind_is_to_root(params->kind))
		return !is_root;
	return is_root || !ring_kind_is_from_root(params->kind) ? params->size - 1 : 0;
}

/* Signals on the ring alone; where all send to all, distance 1 is the ring. */
RING_PURE uint64_t ring_one_shot_ring_signals(const struct ring_plan *plan)
{
	return !ring_one_shot_is_exchange(plan) && plan->params.size > 1;
}

/* How many blocks of an all-reduced vector are not empty: the first ones. */
RING_PURE uint64_t ring_one_shot_blocks(const struct ring_plan *plan)
{
	uint64_t ranks = (uint64_t)plan->params.size;
	return plan->params.count < ranks ? plan->params.count : ranks;
}

/*
 * How far along the ring the owner of such a block lies, for number `index` of them, farthest
 * first.
 */
RING_PURE int ring_one_shot_owner(const struct ring_plan *plan, uint64_t index)
{
	int behind = plan->params.size - 1;
	if (ring_one_shot_blocks(plan) == (uint64_t)plan->params.size)
		return behind - (int)index;
	while ((uint64_t)ring_plan_at(plan, behind) >= ring_one_shot_blocks(plan) || index-- > 0)
		behind--;
	return behind;
}

/* Entries of a chunk whose result is in OUTPUT: sums, or what comes from others. */
RING_PURE uint64_t ring_one_shot_results(const struct ring_plan *plan)
{
	enum ring_kind kind = plan->params.kind;
	if (ring_kind_is_from_root(kind))
		return ring_plan_self(plan) != plan->params.root;
	if (!ring_one_shot_flows(plan, plan->params.root, ring_plan_self(plan)))
		return 0;
	if (!ring_kind_reduces(kind))
		return (uint64_t)plan->params.size - 1;
	return kind == RING_KIND_ALL_REDUCE && plan->params.size > 2 ? ring_one_shot_blocks(plan)
								     : 1;
}

/* Entries behind all chunks: what stays on this rank is copied there. */
RING_PURE uint64_t ring_one_shot_keeps(const struct ring_plan *plan)
{
	int self = ring_plan_self(plan);
	return plan->rounds > 0 && !ring_kind_reduces(plan->params.kind) &&
	       ring_one_shot_flows(plan, self, self);
}

/*
 * Entries before them: messages that are held until all of them are there. Of two ranks there is
 * but one.
 */
RING_PURE uint64_t ring_one_shot_heard(const struct ring_plan *plan)
{
	bool adds = ring_kind_reduces(plan->params.kind) && ring_one_shot_results(plan) > 0;
	if (plan->params.size == 2)
		return plan->opening > 0 &&
		       !ring_one_shot_flows(plan, plan->next, ring_plan_self(plan));
	return adds || plan->opening > 0 ? (uint64_t)plan->params.size - 1 : 0;
}

/* True for calls whose data go with the records. */
RING_PURE bool ring_one_shot_is_small(const struct ring_plan *plan)
{
	return ring_one_shot_is_exchange(plan) && plan->rounds == 1 && !plan->params.apart &&
	       !plan->params.parts && ring_one_shot_input_bytes(&plan->params) <= RING_OPENING_BYTES;
}

RING_PURE bool ring_one_shot_can(enum ring_kind kind, int size, uint64_t bytes)
{
	(void)size, (void)bytes;
	return !ring_kind_is_message(kind);
}

RING_PURE struct ring_plan ring_one_shot_make(const struct ring_plan_params *params)
{
	struct ring_plan plan = ring_plan_begin(params);
	uint64_t others = params->size - 1;
	ring_plan_cut_part(&plan);
	if (ring_one_shot_is_small(&plan))
		plan.opening = ring_one_shot_input_bytes(params);
	bool hub = ring_one_shot_is_hub(&plan);
	plan.edges = hub ? 2 * (params->size - 1) : 4;
	plan.fan.out = plan.opening > 0 ? others : ring_one_shot_receivers(&plan);
	plan.fan.in = ring_one_shot_heard(&plan) + ring_one_shot_results(&plan);
	if (plan.opening == 0)
		plan.signals = ring_one_shot_ring_signals(&plan) + (hub ? others : 1);
	plan.exchanges = others > 0 && ring_one_shot_is_exchange(&plan) &&
			 !ring_plan_knows_own_parts(params); /* else each hears something else */
	plan.outgoing = plan.signals + plan.rounds * plan.fan.out;
	plan.incoming = plan.signals + plan.rounds * plan.fan.in + ring_one_shot_keeps(&plan);
	plan.agreed = plan.signals;
	plan.mutual = hub;
	return plan;
}

/* The only partner of a rank that is not a hub is root. */
RING_PURE int ring_one_shot_partner(const struct ring_plan *plan, int distance)
{
	return ring_one_shot_is_hub(plan) ? ring_plan_at(plan, distance) : plan->params.root;
}

/* The answers of a root need all signals. */
RING_PURE struct ring_transfer ring_one_shot_outgoing_signal(const struct ring_plan *plan,
							     uint64_t i)
{
	uint64_t ring = ring_one_shot_ring_signals(plan);
	if (i < ring)
		return ring_plan_signal(plan->next, 0);
	bool answers = ring > 0 && ring_one_shot_is_hub(plan);
	return ring_plan_signal(ring_one_shot_partner(plan, (int)(i - ring) + 1),
				answers ? plan->signals : 0);
}

RING_PURE struct ring_transfer ring_one_shot_incoming_signal(const struct ring_plan *plan,
							     uint64_t j)
{
	uint64_t ring = ring_one_shot_ring_signals(plan);
	if (j < ring)
		return ring_plan_signal(plan->prev, 0);
	return ring_plan_signal(ring_one_shot_partner(plan, -(int)(j - ring) - 1), 0);
}

/* Which of its chunk's entries one after the signals is, where each chunk has this many. */
RING_PURE int ring_one_shot_split(const struct ring_plan *plan, uint64_t index, uint64_t entries,
				  uint64_t *chunk)
{
	bool by_distance = plan->params.kind == RING_KIND_ALL_TO_ALL;
	uint64_t inner = by_distance ? plan->rounds : entries;
	uint64_t outer = inner == 1 ? index : index / inner, rest = index - outer * inner;
	*chunk = by_distance ? rest : outer;
	return (int)(by_distance ? outer : rest);
}

RING_PURE struct ring_transfer ring_one_shot_outgoing(const struct ring_plan *plan, uint64_t i)
{
	if (i < plan->signals)
		return ring_one_shot_outgoing_signal(plan, i);
	uint64_t chunk;
	int step = ring_one_shot_split(plan, i - plan->signals, plan->fan.out, &chunk);
	int peer = ring_plan_at(plan, step + 1);
	if (ring_kind_is_to_root(plan->params.kind) && plan->opening == 0)
		peer = plan->params.root;
	if (!ring_one_shot_flows(plan, ring_plan_self(plan), peer))
		return ring_plan_signal(peer, 0);
	struct ring_transfer transfer = {
		.action = RING_SEND, .peer = peer, .opens = plan->opening > 0, .step = step};
	transfer.bytes = ring_one_shot_to(plan, peer, chunk, &transfer.source.offset);
	return transfer;
}

/*
 * The bytes of a piece at *offset that belong to `rank`'s block; *offset becomes where they begin.
 */
RING_PURE uint64_t ring_one_shot_block(const struct ring_plan *plan, int rank, uint64_t *offset,
				       uint64_t bytes)
{
	const struct ring_plan_params *params = &plan->params;
	uint64_t begin = ring_share_begin(params->count, params->size, rank);
	uint64_t end = begin + ring_share_length(params->count, params->size, rank);
	begin *= params->element_bytes;
	end *= params->element_bytes;
	if (begin < *offset)
		begin = *offset;
	if (end > *offset + bytes)
		end = *offset + bytes;
	if (end <= begin)
		return 0;
	*offset = begin;
	return end - begin;
}

/* Entry `step` of a chunk: what another rank sends is held, if it is more than its record. */
RING_PURE struct ring_transfer ring_one_shot_hear(const struct ring_plan *plan, uint64_t chunk,
						  int step)
{
	uint64_t offset;
	int peer = ring_plan_at(plan, step + 1);
	if (!ring_one_shot_flows(plan, peer, ring_plan_self(plan)))
		return ring_plan_signal(peer, 0);
	struct ring_transfer hold = ring_plan_hold(plan, step,
						   ring_one_shot_from(plan, peer, chunk, &offset));
	hold.opens = plan->opening > 0;
	hold.source.offset = ring_one_shot_there(plan, chunk);
	return hold;
}

/*
 * Entry `step` of a chunk that is added up, behind `heard` others. An all-reduce has sent its
 * summand to all others before; in place, the sum replaces it.
 */
RING_PURE struct ring_transfer ring_one_shot_sum(const struct ring_plan *plan, uint64_t chunk,
						 int step, int heard)
{
	enum ring_kind kind = plan->params.kind;
	int self = ring_plan_self(plan), behind = 0;
	uint64_t own, sum, bytes = ring_one_shot_to(plan, self, chunk, &own);
	ring_one_shot_from(plan, self, chunk, &sum);
	uint64_t begin = own;
	if (kind == RING_KIND_ALL_REDUCE && heard > 0) {
		behind = ring_one_shot_owner(plan, (uint64_t)(step - heard));
		bytes = ring_one_shot_block(plan, ring_plan_at(plan, behind), &own, bytes);
		sum = own;
	}
	struct ring_transfer transfer = ring_plan_sum(plan, plan->signals + chunk * plan->fan.in,
						      behind, own, sum);
	if (plan->params.size == 2) {
		transfer.peer = plan->next;
		transfer.opens = plan->opening > 0;
		transfer.behind = 0;
		transfer.held.count = 0;
	}
	transfer.bytes = bytes;
	transfer.held.skip = own - begin;
	transfer.held.releases = (uint64_t)step + 1 == plan->fan.in;
	if (kind == RING_KIND_ALL_REDUCE)
		transfer.needs = plan->signals + (chunk + 1) * plan->fan.out;
	return transfer;
}

/* Entry `step` of a chunk that is copied, behind `heard` others; the farthest rank's first. */
RING_PURE struct ring_transfer ring_one_shot_copy(const struct ring_plan *plan, uint64_t chunk,
						  int step, int heard)
{
	enum ring_kind kind = plan->params.kind;
	int self = ring_plan_self(plan), distance = plan->params.size - 1 - (step - heard);
	while (ring_kind_is_from_root(kind) && ring_plan_at(plan, distance) != plan->params.root)
		distance--;
	int from = ring_plan_at(plan, distance);
	struct ring_transfer transfer = {.action = RING_COPY, .peer = from, .step = step};
	if (heard > 0) {
		transfer.peer = self;
		transfer.held = (struct ring_held){.first = (uint64_t)distance - 1,
						   .count = 1,
						   .releases = true};
	}
	transfer.opens = plan->opening > 0 && heard == 0;
	transfer.source.offset = ring_one_shot_there(plan, chunk);
	transfer.result.buffer = RING_OUTPUT;
	transfer.bytes = ring_one_shot_from(plan, from, chunk, &transfer.result.offset);
	return transfer;
}

/* What stays on this rank, all at once. */
RING_PURE struct ring_transfer ring_one_shot_keep(const struct ring_plan *plan)
{
	int self = ring_plan_self(plan);
	struct ring_transfer transfer = {.action = RING_COPY,
					 .peer = self,
					 .source = {RING_INPUT, 0},
					 .result = {RING_OUTPUT, 0},
					 .bytes = ring_one_shot_bytes_to(plan, self),
					 .needs = plan->outgoing,
					 .step = plan->params.size - 1};
	ring_one_shot_to(plan, self, 0, &transfer.source.offset);
	ring_one_shot_from(plan, self, 0, &transfer.result.offset);
	return transfer;
}

RING_PURE struct ring_transfer ring_one_shot_incoming(const struct ring_plan *plan, uint64_t j)
{
	if (j < plan->signals)
		return ring_one_shot_incoming_signal(plan, j);
	j -= plan->signals;
	if (j == plan->rounds * plan->fan.in)
		return ring_one_shot_keep(plan);
	uint64_t chunk;
	int step = ring_one_shot_split(plan, j, plan->fan.in, &chunk);
	int heard = (int)ring_one_shot_heard(plan);
	if (step < heard)
		return ring_one_shot_hear(plan, chunk, step);
	if (ring_kind_reduces(plan->params.kind))
		return ring_one_shot_sum(plan, chunk, step, heard);
	return ring_one_shot_copy(plan, chunk, step, heard);
}

/* A hub's links by distance, to and from; the others' to next, from prev, to and from root. */
RING_PURE int ring_one_shot_edge(const struct ring_plan *plan, int index, bool *outgoing)
{
	if (ring_one_shot_is_hub(plan) || index < 2)
		return ring_plan_edge_of_all(plan, index, outgoing);
	*outgoing = index % 2 == 0;
	return plan->params.root;
}

/* All parts are on their way at once. */
RING_PURE struct ring_plan_cost ring_one_shot_cost(const struct ring_plan *plan)
{
	uint64_t sent = 0;
	for (int distance = 1; distance < plan->params.size; distance++) {
		int peer = ring_plan_at(plan, distance);
		if (ring_one_shot_flows(plan, ring_plan_self(plan), peer))
			sent += ring_one_shot_bytes_to(plan, peer);
	}
	return (struct ring_plan_cost){.steps = plan->params.size > 1,
				       .agreement = plan->signals > 0 &&
						    !ring_one_shot_is_exchange(plan),
				       .sent_bytes = sent};
}

#endif
