/* SPDX-License-Identifier: MIT */
/*
 * What a call takes, as closed forms. Most are sums of four products:
 *
 *	time = overhead + hops * latency + sent / bandwidth + reduced / reduce_rate
 *
 * A ring whose blocks are longer than a chunk overlaps them: while one chunk is on its way or being
 * reduced, the link takes the next one of its round. So a step of a round costs the largest of
 * what keeps the link busy, what keeps the reducing busy, and the way of one chunk.
 *
 * overhead is paid once per call, latency by each message that had to wait for the one before it,
 * and `sent` are the bytes that the busiest rank sends or receives. For what the library does,
 * hops and bytes are the plan's; the algorithms it does not have are here to be compared with.
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

/* What the library chooses if nobody says otherwise. */
#define MODEL_CHUNK 65536
#define MODEL_CHUNKS_PER_ROUND 2

struct model_work {
	double hops, sent, reduced;

	/* Bytes that do not wait for one another; 0: everything goes in one piece. */
	double piece;

	/* A chain: the first piece takes so many hops, the others follow behind it. */
	double chain_hops;

	/* A ring's blocks: so many full rounds of pieces, and the bytes of one more. */
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
 * What `kind` on up to MODEL_RANKS_MAX ranks moves for a vector of `bytes`, all parts together, by
 * its plan. Blocks, and the vectors of broadcast and reduce, are cut into pieces of `chunk` bytes.
 */
struct model_work model_work_of(enum ring_kind kind, int ranks, double bytes, double chunk);

/* What a ring of `ranks` ranks sees: the slowest link's bandwidth, the mean link's latency. */
struct model_link model_ring_link(const struct model_machine *machine, int ranks);

double model_time(const struct model_machine *machine, int ranks, const struct model_work *work);

/* An all-reduce by one of the algorithms that people know. */
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
