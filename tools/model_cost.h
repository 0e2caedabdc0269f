/* SPDX-License-Identifier: MIT */
/*
 * The time of a call, as closed forms. Most are sums of four products:
 *
 *	time = overhead + hops * latency + sent / bandwidth + reduced / reduce_rate
 *
 * A ring whose blocks are longer than a chunk overlaps them: while one chunk travels or is being
 * reduced, the link sends the next one of its round. So a step of a round takes the longest of
 * three times: that of the link for all chunks, that of reducing them, and that of one chunk for
 * its way.
 *
 * Each call has the overhead once, and the latency for each message that waits for another one;
 * `sent` are the bytes that the busiest rank sends or receives. For the library's algorithms, hops
 * and bytes come from the plan; algorithms that it does not have are here for comparison.
 */
#ifndef MODEL_COST_H
#define MODEL_COST_H

#include <stdbool.h>

#include "plan/plan.h"

#define MODEL_RANKS_MAX 65536

struct model_link {
	double latency;   /* seconds */
	double bandwidth; /* bytes per second and direction; INFINITY: bytes take no time */
};

struct model_machine {
	struct model_link link;    /* between ranks of one host, or any two                     */
	double reduce_rate;        /* bytes per second; INFINITY: reducing takes no time        */
	double overhead;           /* seconds per call                                          */
	double chunk;              /* bytes; INFINITY: blocks go in one piece                   */
	int ranks_per_host;        /* 0: all on one host                                        */
	struct model_link between; /* hosts */
};

/* The library's defaults. */
#define MODEL_CHUNK 65536
#define MODEL_CHUNKS_PER_ROUND 2

struct model_work {
	double hops, sent, reduced;

	/* Bytes of a piece, sent without waiting for others; 0: everything is one piece. */
	double piece;

	/* A chain: hops of the first piece; the others follow it. */
	double chain_hops;

	/* A ring's blocks: the number of full rounds of pieces, and the bytes of the rest. */
	double full_rounds, rest;
	double reduce_steps, copy_steps;
};

/* The collectives, by the names that ring_perf writes. */
struct model_collective {
	const char *name;
	enum ring_kind kind;
};

extern const struct model_collective model_collectives[]; /* ends with a name of NULL */

/* NULL if there is no such collective */
const struct model_collective *model_collective_find(const char *name);

/*
 * What a call of `kind` on up to MODEL_RANKS_MAX ranks moves by its plan; `bytes` are those of all
 * parts together. Blocks, and the vectors of broadcast and reduce, are cut into pieces of `chunk`
 * bytes.
 */
struct model_work model_work_of(enum ring_kind kind, int ranks, double bytes, double chunk);

/* The link that stands for all links of a ring: the slowest one's bandwidth, the mean latency. */
struct model_link model_ring_link(const struct model_machine *machine, int ranks);

double model_time(const struct model_machine *machine, int ranks, const struct model_work *work);

/* A well-known algorithm for all-reduce. */
struct model_algorithm {
	const char *name, *formula;
	bool needs_hosts;
	double (*time)(const struct model_machine *machine, int ranks, double bytes);
};

extern const struct model_algorithm model_algorithms[]; /* the first is the ring; ends with NULL */

/* The size at which `other` and the ring take the same time, between 1 byte and 1 TiB; 0: none. */
double model_crossover(const struct model_algorithm *other, const struct model_machine *machine,
		       int ranks);

#endif
