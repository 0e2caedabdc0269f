/* SPDX-License-Identifier: MIT */
/*
 * One rank's view of all ranks: the communicator under test, and what the ranks must tell one
 * another to agree on a measurement. They talk through the library itself, outside of what is
 * timed or counted, so the same program works under any launcher and over any transport.
 */
#ifndef PERF_TEAM_H
#define PERF_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"
#include "options.h"
#include "ringccl.h"
#include "trace.h"

struct perf_team {
	struct ring_comm *comm;
	struct ring_stream *stream; /* NULL: blocking calls */
	int rank, size;
	int *order;          /* order[position] == rank, as the links tell       */
	bool over_network;   /* some rank sends over something else than memory  */
	bool over_verbs;     /* ... and none of them over TCP */
	char transports[64]; /* those of all ranks, "shm,tcp"; "-" if there are none */
	struct perf_trace trace;
	struct perf_device device; /* that has this rank's buffers; all zero: the host */
	char error[512];           /* the first failure of this rank as a sentence; "" */
};

/* id NULL: the environment says how to join. returns 0, or a RING_E... with team->error */
int perf_team_join(struct perf_team *team, const struct perf_options *options, int size, int rank,
		   const struct ring_unique_id *id);

/* Ends all calls; the library writes its trace. */
void perf_team_leave(struct perf_team *team);

/* The same ranks once more, with calls carried by `algorithm`; without order and transports. */
int perf_team_branch(struct perf_team *team, const struct perf_options *options,
		     const char *algorithm, struct perf_team *branch);

/* All of these are collective and return 0, or a RING_E... with team->error. */
int perf_team_barrier(struct perf_team *team);
int perf_team_max(struct perf_team *team, double *values, size_t count);
int perf_team_gather(struct perf_team *team, const void *mine, size_t bytes, void *all);

/* What the library has done so far, as this rank counts it. */
int perf_team_stats(struct perf_team *team, struct ring_stats *stats);

/* Notes why a call failed, unless something had failed before. returns err */
int perf_team_failed(struct perf_team *team, int err, const char *doing);

#endif
