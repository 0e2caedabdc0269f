/* SPDX-License-Identifier: MIT */
/*
 * The ring as a plan. Included by plan.h only.
 *
 * Ranks stand in a circle and `position` counts them. The vector's blocks lie in the order of ranks;
 * here, block b is that of the rank at position b. In step t, position p of n sends block p-1-t and
 * receives block p-2-t (modulo n), which it sends on in step t+1. Three ranks, all-reduce, who sends
 * which block:
 *
 *	         step 0  step 1 | step 2  step 3
 *	rank 0     2       1    |   0       2         steps 0..n-2 reduce: what arrives is added to
 *	rank 1     0       2    |   1       0         one's own input; the last addition leaves block
 *	rank 2     1       0    |   2       1         p complete at position p
 *	          reduce-scatter    all-gather        steps n-1..2n-3 copy it around
 *
 *	reduce-scatter = steps [0, n-1)   all-gather = [n-1, 2n-2)   all-reduce = [0, 2n-2)
 *
 * A block is shared out to the channels, a channel's share is cut into chunks, and `chunks` of them
 * go around together as one round. Entries are ordered (round, step, chunk) and rounds follow one
 * another without draining, so a reduced chunk is sent on while it is still in cache.
 *
 * Partial sums live in SCRATCH, never in the user's memory: the first byte that a reducing call
 * writes to OUTPUT is the last addition in step n-2, and it can only happen after every rank has
 * seen a matching entry record from the one before it. The others begin with n-1 signals that go
 * all the way around before anything lands; a barrier is just those.
 *
 * No deadlock: a round has `chunks` chunks on their way per step. A rank can always send if what it
 * received can be put down somewhere: in its scratch, or in the `depth` slots of the link behind it.
 * depth + scratch_chunks > chunks is enough, and with full chunks it takes no less;
 * scratch_chunks >= chunks makes it hold at any depth.
 *
 * Overwriting a block while copying is safe: its final value can only come after every neighbour
 * consumed what was sent of it.
 *
 * Source: Patarasuk & Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", section 3; the chain broadcast is the same ring with one source.
 */
#ifndef RING_PLAN_RING_H
#define RING_PLAN_RING_H

/* a modulo n for a of [-2n, 2n): cheaper than dividing, and every entry needs it. */
RING_PURE int ring_ring_mod(int a, int n)
{
	while (a < 0)
		a += n;
	return a < n ? a : a - n;
}

RING_PURE bool ring_ring_reduces(const struct ring_plan *plan)
{
	return plan->params.kind == RING_KIND_ALL_REDUCE ||
	       plan->params.kind == RING_KIND_REDUCE_SCATTER;
}

/* Elements [*begin, *begin + length) of the vector that `rank`'s block has on this channel. */
RING_PURE uint64_t ring_ring_share(const struct ring_plan *plan, int rank, uint64_t *begin)
{
	const struct ring_plan_params *params = &plan->params;
	uint64_t length = params->count, before = rank;
	*begin = 0;
	if (params->kind == RING_KIND_ALL_REDUCE) {
		bool longer = before < plan->longer_blocks;
		*begin = plan->block * before + (longer ? before : plan->longer_blocks);
		length = plan->block + longer;
	} else if (params->kind != RING_KIND_BROADCAST) {
		*begin = params->count * before;
	}
	if (params->channels == 1)
		return length;
	*begin += ring_share_begin(length, params->channels, params->channel);
	return ring_share_length(length, params->channels, params->channel);
}

/* Bytes of chunk `index` of `rank`'s block on this channel, and where they begin in the vector. */
RING_PURE uint64_t ring_ring_chunk(const struct ring_plan *plan, int rank, uint64_t index,
				   uint64_t *offset)
{
	uint64_t begin, length = ring_ring_share(plan, rank, &begin);
	uint64_t skip = index * plan->chunk;
	if (skip > length)
		skip = length;
	uint64_t elements = length - skip < plan->chunk ? length - skip : plan->chunk;
	*offset = (begin + skip) * plan->params.element_bytes;
	return elements * plan->params.element_bytes;
}

