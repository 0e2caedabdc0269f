/* SPDX-License-Identifier: MIT */
/* Chooses the plan to walk, and checks that there is one. */
#ifndef STEPS_CHOICE_H
#define STEPS_CHOICE_H

#include <stddef.h>

#include "plan/plan.h"

#define STEPS_ELEMENT_BYTES 4 /* unless a recorded call had others */
#define STEPS_RANKS_MOST 64
#define STEPS_ANY_ALGORITHM RING_ALGORITHMS

/*
 * RING_KIND_SEND is sendrecv: every rank sends to the next one and receives from the previous one.
 */
struct steps_choice {
	enum ring_kind kind; /* of even parts, also if they are not */
	bool uneven;         /* part r has r times `count` elements */
	enum ring_algorithm algorithm;
	int ranks, root;
	uint64_t count;         /* elements, the count of the call */
	uint64_t element_bytes; /* 0: STEPS_ELEMENT_BYTES */
	uint64_t chunk_bytes;   /* of the largest message */
	int chunks_per_round, depth;
	bool recorded;               /* its arguments are those of a call in a trace */
	bool in_order;               /* floats are added in the order of ranks */
	bool boards;                 /* what is for all others goes over boards, not in messages */
	int order[STEPS_RANKS_MOST]; /* position on the ring -> rank */
};

static inline uint64_t steps_element_bytes(const struct steps_choice *choice)
{
	return choice->element_bytes ? choice->element_bytes : STEPS_ELEMENT_BYTES;
}

/* The number of a collective, of uneven parts too, or algorithm; -1: there is none of that name. */
int steps_kind_find(const char *name);
int steps_algorithm_find(const char *name);
const char *steps_kind_name(enum ring_kind kind);
const char *steps_call_name(const struct steps_choice *choice);

/* The position of a rank. */
int steps_position(const struct steps_choice *choice, int rank);

/* Elements of the input or output of a rank; 0: it has none. */
uint64_t steps_input_length(const struct steps_choice *choice, int rank);
uint64_t steps_output_length(const struct steps_choice *choice, int rank);

/* Elements of a rank's stage, which all others read. */
uint64_t steps_stage_length(const struct steps_choice *choice);

/* Puts ranks on the ring in the order of their numbers. */
void steps_choice_order(struct steps_choice *choice);

/*
 * Sets what was not given (count 0, chunk_bytes 0, STEPS_ANY_ALGORITHM): the algorithm that can
 * always carry the call so, an element for each rank, whole blocks.
 */
void steps_choice_complete(struct steps_choice *choice);

/* Whether the algorithm can carry the call. */
bool steps_choice_is_plan(const struct steps_choice *choice);

/* If there is no such plan, or it cannot be shown, writes a sentence why, and returns true. */
bool steps_choice_refuse(const struct steps_choice *choice, char *sentence, size_t room);

/* The plan of a rank; for sendrecv, of the sender or of the receiver. */
struct ring_plan steps_plan(const struct steps_choice *choice, int rank, bool receives);

#endif
