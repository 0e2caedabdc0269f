/* SPDX-License-Identifier: MIT */
/*
 * What is chosen for a communicator and then for every call: how finely it is cut, how much of it
 * is in flight, and which algorithm carries it. Pure functions of what all ranks know, so all
 * choose alike without a word.
 */
#ifndef RING_TUNING_H
#define RING_TUNING_H

#include "tuning_table.h"

struct ring_config;
struct ring_failure;

/* What the root decides about the schedule, alike on all ranks. */
struct ring_tuning {
	uint64_t chunk_bytes;
	uint64_t far_chunk_bytes; /* of rings between buffers that are apart; 0: the same */
	int depth, chunks_per_round, channels;
	int algorithm;           /* for all that it can do; -1: the rows or the model choose */
	int turns;               /* most ranks of a CPU, in 1024ths (model.h) */
	struct ring_model model; /* the numbers of the ranks' path, on the host */
	const struct ring_tuning_table *table; /* a file's rows and numbers; or NULL */
};

/* All but turns, model, table and the far chunk. in_memory: no link leaves shared memory */
struct ring_tuning ring_tuning_make(const struct ring_config *config, bool in_memory, int size);

/*
 * Takes rows and numbers from a file's table, or the built-in ones for NULL.
 *
 * table    must outlive the tuning
 * returns  0; RING_EINVAL: the file has numbers, but no section of that path
 */
int ring_tuning_load(struct ring_tuning *tuning, const struct ring_tuning_table *table,
		     enum ring_path path, struct ring_failure *failure);

/* Largest message, and slot, of rings between buffers that are apart. */
uint64_t ring_tuning_far_chunk(const struct ring_config *config);

/* Largest message, and slot, of links beside the rings: there may be many. */
uint64_t ring_tuning_pair_chunk(const struct ring_tuning *tuning, int size);

/* Scratch that is enough for any plan but direct ones: two rounds of a ring of such chunks. */
static inline uint64_t ring_tuning_scratch(const struct ring_tuning *tuning, uint64_t chunk_bytes)
{
	uint64_t rounds = 2 * (uint64_t)tuning->chunks_per_round * chunk_bytes;
	return rounds < RING_BRUCK_SCRATCH_BYTES ? RING_BRUCK_SCRATCH_BYTES : rounds;
}

/* Largest piece that a direct plan of `size` ranks does at once. */
uint64_t ring_tuning_direct_chunk(const struct ring_tuning *tuning, int size);

/*
 * Largest piece of a staged plan, and the distance of places in a stage: an odd number of cache
 * lines, so that places share no set of a cache.
 */
#define RING_STAGED_CHUNK (64 << 10)
#define RING_PLACE_BYTES (RING_STAGED_CHUNK + 64)

/* How a call is carried. */
struct ring_choice {
	enum ring_algorithm algorithm;
	uint64_t chunk_bytes;
	int chunks_per_round, channels;
	uint64_t workers;                  /* as the plan's */
	bool past;                         /* the output is more than caches hold */
	const char *forced;                /* the option that says so; NULL: none */
	const struct ring_tuning_row *row; /* the row that says so; NULL: the option or the model */
	const struct ring_tuning_table *table;  /* the row's */
	uint64_t predicted_ps[RING_ALGORITHMS]; /* by the model; 0: cannot carry it */
};

/*
 * True if a plan that reaches into other ranks' memory could be the fastest: only then do ranks
 * tell one another where their buffers lie. Else the question is asked as if memory were private.
 */
bool ring_tuning_reaches(const struct ring_tuning *tuning, const struct ring_question *question);

struct ring_choice ring_tuning_choose(const struct ring_tuning *tuning,
				      const struct ring_question *question);

/* The plan of a choice, for the model, and its time in picoseconds, 1 at least. */
#define RING_TUNING_BYTES ((uint64_t)1 << 44) /* larger calls are predicted as if this large */
struct ring_plan_params ring_tuning_params(const struct ring_question *question,
					   const struct ring_choice *choice);
uint64_t ring_tuning_predict(const struct ring_tuning *tuning, const struct ring_question *question,
			     const struct ring_choice *choice);

/* What decided. Returns text. */
#define RING_REASON_TEXT 320
const char *ring_choice_reason(const struct ring_choice *choice, char text[RING_REASON_TEXT]);

#endif
