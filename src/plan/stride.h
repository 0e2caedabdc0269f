/* SPDX-License-Identifier: MIT */
/*
 * All-reduce around the ring in strides of several positions: the ring's bytes and its order of
 * additions, in few messages. Included by plan.h only.
 *
 * The vector is cut into a block for each rank, as the ring's. A rank's way to that block's owner
 * is counted along the ring: the rank behind the owner, whose input comes first, has n-1 positions
 * to go. The ranks with 0, m, 2m ... `strides` * m to go add: each takes the inputs of the up to
 * m-1 ranks before it, in one step, then the sum from m before it, adds its own input and sends the
 * sum m ahead. Nine ranks, strides of 3:
 *
 *	to go        8   7   6   5   4   3   2   1   0
 *	step 0       `---`-> +   `---`-> +   `---`-> +
 *	step 1                `----------->+
 *	step 2                            `----------->+
 *
 * Results go the same ways back: from the owner in strides, then from each rank that has one to the
 * m-1 before it. So messages answer one another on a connection, and TCP needs few of its own to
 * acknowledge them. (64 KiB on 8 ranks: 338 -> 294 us.)
 *
 * Every rank does this for all blocks at once, and what goes to the same rank in a step leaves
 * together: m-1 messages of inputs, and one for every stride. Of four ranks each sends 2 messages
 * up to the sums and 2 after them; a ring sends 3 and 3, and so do two shots.
 *
 *	four ranks, who sends which rank's block to whom:
 *	         inputs      sum        result     results
 *	rank 0   3,1 to 1    2 to 2     0 to 2     0,2 to 3
 *	rank 1   0,2 to 2    3 to 3     1 to 3     1,3 to 0
 *	rank 2   1,3 to 3    0 to 0     2 to 0     2,0 to 1
 *	rank 3   2,0 to 0    1 to 1     3 to 1     3,1 to 2
 *
 * The stride is the one with the fewest messages, and of those the longest: about the square root
 * of n.
 *
 * Entries correspond: a rank's outgoing entry i is its receiver's incoming entry i. One of them is
 * a rank's own: nothing goes out, and incoming it adds up the first inputs.
 *
 * Inputs are collected in scratch, a pile for each block, in the order of additions. The sum from m
 * before is added in front of them, the own input behind them. The new sum takes the place of the
 * first input, unless it is the result.
 *
 * Agreement: the first message on each link is a signal; the one to m ahead is sent once those from
 * nearer ranks were found equal. A result rests on inputs of all ranks, which came over such links.
 * Where there are no inputs, the stride is the whole ring, so each rank signals to all.
 *
 * No deadlock at any depth: all ranks send and take in this one order, and a message needs at most
 * what is taken before it. Chunks follow one another: the next chunk's inputs are taken once the
 * first result is sent, when no sum is left in scratch.
 *
 * Overwriting a block by its result is safe: the result comes only after its owner has what was
 * sent of it.
 *
 * Source: the ring is that of Patarasuk & Yuan 2009, "Bandwidth optimal all-reduce algorithms for
 * clusters of workstations"; skipping positions to save steps without sending more is Träff 2024,
 * "Optimal, non-pipelined reduce-scatter and allreduce algorithms", with another order of
 * additions.
 */
#ifndef RING_PLAN_STRIDE_H
#define RING_PLAN_STRIDE_H

/* Messages of a rank, of inputs and sums, if it takes strides of m. */
RING_PURE int ring_stride_messages(int size, int m)
{
	return m - 1 + (size - 1) / m;
}

RING_PURE int ring_stride_choose(int size)
{
	int best = 1;
	for (int m = 2; m <= size; m++)
		if (ring_stride_messages(size, m) <= ring_stride_messages(size, best))
			best = m;
	return best;
}

/* Blocks of which a rank sends the input to the one `apart` < m ahead. */
RING_PURE int ring_stride_blocks(const struct ring_plan *plan, int apart)
{
	return (plan->params.size - 1 - apart) / plan->stride.positions + 1;
}

/* The same, to all of those. */
RING_PURE int ring_stride_inputs(const struct ring_plan *plan)
{
	return plan->params.size - 1 - plan->stride.count;
}

/* Entries of a chunk on links of less than m positions, and of m; a signal is the first on each. */
RING_PURE int ring_stride_near(const struct ring_plan *plan)
{
	return plan->stride.positions - 1 + ring_stride_inputs(plan);
}

RING_PURE int ring_stride_far(const struct ring_plan *plan)
{
	return plan->stride.count > 0 ? 1 + plan->stride.count : 0;
}

/* All entries of a chunk: there, the own, and back. */
RING_PURE int ring_stride_entries(const struct ring_plan *plan)
{
	return 2 * ring_stride_near(plan) + 1 + 2 * ring_stride_far(plan);
}

/* Incoming entries up to the last signal: then every rank that this one hears of has agreed. */
RING_PURE int ring_stride_agreed(const struct ring_plan *plan)
{
	return ring_stride_near(plan) + 1 + (plan->stride.count > 0);
}

