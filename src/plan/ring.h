/* SPDX-License-Identifier: MIT */
/*
 * The ring as a plan. Included by plan.h only.
 *
 * Ranks stand in a circle and `position` counts them. The vector's blocks lie in the order of
 * ranks; here, block b is that of the rank at position b. In step t, position p of n sends block
 * p-1-t and receives block p-2-t (modulo n), which it sends on in step t+1. Three ranks,
 * all-reduce, who sends which block:
 *
 *	         step 0  step 1 | step 2  step 3
 *	rank 0     2       1    |   0       2         steps 0..n-2 reduce: what arrives is added to
 *	rank 1     0       2    |   1       0         one's own input; the last sum leaves block
 *	rank 2     1       0    |   2       1         p complete at position p
 *	          reduce-scatter    all-gather        steps n-1..2n-3 copy it around
 *
 *	reduce-scatter = steps [0, n-1)   all-gather = [n-1, 2n-2)   all-reduce = [0, 2n-2)
 *
 * ring_steps draws it for any n, and counts steps alike.
 *
 * A block is shared out to the channels, a channel's share is cut into chunks, and `chunks` of them
 * go around together as one round. Entries are ordered (round, step, chunk) and rounds follow one
 * another without draining, so a reduced chunk is sent on while it is still in cache.
 *
 * A scaled call multiplies a rank's own input first: REDUCE scales what it adds, and what is sent
 * in step 0 is scaled into scratch by a step before it, in which nothing is received.
 *
 * A broadcast is a chain of chunks from root to the rank before it, a reduction one from the rank
 * behind root to root. Rank `hop` of the chain receives from hop-1 and sends to hop+1:
 *
 *	broadcast   root -> root+1 -> ... -> root-1        hop 0 sends, all others copy
 *	reduce      root+1 -> root+2 -> ... -> root        hop 0 sends, all others add their input
 *
 * Partial sums live in SCRATCH, never in the user's memory: the first byte that a reducing call
 * writes to OUTPUT is the last addition, in step n-2 or at the root, and it can only happen after
 * every rank has seen a matching entry record from the one before it. The others, the chains, and
 * calls without data begin with n-1 signals that go all the way around before anything lands; a
 * barrier is just those.
 *
 * Uneven parts are blocks of any length, cut as the longest; an empty one proves nothing, so then
 * the signals go all the way around.
 *
 * No deadlock: a round has `chunks` chunks on their way per step. A rank can always send if what it
 * received can be put down somewhere: in its scratch, or in the `depth` slots of the link behind
 * it. depth + scratch_chunks > chunks is enough, and with full chunks and three ranks it takes no
 * less; scratch_chunks >= chunks makes it hold at any depth. Two ranks have no sums but the last,
 * so they need no scratch, and for scaling what they send depth + scratch_chunks >= chunks. A chain
 * ends where nothing is sent on, so any room will do.
 *
 * Overwriting a block while copying is safe: its final value can only come after every neighbour
 * consumed what was sent of it.
 *
 * Source: Patarasuk & Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", section 3; the chains are the same ring with one source or one sink.
 */
#ifndef RING_PLAN_RING_H
#define RING_PLAN_RING_H

/* The kinds that cut into blocks what they reduce; REDUCE itself is a chain. */
RING_PURE bool ring_ring_reduces(const struct ring_plan *plan)
{
	return plan->params.kind == RING_KIND_ALL_REDUCE ||
	       plan->params.kind == RING_KIND_REDUCE_SCATTER;
}

/*
 * Its last additions come behind all ranks' records, if there are some everywhere: one signal will
 * do.
 */
RING_PURE bool ring_ring_proves(const struct ring_plan *plan)
{
	const struct ring_parts *parts = plan->params.parts;
	bool some = ring_ring_reduces(plan) && (parts || plan->params.count > 0);
	for (int rank = 0; some && parts && rank < plan->params.size; rank++)
		some = parts->to[rank] > 0;
	return some;
}

RING_PURE bool ring_ring_is_chain(const struct ring_plan *plan)
{
	return plan->params.kind == RING_KIND_BROADCAST || plan->params.kind == RING_KIND_REDUCE;
}

