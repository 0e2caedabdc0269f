/* SPDX-License-Identifier: MIT */
/*
 * Ranks that reach one another's memory, as a plan: each reads its share of all inputs once and
 * writes it to all outputs once. Included by plan.h only.
 *
 *	                  a rank reads               and writes
 *	all-reduce        its share of all INPUTs    its share of all OUTPUTs
 *	reduce-scatter    its part of all INPUTs     its OUTPUT
 *	all-gather        its INPUT                  its part of all OUTPUTs
 *	broadcast         its share of root's        its share of all OUTPUTs but root's
 *	reduce            its share of all INPUTs    its share of root's OUTPUT
 *	gather            its INPUT                  its part of root's OUTPUT
 *	scatter           its part of root's         its OUTPUT
 *	all-to-all        each part of its INPUT     its part of that rank's OUTPUT
 *
 * Root of a broadcast copies the vector to its own OUTPUT, if that is another place. What stays on
 * a rank, there and in all-to-all, is copied whole and last: its size tells how best to copy it. In
 * a broadcast a few ranks may have all shares: where ranks take turns on few CPUs, fewer and larger
 * shares take less time. Its payload goes from root to each other rank, whichever moves it.
 *
 * The shares of a vector lie in the order of ranks, like the ring's blocks. One rank adds each, in
 * one pass and in the ring's order, so all receive the same bits. In place is like out of place: no
 * rank writes what another reads.
 *
 *	incoming   chunk after chunk of this, then a signal from every rank: it is done
 *	outgoing   behind all chunks, a signal to every rank
 *
 * Where memory is not mapped, summands are first copied to SCRATCH, a chunk for each rank. A
 * device's, which is apart from the host, is.
 *
 * Agreement: a rank begins once it knows where all ranks' memory lies, and so that all make this
 * call.
 *
 * No deadlock: only the end waits for peers, for one message of each.
 */
#ifndef RING_PLAN_DIRECT_H
#define RING_PLAN_DIRECT_H

/* Parts that a buffer holds: one for each rank, or the whole. */
RING_PURE int ring_direct_parts_in(enum ring_kind kind, int size)
{
	return ring_kind_has_parts_in(kind) ? size : 1;
}

RING_PURE int ring_direct_parts_out(enum ring_kind kind, int size)
{
	return ring_kind_has_parts_out(kind) ? size : 1;
}

/* Kinds whose vector is whole in both buffers: it is cut into shares. */
RING_PURE bool ring_direct_has_shares(enum ring_kind kind)
{
	return kind == RING_KIND_ALL_REDUCE || kind == RING_KIND_BROADCAST ||
	       kind == RING_KIND_REDUCE;
}

/* Whether the rank at this place behind root of a broadcast has a share. */
RING_PURE bool ring_direct_is_worker(const struct ring_plan_params *params, int place)
{
	return params->workers == 0 || params->workers >> place & 1;
}

/* Shares of the ranks before that place. */
RING_PURE int ring_direct_shares_before(const struct ring_plan_params *params, int place)
{
	int shares = 0;
	for (int before = 0; before < place; before++)
		shares += ring_direct_is_worker(params, before);
	return shares;
}

/* How many shares a vector is cut into. */
RING_PURE int ring_direct_shares(const struct ring_plan_params *params)
{
	return params->kind == RING_KIND_BROADCAST ? ring_direct_shares_before(params, params->size)
						   : params->size;
}

/* Which share is this rank's; -1: none. */
RING_PURE int ring_direct_own_share(const struct ring_plan *plan)
{
	const struct ring_plan_params *params = &plan->params;
	if (params->kind != RING_KIND_BROADCAST)
		return ring_plan_self(plan);
	int place = ring_plan_behind_root(plan);
	return ring_direct_is_worker(params, place) ? ring_direct_shares_before(params, place) : -1;
}

/* This channel's elements of such a share, or of each part; *begin counts within it. */
RING_PURE uint64_t ring_direct_share(const struct ring_plan *plan, int share, uint64_t *begin)
{
	uint64_t length = plan->params.count;
	*begin = 0;
	if (ring_direct_has_shares(plan->params.kind))
		length = share < 0 ? 0 : ring_plan_whole_block(plan, share, begin);
	return ring_plan_of_channel(plan, length, begin);
}