/* The same chunk's place in a buffer that holds one part only. */
RING_PURE uint64_t ring_ring_part_offset(const struct ring_plan *plan, int rank, uint64_t offset)
{
	if (plan->params.kind == RING_KIND_ALL_REDUCE)
		return offset;
	return offset - plan->params.count * rank * plan->params.element_bytes;
}

/* (round, step, chunk) of an entry behind the signals, where a round has `steps` steps. */
struct ring_ring_index {
	uint64_t round, step, chunk;
};

RING_PURE struct ring_ring_index ring_ring_split(const struct ring_plan *plan, uint64_t index,
						 uint64_t steps)
{
	uint64_t in_all = steps * plan->chunks;
	uint64_t round = index < in_all ? 0 : index / in_all;
	uint64_t in_round = index - round * in_all;
	uint64_t step = plan->chunks == 1 ? in_round : in_round / plan->chunks;
	return (struct ring_ring_index){round, step, in_round - step * plan->chunks};
}

/* Incoming entries of a round: the ring's steps, and one for the own block where it must be copied. */
RING_PURE uint64_t ring_ring_incoming_steps(const struct ring_plan *plan)
{
	bool copies_own = plan->params.kind == RING_KIND_ALL_GATHER || plan->params.size == 1;
	return plan->steps + (copies_own ? 1 : 0);
}

/* The distance of this rank from the root along the ring. */
RING_PURE int ring_ring_distance(const struct ring_plan *plan)
{
	const struct ring_plan_params *params = &plan->params;
	int root_position = 0;
	while (params->order[root_position] != params->root)
		root_position++;
	return ring_ring_mod(params->position - root_position, params->size);
}

/* Cuts the longest share into chunks; every rank comes to the same numbers. */
RING_PURE void ring_ring_cut(struct ring_plan *plan)
{
	const struct ring_plan_params *params = &plan->params;
	uint64_t longest = params->count;
	if (params->kind == RING_KIND_ALL_REDUCE)
		longest = ring_share_length(longest, params->size, 0);
	longest = ring_share_length(longest, params->channels, 0);

	plan->chunk = params->chunk_bytes / params->element_bytes;
	if (plan->chunk == 0)
		plan->chunk = 1;
	uint64_t total = longest / plan->chunk + (longest % plan->chunk > 0);
	bool chained = params->kind == RING_KIND_BROADCAST;
	plan->chunks = chained ? 1 : params->chunks_per_round;
	if (plan->chunks > total)
		plan->chunks = total;
	plan->rounds = total == 0 ? 0 : (total + plan->chunks - 1) / plan->chunks;
}

RING_PURE struct ring_plan ring_ring_make(const struct ring_plan_params *params)
{
	struct ring_plan plan = {.params = *params};
	int n = params->size;
	plan.block = params->count / n;
	plan.longer_blocks = params->count % n;
	plan.next = params->order[ring_ring_mod(params->position + 1, n)];
	plan.prev = params->order[ring_ring_mod(params->position - 1, n)];
	plan.signals = ring_ring_reduces(&plan) ? (n > 1 ? 1 : 0) : (uint64_t)n - 1;

	switch (params->kind) {
	case RING_KIND_ALL_REDUCE:
		plan.steps = 2 * (n - 1);
		break;
	case RING_KIND_REDUCE_SCATTER:
		plan.steps = n - 1;
		break;
	case RING_KIND_ALL_GATHER:
		plan.first = plan.steps = n - 1;
		break;
	case RING_KIND_BROADCAST:
	case RING_KIND_BARRIER:
		break;
	}
	plan.outgoing = plan.incoming = plan.signals;
	if (params->kind == RING_KIND_BARRIER)
		return plan;

	ring_ring_cut(&plan);
	if (ring_ring_reduces(&plan) && n > 2)
		plan.scratch_chunks = 2 * plan.chunks;
	if (params->kind == RING_KIND_BROADCAST) {
		plan.outgoing += ring_ring_distance(&plan) < n - 1 ? plan.rounds : 0;
		plan.incoming += plan.rounds;
	} else {
		plan.outgoing += plan.rounds * plan.steps * plan.chunks;
		plan.incoming += plan.rounds * ring_ring_incoming_steps(&plan) * plan.chunks;
	}
	return plan;
}