/* The same chunk's place in a buffer that holds one part only. */
RING_PURE uint64_t ring_ring_part_offset(const struct ring_plan *plan, int rank, uint64_t offset)
{
	uint64_t begin;
	if (plan->params.kind == RING_KIND_ALL_REDUCE)
		return offset;
	ring_plan_whole_part(plan, rank, &begin);
	return offset - begin * plan->params.element_bytes;
}

/* Where an entry behind the signals stands; a round of its sequence has a number of steps. */
struct ring_ring_index {
	uint64_t round, step, chunk; /* of a chain, chunk alone */
	uint64_t place;              /* in scratch, counted in chunks, of what lies there */
	uint64_t freed;              /* outgoing entries after which a result may go there */
};

/* ring_cursor.h counts to the same. */
RING_PURE struct ring_ring_index ring_ring_split(const struct ring_plan *plan, uint64_t index,
						 uint64_t steps)
{
	uint64_t in_all = steps * plan->chunks;
	uint64_t round = index < in_all ? 0 : index / in_all;
	uint64_t in_round = index - round * in_all;
	uint64_t step = plan->chunks == 1 ? in_round : in_round / plan->chunks;
	return (struct ring_ring_index){.round = round,
					.step = step,
					.chunk = in_round - step * plan->chunks};
}

/* Incoming steps of a round: the scaling, the ring's, and one for the own block if it is copied. */
RING_PURE uint64_t ring_ring_incoming_steps(const struct ring_plan *plan)
{
	bool copies_own = plan->params.kind == RING_KIND_ALL_GATHER || plan->params.size == 1;
	return plan->around.scalings + plan->around.steps + (copies_own ? 1 : 0);
}

RING_PURE int ring_ring_hop(const struct ring_plan *plan)
{
	int first = plan->params.kind == RING_KIND_REDUCE; /* the rank behind root, else root */
	return ring_plan_mod(ring_plan_behind_root(plan) - first, plan->params.size);
}

/* Hop 0 of a reduction receives nothing; but what it sends scaled, it scales first. */
RING_PURE void ring_ring_make_chain(struct ring_plan *plan)
{
	const struct ring_plan_params *params = &plan->params;
	bool first_receives = params->kind == RING_KIND_BROADCAST || params->scaled;
	plan->hop = ring_ring_hop(plan);
	bool first = plan->hop == 0, last = plan->hop == params->size - 1;
	ring_plan_cut_part(plan);
	plan->outgoing += last ? 0 : plan->rounds;
	plan->incoming += !first || last || first_receives ? plan->rounds : 0;
	if (params->kind == RING_KIND_REDUCE && (params->size > 2 || plan->around.scalings)) {
		uint64_t room = 2 * (uint64_t)params->chunks_per_round;
		plan->scratch_chunks = room < plan->rounds ? room : plan->rounds;
	}
}

RING_PURE void ring_ring_make_blocks(struct ring_plan *plan)
{
	int n = plan->params.size;
	plan->around.first = plan->params.kind == RING_KIND_ALL_GATHER ? n - 1 : 0;
	plan->around.steps = plan->params.kind == RING_KIND_ALL_REDUCE ? 2 * (n - 1) : n - 1;
	ring_plan_cut_blocks(plan, (uint64_t)plan->params.chunks_per_round);
	if (ring_ring_reduces(plan) && (n > 2 || plan->around.scalings))
		plan->scratch_chunks = 2 * plan->chunks;
	plan->outgoing += plan->rounds * plan->around.steps * plan->chunks;
	plan->incoming += plan->rounds * ring_ring_incoming_steps(plan) * plan->chunks;
}

RING_PURE bool ring_ring_can(enum ring_kind kind, int size, uint64_t bytes)
{
	(void)size, (void)bytes;
	return kind <= RING_KIND_REDUCE;
}

RING_PURE struct ring_plan ring_ring_make(const struct ring_plan_params *params)
{
	struct ring_plan plan = ring_plan_begin(params);
	int n = params->size;
	plan.edges = n > 1 ? 2 : 0;
	plan.around.scalings = params->scaled && n > 1 ? 1 : 0;
	plan.signals = ring_ring_proves(&plan) ? n > 1 : (uint64_t)n - 1;
	plan.outgoing = plan.incoming = plan.signals;
	if (ring_ring_is_chain(&plan))
		ring_ring_make_chain(&plan);
	else if (params->kind != RING_KIND_BARRIER)
		ring_ring_make_blocks(&plan);
	plan.agreed = plan.signals;
	plan.sends_on = params->size > 2;
	return plan;
}

