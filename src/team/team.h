/* SPDX-License-Identifier: MIT */
/*
 * Who the ranks of a communicator are, and what they agreed on while they met. Creation writes it;
 * from then on it stays, and any thread may read it.
 */
#ifndef RING_TEAM_H
#define RING_TEAM_H

#include "base/fd.h"
#include "choose/options.h"
#include "choose/tuning.h"
#include "engine/trace.h"
#include "engine/wait.h"
#include "meet/rendezvous.h"

struct ring_team {
	int size, rank;
	struct ring_config config;
	char lacks[RING_ABSENT_TEXT]; /* why it has none of the transports that the options name */
	struct ring_tuning_table *table; /* of the file that the options name, or NULL */
	struct ring_placement placement;
	int *order;                    /* position -> rank; also the placement's */
	struct ring_peer *peers;       /* peers[size], by rank, without their CPUs */
	struct ring_patience patience; /* the options', or chosen */
	struct ring_trace *trace;      /* NULL: none is written */
	unsigned fork_generation;      /* of the process that made it */
};

/* Whether this process made it; else it was the parent's before fork(). */
static inline bool ring_team_is_mine(const struct ring_team *team)
{
	return team->fork_generation == ring_fork_generation();
}

/* Whether the rank is this one, or a thread of the same process. */
static inline bool ring_team_is_here(const struct ring_team *team, int rank)
{
	return team->peers[rank].process == team->peers[team->rank].process;
}

/* "rank 2 (host h, pid 123)". Returns text. */
#define RING_RANK_TEXT 128
const char *ring_team_rank_text(const struct ring_team *team, int rank, char *text);

#endif
