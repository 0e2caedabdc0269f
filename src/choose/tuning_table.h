/* SPDX-License-Identifier: MIT */
/* Which algorithm carries which calls: a list of rows, of which the first that fits a call counts. */
#ifndef RING_TUNING_TABLE_H
#define RING_TUNING_TABLE_H

#include "plan/plan.h"

/* What a communicator's links are. */
enum ring_path {
	RING_PATH_MEMORY,  /* shared memory: all ranks are on one host                          */
	RING_PATH_SOCKET,  /* sockets, though all ranks are on one host                         */
	RING_PATH_NETWORK, /* sockets between hosts, RDMA, or links slowed down to be like them   */
	RING_PATH_MIXED,   /* shared memory within hosts, sockets between them                  */
};
#define RING_PATHS (RING_PATH_MIXED + 1)

/* Whose memory a call's buffers are. */
enum ring_memory {
	RING_MEMORY_PRIVATE,
	RING_MEMORY_REACHABLE, /* private, but every rank can copy from and to that of all others */
	RING_MEMORY_SHARED,    /* on every rank, from ring_mem_alloc */
};
#define RING_MEMORIES (RING_MEMORY_SHARED + 1)

/* All that the choice for a call depends on, beside the tuning. */
struct ring_question {
	enum ring_kind kind;
	int ranks;
	uint64_t bytes; /* of the vector, or of one part, as the plan counts */
	enum ring_path path;
	enum ring_memory memory;
	bool scaled;
	bool staged;      /* every rank maps the stages of all others               */
	uint64_t workers; /* one rank of each CPU, as the plan's; 0 also: not told yet */
};

#define RING_TUNING_ANY (-1)

struct ring_tuning_row {
	int kind, path, memory; /* or RING_TUNING_ANY */
	int ranks_from, ranks_to;
	uint64_t bytes; /* at most; UINT64_MAX: any */
	enum ring_algorithm algorithm;
	uint64_t chunk_bytes; /* largest message; 0: as large as the links allow */
	int line;             /* of the file; 0 if built in                      */
};

#define RING_TUNING_ROWS 128

struct ring_tuning_table {
	const char *file; /* whose rows these are, or which of the built-in tables this is */
	int count;
	struct ring_tuning_row rows[RING_TUNING_ROWS];
};

/* CPUs with a built-in table of their own; the tables differ for ranks of one host only, which have the same CPU. */
enum ring_cpu {
	RING_CPU_ANY,
	RING_CPU_AMD,
	RING_CPU_ZEN4, /* of AMD, too: up to this one */
	RING_CPU_XEON6,
};
#define RING_CPUS (RING_CPU_XEON6 + 1)

static inline bool ring_cpu_is_amd(int cpu)
{
	return cpu == RING_CPU_AMD || cpu == RING_CPU_ZEN4;
}

extern const struct ring_tuning_table ring_tuning_built_in[RING_CPUS];

/* Rows that come before those where every rank of a machine has a CPU. */
extern const struct ring_tuning_table ring_tuning_roomy[RING_CPUS];

/* Which of them this one is. */
enum ring_cpu ring_cpu_find(void);

/* True if the algorithm has a plan for the call, and the memory that this plan reaches into. */
bool ring_question_fits(enum ring_algorithm algorithm, const struct ring_question *question);

/* The first row that fits and whose algorithm has a plan for the call, or NULL. */
const struct ring_tuning_row *ring_tuning_find(const struct ring_tuning_table *table,
					       const struct ring_question *question);

/* "all_reduce memory private 3-64 16K oneshot". Returns text. */
#define RING_TUNING_ROW_TEXT 128
const char *ring_tuning_row_format(const struct ring_tuning_row *row,
				   char text[RING_TUNING_ROW_TEXT]);

/* The algorithm of that name that may be chosen for calls; -1 if there is none. */
int ring_algorithm_find(const char *name);
const char *ring_algorithm_name(enum ring_algorithm algorithm);
const char *ring_path_name(enum ring_path path);
const char *ring_memory_name(enum ring_memory memory);

#endif
