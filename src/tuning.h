/* SPDX-License-Identifier: MIT */
/*
 * What is chosen once for a communicator, and again for every call: how finely it is cut, how much of
 * it is in flight, and which algorithm carries it. Pure functions of what all ranks know alike, so all
 * choose alike without a word.
 */
#ifndef RING_TUNING_H
#define RING_TUNING_H

#include "plan.h"

struct ring_config;

/* What the root decides about the schedule, alike on all ranks. */
struct ring_tuning {
	uint64_t chunk_bytes;
	int depth, chunks_per_round, channels;
};

/* slowest: highest transport index of any edge, -1 if there is none */
struct ring_tuning ring_tuning_make(const struct ring_config *config, int slowest, int size);

/* Largest message, and slot, of links beyond the rings: there may be many. */
uint64_t ring_tuning_pair_chunk(const struct ring_tuning *tuning, int size);

/* What a communicator's links are. */
enum ring_path {
	RING_PATH_MEMORY,  /* shared memory: all ranks are on one host                          */
	RING_PATH_SOCKET,  /* sockets, though all ranks are on one host                         */
	RING_PATH_NETWORK, /* sockets between hosts, or links that are slowed down to be like it */
	RING_PATH_MIXED,   /* shared memory within hosts, sockets between them                  */
};
#define RING_PATHS (RING_PATH_MIXED + 1)

/* Whose memory a call's buffers are. */
enum ring_memory {
	RING_MEMORY_PRIVATE,
	RING_MEMORY_SHARED, /* on every rank, from ring_mem_alloc */
};

/* All that the choice for a call depends on, beside the tuning. */
struct ring_question {
	enum ring_kind kind;
	int ranks;
	uint64_t bytes; /* of the vector, or of one part, as the plan counts */
	enum ring_path path;
	enum ring_memory memory;
};

struct ring_choice {
	enum ring_algorithm algorithm;
	uint64_t chunk_bytes;
	int chunks_per_round, channels;
};

struct ring_choice ring_tuning_choose(const struct ring_tuning *tuning,
				      const struct ring_question *question);

#endif