RING_PURE uint64_t ring_ring_scratch_offset(const struct ring_plan *plan, uint64_t place)
{
	return place * plan->chunk * plan->params.element_bytes;
}

RING_PURE struct ring_transfer ring_ring_into_scratch(const struct ring_plan *plan,
						      struct ring_ring_index at,
						      struct ring_transfer transfer)
{
	transfer.result = (struct ring_place){RING_SCRATCH,
					      ring_ring_scratch_offset(plan, at.place)};
	transfer.needs = at.freed;
	return transfer;
}

/* Where a broadcast's hop 0 sends from, a reduction's hop 0, and all others. */
RING_PURE enum ring_buffer ring_ring_chain_source(const struct ring_plan *plan)
{
	if (plan->hop == 0 && !plan->around.scalings)
		return RING_INPUT;
	return plan->params.kind == RING_KIND_REDUCE ? RING_SCRATCH : RING_OUTPUT;
}

/* Chunk `chunk` of a chain. */
RING_PURE struct ring_ring_index ring_ring_chain_index(const struct ring_plan *plan, uint64_t chunk)
{
	struct ring_ring_index at = {.chunk = chunk};
	if (plan->scratch_chunks > 0)
		at.place = chunk % plan->scratch_chunks;
	if (plan->scratch_chunks > 0 && chunk >= plan->scratch_chunks)
		at.freed = plan->signals + chunk - plan->scratch_chunks + 1;
	return at;
}

RING_PURE struct ring_transfer ring_ring_chain_outgoing(const struct ring_plan *plan,
							struct ring_ring_index at)
{
	uint64_t offset, bytes = ring_plan_piece(plan, 0, at.chunk, &offset);
	enum ring_buffer source = ring_ring_chain_source(plan);
	if (source == RING_SCRATCH)
		offset = ring_ring_scratch_offset(plan, at.place);
	return (struct ring_transfer){
		.action = RING_SEND,
		.peer = plan->next,
		.source = {source, offset},
		.bytes = bytes,
		.needs = source == RING_INPUT ? 0 : plan->signals + at.chunk + 1,
		.step = plan->hop,
	};
}

RING_PURE struct ring_transfer ring_ring_chain_incoming(const struct ring_plan *plan,
							struct ring_ring_index at)
{
	const struct ring_plan_params *params = &plan->params;
	bool first = plan->hop == 0, last = plan->hop == params->size - 1;
	bool reduces = params->kind == RING_KIND_REDUCE;
	uint64_t offset, bytes = ring_plan_piece(plan, 0, at.chunk, &offset);
	struct ring_transfer transfer = {
		.action = reduces && !first ? RING_REDUCE : RING_COPY,
		.peer = first ? ring_plan_self(plan) : plan->prev,
		.source = {RING_INPUT, offset},
		.result = {RING_OUTPUT, offset},
		.bytes = bytes,
		.last = reduces && last && !first,
		.step = first ? 0 : plan->hop - 1,
	};
	if (first && params->scaled)
		transfer.action = RING_SCALE;
	if (!reduces || last)
		return transfer;
	return ring_ring_into_scratch(plan, at, transfer);
}

/*
 * What is sent in steps 0..n-2 and lies in scratch: the sums of steps 0..n-3, and before them what
 * was scaled. `number` counts these chunks as they are made, scratch_step from 0 in each round.
 */
RING_PURE uint64_t ring_ring_scratch_steps(const struct ring_plan *plan)
{
	return plan->params.size - 2 + plan->around.scalings;
}

/* Whether the results of an incoming step of a round go to scratch. */
RING_PURE bool ring_ring_fills_scratch(const struct ring_plan *plan, uint64_t step)
{
	return ring_ring_reduces(plan) && step + 2 < plan->params.size + plan->around.scalings;
}

/* Whether an outgoing step sends from there what the incoming one before it has made. */
RING_PURE bool ring_ring_sends_scratch(const struct ring_plan *plan, uint64_t step)
{
	uint64_t made = step + plan->around.scalings;
	return made > 0 && ring_ring_fills_scratch(plan, made - 1);
}

