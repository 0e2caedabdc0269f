/* SPDX-License-Identifier: MIT */
/*
 * One rank's view of all ranks: the communicator under test, and the exchanges by which ranks agree
 * on a measurement. These use the library itself, so ring_perf works under any launcher and over
 * any transport. They are neither timed nor counted. If calls are traced, they have a communicator
 * of their own.
 */
#ifndef PERF_TEAM_H
#define PERF_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perf/calls/cuda_stream.h"
#include "perf/calls/memory.h"
#include "options.h"
#include "ringccl.h"
#include "trace.h"

struct perf_team {
	struct ring_comm *comm;
	struct ring_stream *stream;   /* NULL: blocking calls */
	struct perf_cuda_stream cuda; /* that orders it, where buffers are on GPUs */
	int rank, size;
	int *order;          /* order[position] == rank, found by following links */
	bool over_network;   /* some rank sends over a network, not memory        */
	bool over_verbs;     /* over_network, and none over TCP                   */
	char transports[64]; /* of all ranks, "shm,tcp"; "-" if there are none    */
	struct perf_trace trace;
	struct perf_device device; /* where this rank's buffers lie; all zero: on the host */
	char error[512];           /* this rank's first failure as a sentence; "": none    */
};

/* id NULL: the environment says how to join. returns 0, or a RING_E... with team->error */
int perf_team_join(struct perf_team *team, const struct perf_options *options, int size, int rank,
		   const struct ring_unique_id *id);

/*
 * Calls are made through a stream from here on: one of the library's, or of CUDA's where all ranks
 * have GPUs. Collective. returns 0, or a RING_E... with team->error
 */
int perf_team_make_stream(struct perf_team *team, const struct perf_options *options);

/* Ends all calls; the library writes its trace. */
void perf_team_leave(struct perf_team *team);

/* True if RING_ALGORITHM says what carries the team's calls. */
bool perf_team_is_forced(const struct perf_options *options);

/* True if RING_ORDER has sums added in the order of ranks. */
bool perf_team_adds_by_rank(const struct perf_options *options);

/*
 * A team of the same ranks whose calls `algorithm` carries, NULL: the library chooses. It has no
 * order and transports, and adds in any order.
 */
int perf_team_branch(struct perf_team *team, const struct perf_options *options,
		     const char *algorithm, struct perf_team *made);

/* A team of the same ranks whose ring_mem_alloc() gives memory of its device's chip, by rank. */
int perf_team_lend(struct perf_team *team, const struct perf_options *options, int chip,
		   struct perf_team *lender);

/* All of these are collective and return 0, or a RING_E... with team->error. */
/* The communicator of such exchanges. */
struct ring_comm *perf_team_apart(struct perf_team *team);

int perf_team_barrier(struct perf_team *team);
int perf_team_max(struct perf_team *team, double *values, size_t count);
int perf_team_gather(struct perf_team *team, const void *mine, size_t bytes, void *all);

/* The library's counters of this rank. */
int perf_team_stats(struct perf_team *team, struct ring_stats *stats);

/* Notes why a call failed, if it is the first failure. returns err */
int perf_team_failed(struct perf_team *team, int err, const char *doing);

#endif
