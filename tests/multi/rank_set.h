/* SPDX-License-Identifier: MIT */
/*
 * One set of values for each rank, and their sums in the order of ranks, computed once without the
 * library: vectors are made of the set's elements, so what any sum must be is known wherever these
 * lie.
 */
#ifndef RANK_SET_H
#define RANK_SET_H

#include "tests/multi/calls.h"

#define RANK_SET_RANKS 8
#define RANK_SET_VALUES 61 /* a prime, so that no edge meets only some of them */
#define RANK_SET_TYPES 6   /* all floats */
#define RANK_SET_OPS 3

extern const enum ring_datatype rank_set_types[RANK_SET_TYPES];
extern const enum ring_op rank_set_ops[RANK_SET_OPS];

/* As elements, by their places in the lists above. */
struct rank_set {
	unsigned char inputs[RANK_SET_RANKS][RANK_SET_TYPES][RANK_SET_VALUES * ELEMENT_BYTES_MAX];
	unsigned char sums[RANK_SET_TYPES][RANK_SET_OPS][RANK_SET_VALUES * ELEMENT_BYTES_MAX];
};

/* The same on all ranks that give the same seed. */
void rank_set_make(struct rank_set *set, uint64_t seed, int size);

/* Whether the algorithm, NULL: any, can carry them: those in memory apart from the host not by all. */
bool rank_set_is_carried(const char *algorithm);

/* Whether the rank counted, between the two, the bytes of the formula for this one call. */
bool rank_set_bytes_are(const struct ring_comm *comm, const struct call *call, int rank,
			const struct ring_stats *before, const struct ring_stats *after);

#endif