RING_PURE uint64_t ring_ring_scratch_number(const struct ring_plan *plan, uint64_t round,
					    uint64_t scratch_step, uint64_t chunk)
{
	return (round * ring_ring_scratch_steps(plan) + scratch_step) * plan->chunks + chunk;
}

/*
 * Index of the outgoing entry that sends chunk `number` on: a sum goes one step after it was made.
 */
RING_PURE uint64_t ring_ring_sender_of(const struct ring_plan *plan, uint64_t number)
{
	uint64_t of_round = ring_ring_scratch_steps(plan) * plan->chunks;
	return plan->signals + number / of_round * plan->around.steps * plan->chunks +
	       number % of_round + (1 - plan->around.scalings) * plan->chunks;
}

RING_PURE struct ring_ring_index ring_ring_outgoing_index(const struct ring_plan *plan, uint64_t i)
{
	if (ring_ring_is_chain(plan))
		return ring_ring_chain_index(plan, i);
	struct ring_ring_index at = ring_ring_split(plan, i, plan->around.steps);
	if (ring_ring_sends_scratch(plan, at.step))
		at.place = ring_ring_scratch_number(plan, at.round,
						    at.step + plan->around.scalings - 1, at.chunk) %
			   plan->scratch_chunks;
	return at;
}

/* A result must wait for what was at its place in scratch to be sent. */
RING_PURE struct ring_ring_index ring_ring_incoming_index(const struct ring_plan *plan, uint64_t j)
{
	if (ring_ring_is_chain(plan))
		return ring_ring_chain_index(plan, j);
	struct ring_ring_index at = ring_ring_split(plan, j, ring_ring_incoming_steps(plan));
	if (!ring_ring_fills_scratch(plan, at.step))
		return at;
	uint64_t number = ring_ring_scratch_number(plan, at.round, at.step, at.chunk);
	at.place = number % plan->scratch_chunks;
	if (number >= plan->scratch_chunks)
		at.freed = ring_ring_sender_of(plan, number - plan->scratch_chunks) + 1;
	return at;
}

RING_PURE struct ring_transfer ring_ring_outgoing_at(const struct ring_plan *plan,
						     struct ring_ring_index at)
{
	if (ring_ring_is_chain(plan))
		return ring_ring_chain_outgoing(plan, at);

	int n = plan->params.size, p = plan->params.position;
	int step = plan->around.first + (int)at.step;
	int owner = plan->params.order[ring_plan_mod(p - 1 - step, n)];
	uint64_t offset;
	struct ring_transfer transfer = {.action = RING_SEND, .peer = plan->next, .step = step};
	transfer.bytes = ring_plan_chunk(plan, owner, at.round * plan->chunks + at.chunk, &offset);

	uint64_t made = at.step +
			plan->around.scalings; /* incoming steps of the round that it needs */
	if (made == 0) {
		if (plan->params.kind == RING_KIND_ALL_GATHER)
			offset = ring_ring_part_offset(plan, owner, offset);
		transfer.source = (struct ring_place){RING_INPUT, offset};
		return transfer;
	}
	transfer.needs = plan->signals + at.round * ring_ring_incoming_steps(plan) * plan->chunks +
			 (made - 1) * plan->chunks + at.chunk + 1;
	transfer.source = (struct ring_place){RING_OUTPUT, offset};
	if (ring_ring_sends_scratch(plan, at.step))
		transfer.source = (struct ring_place){RING_SCRATCH,
						      ring_ring_scratch_offset(plan, at.place)};
	return transfer;
}

/* Signal s says "I and the s ranks before me are in this call". */
RING_PURE struct ring_transfer ring_ring_outgoing(const struct ring_plan *plan, uint64_t i)
{
	if (i < plan->signals)
		return ring_plan_signal(plan->next, i);
	return ring_ring_outgoing_at(plan, ring_ring_outgoing_index(plan, i - plan->signals));
}

RING_PURE struct ring_transfer ring_ring_reduction(const struct ring_plan *plan,
						   struct ring_ring_index at, int owner,
						   struct ring_transfer transfer, uint64_t offset)
{
	transfer.action = RING_REDUCE;
	transfer.source = (struct ring_place){RING_INPUT, offset};
	transfer.last = transfer.step == plan->params.size - 2;
	if (!transfer.last)
		return ring_ring_into_scratch(plan, at, transfer);
	transfer.result = (struct ring_place){RING_OUTPUT,
					      ring_ring_part_offset(plan, owner, offset)};
	return transfer;
}