RING_PURE bool ring_stride_can(enum ring_kind kind, int size, uint64_t bytes)
{
	(void)size, (void)bytes;
	return kind == RING_KIND_ALL_REDUCE;
}

RING_PURE struct ring_plan ring_stride_make(const struct ring_plan_params *params)
{
	struct ring_plan plan = ring_plan_begin(params);
	uint64_t room = 2 * (uint64_t)params->chunks_per_round; /* of a ring's scratch */
	plan.stride.positions = params->count > 0 ? ring_stride_choose(params->size) : params->size;
	plan.stride.count = (params->size - 1) / plan.stride.positions;
	plan.edges = 4 * (plan.stride.positions - 1 + (plan.stride.count > 0));
	plan.signals = params->size > 1;
	plan.scratch_chunks = ring_stride_inputs(&plan);
	if (plan.scratch_chunks > room)
		plan.params.chunk_bytes = params->chunk_bytes * room / plan.scratch_chunks;
	ring_plan_cut_blocks(&plan, 1);
	uint64_t longest = ring_share_length(ring_share_length(params->count, params->size, 0),
					     params->channels, 0);
	if (plan.rounds <= 1) { /* also of nothing, for the signals */
		plan.rounds = 1;
		plan.chunk = longest;
	}
	plan.outgoing = plan.incoming = plan.rounds * ring_stride_entries(&plan);
	plan.agreed = (uint64_t)ring_stride_agreed(&plan);
	plan.mutual = true;
	plan.sends_on = params->size > 2;
	return plan;
}

/* An entry: how far it goes, and of which block. */
struct ring_stride_hop {
	uint64_t chunk;
	bool back;   /* a result; else an input or a sum */
	int apart;   /* positions between sender and receiver; 0: this rank adds the first inputs */
	int strides; /* from the nearer end to the block's owner; -1: a signal */
};

/*
 * Entry `index` of those on links of less than m positions: there the farthest block comes first.
 */
RING_PURE void ring_stride_find_near(const struct ring_plan *plan, int index,
				     struct ring_stride_hop *hop)
{
	int blocks = ring_stride_blocks(plan, 1);
	for (hop->apart = 1; index > blocks; blocks = ring_stride_blocks(plan, hop->apart)) {
		index -= 1 + blocks;
		hop->apart++;
	}
	hop->strides = index == 0 ? -1 : hop->back ? index - 1 : blocks - index;
}

/* The same, on links of m positions. */
RING_PURE void ring_stride_find_far(const struct ring_plan *plan, int index,
				    struct ring_stride_hop *hop)
{
	hop->apart = plan->stride.positions;
	hop->strides = index == 0 ? -1 : hop->back ? index - 1 : plan->stride.count - index;
}

/* Entry i of either sequence. */
RING_PURE struct ring_stride_hop ring_stride_find(const struct ring_plan *plan, uint64_t i)
{
	int near = ring_stride_near(plan), far = ring_stride_far(plan);
	int entries = ring_stride_entries(plan), index = (int)(i % entries);
	struct ring_stride_hop hop = {.chunk = i / entries, .back = index > near + far};
	if (index < near)
		ring_stride_find_near(plan, index, &hop);
	else if (index == near)
		hop.strides = plan->stride.count;
	else if (index <= near + 2 * far)
		ring_stride_find_far(plan, hop.back ? index - near - 1 - far : index - near - 1,
				     &hop);
	else
		ring_stride_find_near(plan, index - near - 1 - 2 * far, &hop);
	return hop;
}

/* What both ends of an entry share. The block's owner lies `distance` ahead. */
RING_PURE struct ring_transfer ring_stride_part(const struct ring_plan *plan,
						const struct ring_stride_hop *hop, int distance)
{
	struct ring_transfer part = {.action = RING_SIGNAL, .step = -1};
	if (hop->strides < 0) { /* one opens the link, in the first chunk */
		part.opens = hop->chunk == 0;
		return part;
	}
	part.bytes = ring_plan_chunk(plan, ring_plan_at(plan, distance), hop->chunk,
				     &part.source.offset);
	part.result = (struct ring_place){RING_OUTPUT, part.source.offset};
	part.step = hop->back ? plan->stride.count + 1 + hop->strides
			      : plan->stride.count - hop->strides;
	if (hop->apart < plan->stride.positions) /* the first step, or the last */
		part.step = hop->back ? 2 * plan->stride.count + 1 : 0;
	return part;
}

/* Inputs in the pile of a rank that is this many strides from the owner. */
RING_PURE int ring_stride_height(const struct ring_plan *plan, int strides)
{
	bool first = strides == plan->stride.count;
	return first ? plan->params.size - 1 - strides * plan->stride.positions
		     : plan->stride.positions - 1;
}

