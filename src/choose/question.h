/* SPDX-License-Identifier: MIT */
/* The question before a call: which algorithm? */
#ifndef RING_QUESTION_H
#define RING_QUESTION_H

#include "base/distance.h"
#include "plan/plan.h"

/* What a communicator's links are. */
enum ring_path {
	RING_PATH_MEMORY,  /* shared memory: all ranks are on one host */
	RING_PATH_SOCKET,  /* sockets, though all ranks are on one host */
	RING_PATH_NETWORK, /* sockets between hosts, or links slowed down to be like them */
	RING_PATH_VERBS,   /* RDMA alone */
	RING_PATH_MIXED,   /* shared memory within hosts, sockets or RDMA between them */
};
#define RING_PATHS (RING_PATH_MIXED + 1)

/* Whose memory a call's buffers are. */
enum ring_memory {
	RING_MEMORY_PRIVATE,
	RING_MEMORY_REACHABLE, /* private, but every rank can copy from and to all others' */
	RING_MEMORY_SHARED,    /* on every rank, from ring_mem_alloc */
};
#define RING_MEMORIES (RING_MEMORY_SHARED + 1)

/* All that the choice for a call depends on, beside the tuning. */
struct ring_question {
	enum ring_kind kind;
	int ranks;
	const int *order; /* position -> rank; outlives the question */
	uint64_t bytes;   /* of the vector, or of one part, as the plan counts */
	enum ring_path path;
	enum ring_memory memory;
	bool scaled;
	bool in_order; /* sums are, as the plan's */
	bool uneven;   /* parts are; bytes are the longest one's, or 0 if not all know it */
	bool staged;   /* every rank maps the stages of all others */
	bool apart;    /* buffers are apart, as the plan's */
	enum ring_distance distance; /* of others' buffers, if they are apart and shared */
	uint64_t workers; /* one rank of each CPU, as the plan's; also 0: not known yet */
};

/* True if no member differs: the same answer serves both. */
bool ring_question_equals(const struct ring_question *a, const struct ring_question *b);

/* True if the algorithm has a plan for the call, and the memory that this plan reaches into. */
bool ring_question_fits(enum ring_algorithm algorithm, const struct ring_question *question);

/* The algorithm of that name that may be chosen for calls; -1 if there is none. */
int ring_algorithm_find(const char *name);
const char *ring_path_name(enum ring_path path);
const char *ring_memory_name(enum ring_memory memory);

#endif