/* Signal s says "I and the s ranks before me are in this call". */
RING_PURE struct ring_transfer ring_ring_signal(int peer, uint64_t needs)
{
	return (struct ring_transfer){
		.action = RING_SIGNAL, .peer = peer, .needs = needs, .step = -1};
}

RING_PURE struct ring_transfer ring_ring_chain_outgoing(const struct ring_plan *plan, uint64_t chunk)
{
	uint64_t offset, bytes = ring_ring_chunk(plan, 0, chunk, &offset);
	bool root = plan->params.order[plan->params.position] == plan->params.root;
	return (struct ring_transfer){
		.action = RING_SEND,
		.peer = plan->next,
		.source = {root ? RING_INPUT : RING_OUTPUT, offset},
		.bytes = bytes,
		.needs = root ? 0 : plan->signals + chunk + 1,
	};
}

RING_PURE struct ring_transfer ring_ring_chain_incoming(const struct ring_plan *plan, uint64_t chunk)
{
	uint64_t offset, bytes = ring_ring_chunk(plan, 0, chunk, &offset);
	bool root = plan->params.order[plan->params.position] == plan->params.root;
	return (struct ring_transfer){
		.action = RING_COPY,
		.peer = root ? plan->params.root : plan->prev,
		.source = {RING_INPUT, offset},
		.result = {RING_OUTPUT, offset},
		.bytes = bytes,
	};
}

/* Where the scratch of partial sum (round, step, chunk) lies; sums are numbered as they are made. */
RING_PURE uint64_t ring_ring_scratch_number(const struct ring_plan *plan, uint64_t round,
					    uint64_t step, uint64_t chunk)
{
	return (round * (plan->params.size - 2) + step) * plan->chunks + chunk;
}

RING_PURE uint64_t ring_ring_scratch_offset(const struct ring_plan *plan, uint64_t number)
{
	return number % plan->scratch_chunks * plan->chunk * plan->params.element_bytes;
}

/* Index of the outgoing entry that sends partial sum `number` on, one step after it was made. */
RING_PURE uint64_t ring_ring_sender_of(const struct ring_plan *plan, uint64_t number)
{
	uint64_t sums_of_round = (plan->params.size - 2) * plan->chunks;
	return plan->signals + number / sums_of_round * plan->steps * plan->chunks +
	       number % sums_of_round + plan->chunks;
}

RING_PURE struct ring_transfer ring_ring_outgoing(const struct ring_plan *plan, uint64_t i)
{
	if (i < plan->signals)
		return ring_ring_signal(plan->next, i);
	i -= plan->signals;
	if (plan->params.kind == RING_KIND_BROADCAST)
		return ring_ring_chain_outgoing(plan, i);

	int n = plan->params.size, p = plan->params.position;
	struct ring_ring_index at = ring_ring_split(plan, i, plan->steps);
	int step = plan->first + (int)at.step;
	int owner = plan->params.order[ring_ring_mod(p - 1 - step, n)];
	uint64_t offset;
	struct ring_transfer transfer = {.action = RING_SEND, .peer = plan->next, .step = step};
	transfer.bytes = ring_ring_chunk(plan, owner, at.round * plan->chunks + at.chunk, &offset);

	if (at.step == 0) {
		if (plan->params.kind == RING_KIND_ALL_GATHER)
			offset = ring_ring_part_offset(plan, owner, offset);
		transfer.source = (struct ring_place){RING_INPUT, offset};
		return transfer;
	}
	transfer.needs = plan->signals + at.round * ring_ring_incoming_steps(plan) * plan->chunks +
			 (at.step - 1) * plan->chunks + at.chunk + 1;
	if (step < n - 1) {
		uint64_t number = ring_ring_scratch_number(plan, at.round, at.step - 1, at.chunk);
		transfer.source = (struct ring_place){RING_SCRATCH,
						      ring_ring_scratch_offset(plan, number)};
	} else {
		transfer.source = (struct ring_place){RING_OUTPUT, offset};
	}
	return transfer;
}

