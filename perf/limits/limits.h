/* SPDX-License-Identifier: MIT */
/*
 * How fast a ring could be on this machine, computed from measurements of its parts in the same
 * run. docs/PERFORMANCE.md has the method and says what it does not show.
 */
#ifndef PERF_LIMITS_H
#define PERF_LIMITS_H

#include "perf/placed.h"
#include "perf/team.h"

#define PERF_LIMIT_CLASSES 12
#define PERF_LIMIT_SMALLEST                                                                        \
	((size_t)64 << 10) /* bytes of the first class; each next has 4 times as many */

/* Bytes per second of each rank while all do the same, on vectors of this size. */
struct perf_rates {
	size_t bytes;
	double copy;   /* memcpy                                            */
	double reduce; /* a[i] += b[i] on floats                            */
	double both;   /* a[i] = b[i] = a[i] + b[i]; in shared memory only  */
	double wire;   /* TCP or RDMA, sending to next and receiving from previous */
	double line;   /* the same, but the rank before rank 0 sends nothing */
};

struct perf_limits {
	bool known;
	bool over_network;
	bool over_verbs;    /* if over_network: by RDMA, else by sockets */
	bool shared;        /* ranks can reach one another's buffers */
	const char *reason; /* if not known: why */
	double hop_us;      /* one small message to the next rank */
	int classes;
	struct perf_rates rates[PERF_LIMIT_CLASSES]; /* from small to large */
};

/*
 * Measures with all ranks at once; the buffers' contents are lost. shared: all ranks' are from
 * ring_mem_alloc() on the host. Collective.
 */
int perf_limits_measure(struct perf_team *team, struct perf_buffer buffers[2], bool shared,
			struct perf_limits *limits);

/*
 * The least time in microseconds that a ring needs for this call; in shared memory, for an
 * all_reduce, that of ranks which each add up 1/N in one pass. 0: not known.
 */
double perf_limit_us(const struct perf_limits *limits, const struct perf_call *call);

/* The rates for vectors of this size. */
const struct perf_rates *perf_limit_rates(const struct perf_limits *limits, size_t bytes);

#endif
