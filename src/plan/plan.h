/* SPDX-License-Identifier: MIT */
/*
 * The plan: a schedule as pure functions. It tells the engine, the simulator and the tests which
 * bytes move when. Nothing here does anything.
 *
 * A plan is what one rank does on one channel during one call: two sequences, each in index order.
 *
 *	outgoing(i)   send `source` to `peer`,                    once `needs` incoming entries
 *	incoming(j)   what to do with the next message of `peer`,  once `needs` outgoing entries
 *								    are complete
 *
 * `needs` counts entries of the *other* sequence; that one number is the whole language of
 * dependencies. An outgoing entry is complete when its source may change again, an incoming one
 * when its result is in place. Entries of no bytes move nothing and are skipped at both ends,
 * except SIGNAL.
 *
 * Places are names and offsets, not addresses, so a plan can be printed and compared.
 *
 * Each algorithm is a row of RING_ALGORITHM_LIST (plan/parts.h) and a header (plan/ring.h): the
 * functions below that begin with its name.
 */
#ifndef RING_PLAN_H
#define RING_PLAN_H

#include "parts.h"

/* the algorithms */
#include "bruck.h"
#include "direct.h"
#include "one_shot.h"
#include "pair.h"
#include "ring.h"
#include "staged.h"
#include "stride.h"
#include "tree.h"
#include "two_shot.h"

/* True if it has one of these traits, enum ring_trait or'ed. */
RING_PURE bool ring_algorithm_has(enum ring_algorithm algorithm, unsigned traits)
{
#define RING_HAS_OF(NAME, name, text, its)                                                         \
	case RING_ALGORITHM_##NAME:                                                                \
		return ((its)&traits) != 0;
	switch (algorithm) {
		RING_ALGORITHM_LIST(RING_HAS_OF)
	}
#undef RING_HAS_OF
	return false;
}

/* As options and records of measurements have it. */
RING_PURE const char *ring_algorithm_name(enum ring_algorithm algorithm)
{
#define RING_NAME_OF(NAME, name, text, traits)                                                     \
	case RING_ALGORITHM_##NAME:                                                                \
		return text;
	switch (algorithm) {
		RING_ALGORITHM_LIST(RING_NAME_OF)
	}
#undef RING_NAME_OF
	return "";
}

/* True if the sums of its plans can be in order; those of two are the same in any. */
RING_PURE bool ring_algorithm_adds_in_order(enum ring_algorithm algorithm, int size)
{
	return size <= 2 || ring_algorithm_has(algorithm, RING_ADDS_ALL);
}

/* True if people and the cost model may choose it. */
RING_PURE bool ring_algorithm_is_choice(enum ring_algorithm algorithm)
{
	return !ring_algorithm_has(algorithm, RING_OF_MESSAGES);
}

/* The algorithm of a kind where nothing else is chosen. */
RING_PURE enum ring_algorithm ring_algorithm_of(enum ring_kind kind)
{
	switch (kind) {
	case RING_KIND_GATHER:
	case RING_KIND_SCATTER:
	case RING_KIND_ALL_TO_ALL:
		return RING_ALGORITHM_ONE_SHOT;
	case RING_KIND_SEND:
	case RING_KIND_RECV:
		return RING_ALGORITHM_PAIR;
	default:
		return RING_ALGORITHM_RING;
	}
}

/* The algorithm that uses the ring's links alone. */
RING_PURE enum ring_algorithm ring_algorithm_around(void)
{
	return RING_ALGORITHM_RING;
}

/* The algorithm in which every rank signals to all others. */
RING_PURE enum ring_algorithm ring_algorithm_of_signals(void)
{
	return RING_ALGORITHM_ONE_SHOT;
}

/*
 * True if there is such a plan; bytes are those of the plan's count. Only the ring can scale an
 * input.
 */
