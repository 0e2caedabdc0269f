/* SPDX-License-Identifier: MIT */
/* Which plan is walked, and whether there is such a plan. */
#ifndef STEPS_CHOICE_H
#define STEPS_CHOICE_H

#include <stddef.h>

#include "plan/plan.h"

#define STEPS_ELEMENT_BYTES 4
#define STEPS_RANKS_MOST 64
#define STEPS_ANY_ALGORITHM RING_ALGORITHMS

/* RING_KIND_SEND is sendrecv: every rank sends to the next one and receives from the one before. */
struct steps_choice {
	enum ring_kind kind;
	enum ring_algorithm algorithm;
	int ranks, root;
	uint64_t count;       /* elements, as the call has them */
	uint64_t chunk_bytes; /* of the largest message */
	int chunks_per_round, depth;
	bool boards;                 /* what ranks say to all others takes no messages */
	int order[STEPS_RANKS_MOST]; /* position on the ring -> rank */
};

/* Numbers of the collectives and algorithms; -1: there is none of that name. */
int steps_kind_find(const char *name);
int steps_algorithm_find(const char *name);
const char *steps_kind_name(enum ring_kind kind);
const char *steps_algorithm_name(enum ring_algorithm algorithm);

/* The position of a rank. */
int steps_position(const struct steps_choice *choice, int rank);

/* Elements of the input or output of a rank; 0: it has none. */
uint64_t steps_input_length(const struct steps_choice *choice, int rank);
uint64_t steps_output_length(const struct steps_choice *choice, int rank);

/* Elements of the memory of a rank that all others read. */
uint64_t steps_stage_length(const struct steps_choice *choice);

/* Ranks lie around the ring in their order. */
void steps_choice_order(struct steps_choice *choice);

/*
 * What ranks use with nothing else said: the algorithm that always can, an element for each rank, whole blocks.
 * Not said is count 0, chunk_bytes 0, and any algorithm.
 */
void steps_choice_complete(struct steps_choice *choice);

/* True if the algorithm carries such a collective. */
bool steps_choice_is_plan(const struct steps_choice *choice);

/* Writes a sentence that says why there is no such plan, or none that can be shown. returns false if there is one */
bool steps_choice_refuse(const struct steps_choice *choice, char *sentence, size_t room);

/* The plan of a rank; of sendrecv that of the sender or receiver. */
struct ring_plan steps_plan(const struct steps_choice *choice, int rank, bool receives);

#endif