/* Scales what step 0 sends. */
RING_PURE struct ring_transfer ring_ring_scaling(const struct ring_plan *plan,
						 struct ring_ring_index at)
{
	const struct ring_plan_params *params = &plan->params;
	int owner = params->order[ring_plan_mod(params->position - 1, params->size)];
	uint64_t offset, chunk = at.round * plan->chunks + at.chunk;
	struct ring_transfer transfer = {.action = RING_SCALE, .peer = ring_plan_self(plan)};
	transfer.bytes = ring_plan_chunk(plan, owner, chunk, &offset);
	transfer.source = (struct ring_place){RING_INPUT, offset};
	return ring_ring_into_scratch(plan, at, transfer);
}

RING_PURE struct ring_transfer ring_ring_incoming_at(const struct ring_plan *plan,
						     struct ring_ring_index at)
{
	if (ring_ring_is_chain(plan))
		return ring_ring_chain_incoming(plan, at);

	int n = plan->params.size, p = plan->params.position;
	if (at.step < plan->around.scalings)
		return ring_ring_scaling(plan, at);
	int in_round = (int)(at.step - plan->around.scalings), step = plan->around.first + in_round;
	bool own = in_round == plan->around.steps;
	int owner = plan->params.order[own ? p : ring_plan_mod(p - 2 - step, n)];
	uint64_t offset;
	struct ring_transfer transfer = {.action = own && plan->params.scaled ? RING_SCALE
									      : RING_COPY,
					 .peer = own ? owner : plan->prev,
					 .step = step};
	transfer.bytes = ring_plan_chunk(plan, owner, at.round * plan->chunks + at.chunk, &offset);

	if (!own && step < n - 1)
		return ring_ring_reduction(plan, at, owner, transfer, offset);
	transfer.result = (struct ring_place){RING_OUTPUT, offset};
	if (own)
		transfer.source = (struct ring_place){RING_INPUT,
						      ring_ring_part_offset(plan, owner, offset)};
	return transfer;
}

RING_PURE struct ring_transfer ring_ring_incoming(const struct ring_plan *plan, uint64_t j)
{
	if (j < plan->signals)
		return ring_plan_signal(plan->prev, 0);
	return ring_ring_incoming_at(plan, ring_ring_incoming_index(plan, j - plan->signals));
}

RING_PURE int ring_ring_edge(const struct ring_plan *plan, int index, bool *outgoing)
{
	*outgoing = index == 0;
	return *outgoing ? plan->next : plan->prev;
}

/* n-1 signals go around; data follow the last of them. */
RING_PURE uint64_t ring_ring_agreement(const struct ring_plan *plan)
{
	int n = plan->params.size;
	return ring_ring_proves(plan) || n < 2 ? 0 : (uint64_t)n - 2;
}

RING_PURE struct ring_plan_cost ring_ring_cost(const struct ring_plan *plan)
{
	const struct ring_plan_params *params = &plan->params;
	uint64_t begin, total = 0, elements = 0;
	int n = params->size, self = ring_plan_self(plan);

	if (params->kind == RING_KIND_BARRIER)
		return (struct ring_plan_cost){.steps = n - 1};
	if (ring_ring_is_chain(plan)) {
		elements = plan->hop < n - 1 ? plan->share.length : 0;
		return (struct ring_plan_cost){.steps = n - 1,
					       .agreement = ring_ring_agreement(plan),
					       .sent_bytes = elements * params->element_bytes};
	}
	for (int rank = 0; rank < n; rank++)
		total += ring_plan_block(plan, rank, &begin);
	if (ring_ring_reduces(plan))
		elements += total - ring_plan_block(plan, self, &begin);
	if (params->kind != RING_KIND_REDUCE_SCATTER)
		elements += total - ring_plan_block(plan, plan->next, &begin);
	return (struct ring_plan_cost){.steps = plan->around.steps,
				       .agreement = ring_ring_agreement(plan),
				       .sent_bytes = elements * params->element_bytes};
}

#endif