RING_PURE bool ring_algorithm_can(enum ring_algorithm algorithm, enum ring_kind kind, int size,
				  uint64_t bytes, bool scaled)
{
	bool at_hops = !scaled && size <= RING_SUM_RANKS;
	if (ring_kind_reduces(kind) && !at_hops && algorithm != RING_ALGORITHM_RING)
		return false;
#define RING_CAN_OF(NAME, name, text, traits)                                                      \
	case RING_ALGORITHM_##NAME:                                                                \
		return ring_##name##_can(kind, size, bytes);
	switch (algorithm) {
		RING_ALGORITHM_LIST(RING_CAN_OF)
	}
#undef RING_CAN_OF
	return false;
}

/*
 * True if its plans send data in messages of their own, as `apart` asks for, and reach into no
 * memory of peers.
 */
RING_PURE bool ring_algorithm_keeps_apart(enum ring_algorithm algorithm, enum ring_kind kind)
{
	return !ring_algorithm_has(algorithm, RING_NEEDS_STAGES | RING_NEEDS_REACH) &&
	       (!ring_algorithm_has(algorithm, RING_IN_RECORDS) || ring_kind_is_from_root(kind));
}

/* The wanted algorithm where there is such a plan. */
RING_PURE enum ring_algorithm ring_algorithm_for(enum ring_algorithm wanted, enum ring_kind kind,
						 int size, uint64_t bytes, bool scaled)
{
	return ring_algorithm_can(wanted, kind, size, bytes, scaled) ? wanted
								     : ring_algorithm_of(kind);
}

RING_PURE struct ring_plan ring_plan_make(const struct ring_plan_params *params)
{
#define RING_MAKE_OF(NAME, name, text, traits)                                                     \
	case RING_ALGORITHM_##NAME:                                                                \
		return ring_##name##_make(params);
	switch (params->algorithm) {
		RING_ALGORITHM_LIST(RING_MAKE_OF)
	}
#undef RING_MAKE_OF
	__builtin_unreachable();
}

/* i < plan->outgoing */
RING_PURE struct ring_transfer ring_plan_outgoing(const struct ring_plan *plan, uint64_t i)
{
#define RING_OUTGOING_OF(NAME, name, text, traits)                                                 \
	case RING_ALGORITHM_##NAME:                                                                \
		return ring_##name##_outgoing(plan, i);
	switch (plan->params.algorithm) {
		RING_ALGORITHM_LIST(RING_OUTGOING_OF)
	}
#undef RING_OUTGOING_OF
	__builtin_unreachable();
}

/* j < plan->incoming */
RING_PURE struct ring_transfer ring_plan_incoming(const struct ring_plan *plan, uint64_t j)
{
#define RING_INCOMING_OF(NAME, name, text, traits)                                                 \
	case RING_ALGORITHM_##NAME:                                                                \
		return ring_##name##_incoming(plan, j);
	switch (plan->params.algorithm) {
		RING_ALGORITHM_LIST(RING_INCOMING_OF)
	}
#undef RING_INCOMING_OF
	__builtin_unreachable();
}

/*
 * The rank at the other end of link `index` < plan->edges that this rank needs; *outgoing: the link
 * goes there. The same link may have several indices.
 */
RING_PURE int ring_plan_edge(const struct ring_plan *plan, int index, bool *outgoing)
{
#define RING_EDGE_OF(NAME, name, text, traits)                                                     \
	case RING_ALGORITHM_##NAME:                                                                \
		return ring_##name##_edge(plan, index, outgoing);
	switch (plan->params.algorithm) {
		RING_ALGORITHM_LIST(RING_EDGE_OF)
	}
#undef RING_EDGE_OF
	__builtin_unreachable();
}

RING_PURE struct ring_plan_cost ring_plan_cost(const struct ring_plan *plan)
{
#define RING_COST_OF(NAME, name, text, traits)                                                     \
	case RING_ALGORITHM_##NAME:                                                                \
		return ring_##name##_cost(plan);
	switch (plan->params.algorithm) {
		RING_ALGORITHM_LIST(RING_COST_OF)
	}
#undef RING_COST_OF
	__builtin_unreachable();
}