/* Where in scratch number `index` of that pile lies. */
RING_PURE struct ring_place ring_stride_piled(const struct ring_plan *plan, int strides, int index)
{
	if (strides < plan->stride.count)
		index += ring_stride_height(plan, plan->stride.count) +
			 (plan->stride.count - 1 - strides) * (plan->stride.positions - 1);
	return (struct ring_place){RING_SCRATCH, index * plan->chunk * plan->params.element_bytes};
}

/*
 * Inputs need nothing; what goes less than m back needs all the rest. A sum or a result needs the
 * entry before it, which brings or makes it; the first one's signal lies between the two.
 */
RING_PURE uint64_t ring_stride_needs(const struct ring_plan *plan,
				     const struct ring_stride_hop *hop, uint64_t i)
{
	int first = hop->back ? 0 : plan->stride.count - 1;
	if (hop->apart == plan->stride.positions)
		return i - (hop->strides == first);
	uint64_t end = (hop->chunk + 1) * ring_stride_entries(plan);
	return hop->back ? end - ring_stride_near(plan) : 0;
}

RING_PURE struct ring_transfer ring_stride_outgoing(const struct ring_plan *plan, uint64_t i)
{
	struct ring_stride_hop hop = ring_stride_find(plan, i);
	int away = hop.strides * plan->stride.positions;
	struct ring_transfer out = ring_stride_part(plan, &hop, hop.back ? away : away + hop.apart);
	out.peer = ring_plan_at(plan, hop.back ? -hop.apart : hop.apart);
	out.source.buffer = hop.back ? RING_OUTPUT : RING_INPUT;
	out.needs = ring_stride_needs(plan, &hop, i);
	if (hop.strides >= 0)
		out.action = RING_SEND;
	if (hop.apart == 0)
		out.bytes = 0;
	bool sum = hop.apart == plan->stride.positions && hop.strides >= 0 && !hop.back;
	if (sum && ring_stride_height(plan, hop.strides + 1) > 0)
		out.source = ring_stride_piled(plan, hop.strides + 1, 0);
	return out;
}

/* Adds up the pile of a rank `strides` away, behind what arrived, if anything. */
RING_PURE void ring_stride_add(const struct ring_plan *plan, int strides, struct ring_transfer *in)
{
	in->action = RING_REDUCE;
	in->source.buffer = RING_INPUT;
	in->pile = (struct ring_pile){.offset = ring_stride_piled(plan, strides, 0).offset,
				      .count = ring_stride_height(plan, strides)};
	in->last = strides == 0;
	if (strides > 0)
		in->result = ring_stride_piled(plan, strides, 0);
	if (strides > 0 && in->pile.count == 0) /* one's own goes on as it is */
		in->bytes = 0;
}

/* An input's place. A result was sent, so no sum of the chunk before is left there. */
RING_PURE void ring_stride_pile_up(const struct ring_plan *plan, const struct ring_stride_hop *hop,
				   struct ring_transfer *in)
{
	int height = ring_stride_height(plan, hop->strides);
	in->result = ring_stride_piled(plan, hop->strides, height - hop->apart);
	if (hop->chunk > 0)
		in->needs = (hop->chunk - 1) * ring_stride_entries(plan) + ring_stride_near(plan) +
			    1 + ring_stride_far(plan) + 1;
}

RING_PURE struct ring_transfer ring_stride_incoming(const struct ring_plan *plan, uint64_t j)
{
	struct ring_stride_hop hop = ring_stride_find(plan, j);
	int away = hop.strides * plan->stride.positions;
	struct ring_transfer in = ring_stride_part(plan, &hop, hop.back ? away + hop.apart : away);
	in.peer = ring_plan_at(plan, hop.back ? hop.apart : -hop.apart);
	if (hop.strides < 0)
		return in;
	in.action = RING_COPY;
	if (!hop.back && hop.apart > 0 && hop.apart < plan->stride.positions)
		ring_stride_pile_up(plan, &hop, &in);
	else if (!hop.back)
		ring_stride_add(plan, hop.strides, &in);
	return in;
}

/* By distance: to there and from as far back, then the other way round. */
RING_PURE int ring_stride_edge(const struct ring_plan *plan, int index, bool *outgoing)
{
	int distance = index / 4 + 1;
	bool ahead = index % 4 == 0 || index % 4 == 3;
	*outgoing = index % 2 == 0;
	return ring_plan_at(plan, ahead ? distance : -distance);
}

/* Inputs and sums go towards each owner; a result's sender has whole strides to go to the owner. */
RING_PURE struct ring_plan_cost ring_stride_cost(const struct ring_plan *plan)
{
	int size = plan->params.size, m = plan->stride.positions;
	uint64_t begin, elements = 0;
	for (int away = 1; away < size; away++) {
		elements += ring_plan_block(plan, ring_plan_at(plan, away), &begin);
		elements += ring_plan_block(plan, ring_plan_at(plan, (away - 1) / m * m), &begin);
	}
	return (struct ring_plan_cost){.steps = size > 1 ? 2 * (plan->stride.count + 1) : 0,
				       .sent_bytes = elements * plan->params.element_bytes};
}

#endif
