/* SPDX-License-Identifier: MIT */
/*
 * The time of a call, by the library's own choice and cost model (src/choose). Everything that
 * ring_model and the page predict in closed form comes from here.
 */
#ifndef MODEL_CALL_H
#define MODEL_CALL_H

#include <string.h>

#include "choose/tuning.h"

#define MODEL_RANKS_MAX 65536
#define MODEL_WHOLE_BLOCKS ((uint64_t)1 << 50) /* a chunk that no block is longer than */

struct model_machine {
	struct ring_model model;   /* between ranks of a host, or any two */
	struct ring_model between; /* its hop and wire: between hosts */
	int ranks_per_host;        /* 0: all on one host */
	enum ring_path path;
	enum ring_memory memory;
	int algorithm;                         /* where it has a plan; -1: the library chooses */
	uint64_t chunk;                        /* bytes; 0: the library's */
	double cpus;                           /* of all ranks together; 0: one for each */
	const struct ring_tuning_table *table; /* rows that come before the model; or NULL */
};

struct model_call {
	struct ring_choice choice;
	uint64_t hops, sent; /* messages that follow one another; bytes of the busiest rank */
	double seconds;
};

/* bytes: of all parts together, up to RING_TUNING_BYTES */
struct model_call model_call_of(const struct model_machine *machine, enum ring_kind kind, int ranks,
				double bytes);

/* The numbers of links that a ring goes around: the slowest wire, the mean hop. */
struct ring_model model_around(const struct model_machine *machine, int ranks);

/* Ranks of a CPU, in 1024ths. */
int model_turns(double ranks, double cpus);

/* Elements of `element_bytes` in a call's vector, or in each of its parts. */
uint64_t model_count_of(enum ring_kind kind, int ranks, double bytes, double element_bytes);

/* Numbers of the model from what people say, and back. 0 bytes per second: bytes take no time. */
uint64_t model_number_of_seconds(double seconds);
uint64_t model_number_of_rate(double bytes_per_second);
double model_seconds(uint64_t number);
double model_seconds_per_byte(uint64_t number);

/* To reduce is to read twice and to write. */
#define MODEL_TOUCHED_TO_REDUCE 3

/* The collectives, by the names that ring_perf writes. */
struct model_collective {
	const char *name;
	enum ring_kind kind;
};

extern const struct model_collective model_collectives[]; /* ends with a name of NULL */

/* NULL if there is no such collective */
const struct model_collective *model_collective_find(const char *name);

/* The path, the section and the memory that the library calls so; -1 if there is none. */
static inline int model_path_find(const char *name)
{
	for (int path = 0; path < RING_PATHS; path++)
		if (strcmp(ring_path_name((enum ring_path)path), name) == 0)
			return path;
	return -1;
}

static inline int model_section_find(const char *name)
{
	for (int section = 0; section < RING_SECTIONS; section++)
		if (strcmp(ring_section_name(section), name) == 0)
			return section;
	return -1;
}

static inline int model_memory_find(const char *name)
{
	for (int memory = 0; memory < RING_MEMORIES; memory++)
		if (strcmp(ring_memory_name((enum ring_memory)memory), name) == 0)
			return memory;
	return -1;
}

#endif