/* Where summand k < n of a REDUCE lies in SUMMANDS, counted in inputs. */
RING_PURE int ring_plan_summand(const struct ring_plan *plan, const struct ring_transfer *in, int k)
{
	bool tree = plan->params.algorithm == RING_ALGORITHM_TREE;
	return tree ? ring_tree_summand(plan, in->behind, k) : ring_bruck_place(plan, in->behind, k);
}

/* True if entries of the plan reach into peers' memory. */
RING_PURE bool ring_plan_reaches(const struct ring_plan *plan)
{
	return ring_algorithm_has(plan->params.algorithm, RING_NEEDS_STAGES | RING_NEEDS_REACH);
}

/* True if its exchanges are nothing but what opens messages. */
RING_PURE bool ring_plan_is_said_at_once(const struct ring_plan *plan)
{
	bool signals_only = plan->outgoing == plan->signals && plan->incoming == plan->signals;
	return plan->opening > 0 || signals_only;
}

/* Bytes of input that travel behind a rank's record. */
RING_PURE uint64_t ring_plan_said(const struct ring_plan *plan, int rank)
{
	const struct ring_plan_params *params = &plan->params;
	bool has_input = rank == params->root || !ring_kind_is_from_root(params->kind);
	return has_input ? plan->opening : 0;
}

/* The rank whose block has the byte at `offset` of a vector. */
RING_PURE int ring_plan_block_at(const struct ring_plan *plan, uint64_t offset)
{
	uint64_t element = offset / plan->params.element_bytes, longer = plan->block.elements + 1;
	if (element < plan->block.longer * longer)
		return (int)(element / longer);
	return (int)(plan->block.longer +
		     (element - plan->block.longer * longer) / plan->block.elements);
}

/* For people: whose block an entry is about; -1 if it is about none, or more than one. */
RING_PURE int ring_plan_block_of(const struct ring_plan *plan, const struct ring_transfer *transfer,
				 bool outgoing)
{
	const struct ring_plan_params *params = &plan->params;
	const struct ring_place *place = outgoing ? &transfer->source : &transfer->result;
	bool whole = place->buffer != RING_SCRATCH && place->buffer != RING_SUMMANDS &&
		     place->buffer != RING_STAGE;
	if (transfer->step < 0 || transfer->bytes == 0)
		return -1;
	if (params->algorithm == RING_ALGORITHM_RING && !ring_ring_is_chain(plan) &&
	    transfer->action != RING_SCALE)
		return params->order[ring_plan_mod(params->position - transfer->step - 2 + outgoing,
						   params->size)];
	if (params->kind == RING_KIND_ALL_REDUCE && plan->block.elements > 0 && whole &&
	    transfer->bytes <= (plan->block.elements + 1) * params->element_bytes)
		return ring_plan_block_at(plan, place->offset);
	return -1;
}

/* Bytes of scratch memory the plan uses. */
RING_PURE uint64_t ring_plan_scratch_bytes(const struct ring_plan *plan)
{
	return plan->scratch_chunks * plan->chunk * plan->params.element_bytes;
}

/* True if the entry reaches into peers' memory. */
RING_PURE bool ring_transfer_is_direct(const struct ring_transfer *transfer)
{
	return transfer->source.buffer >= RING_PEER_INPUT ||
	       transfer->result.buffer >= RING_PEER_INPUT;
}

/* True if the entry is a message on a link (not nothing, and not to oneself). */
RING_PURE bool ring_transfer_is_message(const struct ring_transfer *transfer, int self)
{
	return transfer->peer != self && !ring_transfer_is_direct(transfer) &&
	       (transfer->bytes > 0 || transfer->opens);
}

#endif