/* Pieces of what stays on this rank. */
RING_PURE int ring_direct_copies(const struct ring_plan *plan)
{
	if (plan->params.kind == RING_KIND_BROADCAST)
		return ring_plan_self(plan) == plan->params.root ? ring_direct_shares(&plan->params)
								 : 0;
	return plan->params.kind == RING_KIND_ALL_TO_ALL ? 1 : 0;
}

RING_PURE bool ring_direct_can(enum ring_kind kind, int size, uint64_t bytes)
{
	(void)size, (void)bytes;
	return !ring_kind_is_message(kind) && kind != RING_KIND_BARRIER;
}

RING_PURE struct ring_plan ring_direct_make(const struct ring_plan_params *params)
{
	struct ring_plan plan = ring_plan_begin(params);
	uint64_t others = params->size - 1;
	plan.edges = 2 * (params->size - 1);
	int shares = ring_direct_shares(params);
	plan.block.elements = params->count / shares;
	plan.block.longer = params->count % shares;
	plan.share.length = ring_direct_share(&plan, ring_direct_own_share(&plan),
					      &plan.share.begin);
	while (params->kind == RING_KIND_REDUCE && ring_plan_at(&plan, plan.behind) != params->root)
		plan.behind++;
	plan.behind = ring_plan_last(&plan, plan.behind);
	ring_plan_cut(&plan, plan.share.length, 1);
	plan.scratch_chunks = ring_kind_reduces(params->kind) && !params->apart ? params->size : 0;
	plan.fan.in = params->kind == RING_KIND_ALL_TO_ALL ? params->size - 1 : 1;
	plan.exchanges = others > 0;
	plan.outgoing = others;
	plan.incoming = plan.rounds * plan.fan.in + ring_direct_copies(&plan) + others;
	plan.mutual = true;
	return plan;
}

/* The rank whose input is summand k < n; the rank that lies `behind` is last. */
RING_PURE int ring_direct_summand(const struct ring_plan *plan, int behind, int k)
{
	return ring_plan_at(plan, behind + 1 + k - plan->params.size);
}

/* Where a kind reads: everywhere, at root, or here. */
RING_PURE enum ring_buffer ring_direct_source(const struct ring_plan *plan)
{
	enum ring_kind kind = plan->params.kind;
	if (ring_kind_reduces(kind))
		return RING_ALL_INPUTS;
	return ring_kind_is_from_root(kind) && ring_plan_self(plan) != plan->params.root
		       ? RING_PEER_INPUT
		       : RING_INPUT;
}

/* Where a kind writes: everywhere, everywhere but at root, at `peer`, or here. */
RING_PURE enum ring_buffer ring_direct_result(const struct ring_plan *plan, int peer)
{
	switch (plan->params.kind) {
	case RING_KIND_ALL_REDUCE:
	case RING_KIND_ALL_GATHER:
		return RING_ALL_OUTPUTS;
	case RING_KIND_BROADCAST:
		return RING_OTHER_OUTPUTS;
	case RING_KIND_REDUCE_SCATTER:
	case RING_KIND_SCATTER:
		return RING_OUTPUT;
	default:
		return peer == ring_plan_self(plan) ? RING_OUTPUT : RING_PEER_OUTPUT;
	}
}

/* The rank at the other end: root, or in all-to-all one after the other. */
RING_PURE int ring_direct_peer(const struct ring_plan *plan, int step)
{
	switch (plan->params.kind) {
	case RING_KIND_ALL_TO_ALL:
		return ring_plan_at(plan, step + 1);
	case RING_KIND_BROADCAST:
	case RING_KIND_REDUCE:
	case RING_KIND_GATHER:
	case RING_KIND_SCATTER:
		return plan->params.root;
	default:
		return ring_plan_self(plan);
	}
}

/* Done with everybody's memory. */
RING_PURE struct ring_transfer ring_direct_outgoing(const struct ring_plan *plan, uint64_t i)
{
	return ring_plan_signal(ring_plan_at(plan, (int)i + 1), plan->incoming - plan->outgoing);
}

/* Piece number `index` of what stays on this rank: that share, or the part for oneself. */
RING_PURE struct ring_transfer ring_direct_copy(const struct ring_plan *plan, int index)
{
	uint64_t begin, length = ring_direct_share(plan, index, &begin);
	if (plan->params.kind == RING_KIND_ALL_TO_ALL)
		begin += ring_plan_self(plan) * plan->params.count;
	uint64_t offset = begin * plan->params.element_bytes;
	return (struct ring_transfer){.action = RING_COPY,
				      .peer = ring_plan_self(plan),
				      .source = {RING_INPUT, offset},
				      .result = {RING_OUTPUT, offset},
				      .bytes = length * plan->params.element_bytes,
				      .step = 1};
}

