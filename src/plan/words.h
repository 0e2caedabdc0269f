/* SPDX-License-Identifier: MIT */
/*
 * What each algorithm does, for people: RING_NAME_WAY behind "an all_reduce", and ring_name_how(),
 * sentences about the steps of one kind of call. Every row of RING_ALGORITHM_LIST has both.
 */
#ifndef RING_PLAN_WORDS_H
#define RING_PLAN_WORDS_H

#include "parts.h"

#define RING_RING_WAY "around the ring"
static inline const char *ring_ring_how(enum ring_kind kind)
{
	switch (kind) {
	case RING_KIND_ALL_REDUCE:
		return "In each step every rank sends one block to the next rank, which adds its "
		       "own block and sends the sum on. Complete sums then go around.";
	case RING_KIND_REDUCE_SCATTER:
		return "In each step every rank sends one block to the next rank, which adds its "
		       "own block and sends the sum on. The last rank keeps the complete sum.";
	case RING_KIND_BROADCAST:
		return "Root's data go around the ring, from each rank to the next.";
	case RING_KIND_REDUCE:
		return "Each rank adds its input to the sum from the previous rank, and sends it "
		       "to the next one; root is the last.";
	case RING_KIND_BARRIER:
		return "Signals go around until every rank knows of all others.";
	default:
		return "In each step every rank sends one block to the next rank, which keeps it "
		       "and sends it on.";
	}
}

#define RING_ONE_SHOT_WAY "in one shot"
static inline const char *ring_one_shot_how(enum ring_kind kind)
{
	return ring_kind_reduces(kind)
		       ? "All ranks send their inputs at once, directly to the ranks that add them."
		       : "All ranks send at once, directly to the receivers.";
}

#define RING_STRIDE_WAY "around the ring in strides"
static inline const char *ring_stride_how(enum ring_kind kind)
{
	(void)kind;
	return "Sums go around the ring in strides of several ranks, and pick up the inputs of the "
	       "ranks between; complete sums go back the same ways.";
}

#define RING_TWO_SHOT_WAY "in two shots"
static inline const char *ring_two_shot_how(enum ring_kind kind)
{
	(void)kind;
	return "Each rank sends every block directly to the rank of that block, which adds them "
	       "and sends the sum to all others.";
}

#define RING_BRUCK_WAY "by Bruck's doubling"
static inline const char *ring_bruck_how(enum ring_kind kind)
{
	if (kind == RING_KIND_BARRIER)
		return "In each step every rank tells another one which ranks it knows of: twice "
		       "as many as in the previous step.";
	if (kind == RING_KIND_ALL_GATHER)
		return "In each step every rank sends all that it has collected: twice as much as "
		       "in the previous step.";
	return "In each step every rank sends all inputs that it has collected: twice as many as "
	       "in the previous step. In the end each rank adds all inputs.";
}

#define RING_STAGED_WAY "through stages in shared memory"
static inline const char *ring_staged_how(enum ring_kind kind)
{
	(void)kind;
	return "Each rank copies its input to memory that the others read. The rank of a block "
	       "adds it there, and all ranks copy the sums.";
}

#define RING_DIRECT_WAY "in one another's memory"
static inline const char *ring_direct_how(enum ring_kind kind)
{
	return ring_kind_reduces(kind)
		       ? "Each rank reads its share from the memory of all others, adds it, and "
			 "writes the sum to its destination."
		       : "Ranks read from and write to one another's memory; nothing is sent.";
}

#define RING_TREE_WAY "along a tree"
static inline const char *ring_tree_how(enum ring_kind kind)
{
	if (kind == RING_KIND_BROADCAST)
		return "Root's data go down a tree, from each rank to its children.";
	if (kind == RING_KIND_BARRIER)
		return "Signals go up a tree; once all have arrived, they go down again.";
	return "Inputs go up a tree to the first rank, which adds them; the sum goes down.";
}

#define RING_PAIR_WAY "from each rank to the next"
static inline const char *ring_pair_how(enum ring_kind kind)
{
	(void)kind;
	return "Every rank sends to the next one and receives from the previous one.";
}

static inline const char *ring_algorithm_way(enum ring_algorithm algorithm)
{
	static const char *const ways[RING_ALGORITHMS] = {
#define RING_WAY_OF(NAME, name, text, traits) [RING_ALGORITHM_##NAME] = RING_##NAME##_WAY,
		RING_ALGORITHM_LIST(RING_WAY_OF)
#undef RING_WAY_OF
	};
	return ways[algorithm];
}

static inline const char *ring_algorithm_how(enum ring_algorithm algorithm, enum ring_kind kind)
{
#define RING_HOW_OF(NAME, name, text, traits)                                                      \
	case RING_ALGORITHM_##NAME:                                                                \
		return ring_##name##_how(kind);
	switch (algorithm) {
		RING_ALGORITHM_LIST(RING_HOW_OF)
	}
#undef RING_HOW_OF
	return "";
}

#endif