RING_PURE struct ring_transfer ring_ring_reduction(const struct ring_plan *plan,
						   struct ring_ring_index at, int owner,
						   struct ring_transfer transfer, uint64_t offset)
{
	transfer.action = RING_REDUCE;
	transfer.source = (struct ring_place){RING_INPUT, offset};
	transfer.last = transfer.step == plan->params.size - 2;
	if (transfer.last) {
		transfer.result = (struct ring_place){RING_OUTPUT,
						      ring_ring_part_offset(plan, owner, offset)};
		return transfer;
	}
	uint64_t number = ring_ring_scratch_number(plan, at.round, at.step, at.chunk);
	transfer.result = (struct ring_place){RING_SCRATCH, ring_ring_scratch_offset(plan, number)};
	if (number >= plan->scratch_chunks)
		transfer.needs = ring_ring_sender_of(plan, number - plan->scratch_chunks) + 1;
	return transfer;
}

RING_PURE struct ring_transfer ring_ring_incoming(const struct ring_plan *plan, uint64_t j)
{
	if (j < plan->signals)
		return ring_ring_signal(plan->prev, 0);
	j -= plan->signals;
	if (plan->params.kind == RING_KIND_BROADCAST)
		return ring_ring_chain_incoming(plan, j);

	int n = plan->params.size, p = plan->params.position;
	struct ring_ring_index at = ring_ring_split(plan, j, ring_ring_incoming_steps(plan));
	int step = plan->first + (int)at.step;
	bool own = at.step == (uint64_t)plan->steps;
	int owner = plan->params.order[own ? p : ring_ring_mod(p - 2 - step, n)];
	uint64_t offset;
	struct ring_transfer transfer = {.action = RING_COPY,
					 .peer = own ? owner : plan->prev,
					 .step = step};
	transfer.bytes = ring_ring_chunk(plan, owner, at.round * plan->chunks + at.chunk, &offset);

	if (!own && step < n - 1)
		return ring_ring_reduction(plan, at, owner, transfer, offset);
	transfer.result = (struct ring_place){RING_OUTPUT, offset};
	if (own)
		transfer.source = (struct ring_place){RING_INPUT,
						      ring_ring_part_offset(plan, owner, offset)};
	return transfer;
}

RING_PURE struct ring_plan_cost ring_ring_cost(const struct ring_plan *plan)
{
	const struct ring_plan_params *params = &plan->params;
	uint64_t begin, total = 0, elements = 0;
	int n = params->size, self = params->order[params->position];

	if (params->kind == RING_KIND_BARRIER)
		return (struct ring_plan_cost){.steps = n - 1};
	if (params->kind == RING_KIND_BROADCAST) {
		bool sends = ring_ring_distance(plan) < n - 1;
		elements = sends ? ring_ring_share(plan, 0, &begin) : 0;
		return (struct ring_plan_cost){.steps = n - 1,
					       .sent_bytes = elements * params->element_bytes};
	}
	for (int rank = 0; rank < n; rank++)
		total += ring_ring_share(plan, rank, &begin);
	if (ring_ring_reduces(plan))
		elements += total - ring_ring_share(plan, self, &begin);
	if (params->kind != RING_KIND_REDUCE_SCATTER)
		elements += total - ring_ring_share(plan, plan->next, &begin);
	return (struct ring_plan_cost){.steps = plan->steps,
				       .sent_bytes = elements * params->element_bytes};
}

#endif