RING_PURE struct ring_transfer ring_direct_incoming(const struct ring_plan *plan, uint64_t j)
{
	uint64_t work = plan->incoming - plan->outgoing;
	if (j >= work)
		return ring_plan_signal(ring_plan_at(plan, -(int)(j - work) - 1), 0);
	if (j >= plan->rounds * plan->fan.in)
		return ring_direct_copy(plan, (int)(j - plan->rounds * plan->fan.in));
	enum ring_kind kind = plan->params.kind;
	uint64_t chunk = plan->fan.in == 1 ? j : j / plan->fan.in;
	int step = (int)(j - chunk * plan->fan.in), self = ring_plan_self(plan);
	int peer = ring_direct_peer(plan, step), size = plan->params.size;
	bool exchanges = kind == RING_KIND_ALL_TO_ALL;
	struct ring_transfer transfer = {
		.action = ring_kind_reduces(kind) ? RING_REDUCE : RING_COPY,
		.peer = peer,
		.source = {ring_direct_source(plan), 0},
		.result = {ring_direct_result(plan, peer), 0},
		.last = ring_kind_reduces(kind),
		.behind = plan->behind,
		.step = step,
	};
	int part = ring_direct_parts_in(kind, size) == 1 ? 0 : exchanges ? peer : self;
	ring_plan_piece(plan, part, chunk, &transfer.source.offset);
	part = ring_direct_parts_out(kind, size) == 1 ? 0 : self;
	transfer.bytes = ring_plan_piece(plan, part, chunk, &transfer.result.offset);
	return transfer;
}

/* Of a rank's share or of each part; of a broadcast, of that share. */
RING_PURE uint64_t ring_direct_bytes(const struct ring_plan *plan, int share)
{
	uint64_t begin;
	return ring_direct_share(plan, share, &begin) * plan->params.element_bytes;
}

/* Of a vector. */
RING_PURE uint64_t ring_direct_all_bytes(const struct ring_plan *plan)
{
	uint64_t bytes = 0;
	for (int share = 0; share < ring_direct_shares(&plan->params); share++)
		bytes += ring_direct_bytes(plan, share);
	return bytes;
}

/* Bytes that `reader` adds or copies of `owner`'s memory, and that come from `writer`'s into it. */
RING_PURE uint64_t ring_direct_read(const struct ring_plan *plan, int reader, int owner)
{
	switch (plan->params.kind) {
	case RING_KIND_ALL_REDUCE:
	case RING_KIND_REDUCE_SCATTER:
	case RING_KIND_REDUCE:
		return ring_direct_bytes(plan, reader);
	case RING_KIND_SCATTER:
		return owner == plan->params.root ? ring_direct_bytes(plan, reader) : 0;
	default:
		return 0;
	}
}

RING_PURE uint64_t ring_direct_written(const struct ring_plan *plan, int writer, int owner)
{
	switch (plan->params.kind) {
	case RING_KIND_ALL_REDUCE:
	case RING_KIND_ALL_GATHER:
	case RING_KIND_ALL_TO_ALL:
		return ring_direct_bytes(plan, writer);
	case RING_KIND_BROADCAST:
		return writer == plan->params.root ? ring_direct_all_bytes(plan) : 0;
	case RING_KIND_REDUCE:
	case RING_KIND_GATHER:
		return owner == plan->params.root ? ring_direct_bytes(plan, writer) : 0;
	default:
		return 0;
	}
}

/* Payload from one rank's memory to another's, whichever of the two moves it. */
RING_PURE uint64_t ring_direct_payload(const struct ring_plan *plan, int from, int to)
{
	return ring_direct_written(plan, from, to) + ring_direct_read(plan, to, from);
}

RING_PURE struct ring_plan_cost ring_direct_cost(const struct ring_plan *plan)
{
	struct ring_plan_cost cost = {.steps = plan->params.size > 1};
	int self = ring_plan_self(plan);
	for (int rank = 0; rank < plan->params.size; rank++)
		if (rank != self)
			cost.sent_bytes += ring_direct_payload(plan, self, rank);
	return cost;
}

RING_PURE int ring_direct_edge(const struct ring_plan *plan, int index, bool *outgoing)
{
	return ring_plan_edge_of_all(plan, index, outgoing);
}

#endif
