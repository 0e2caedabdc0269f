/* SPDX-License-Identifier: MIT */
/*
 * How ranks meet. The process that made the id serves the meeting (the root): every rank sends it a
 * description of itself; when all have, the root computes the order and answers each rank with its
 * place and its neighbours only. Ranks then connect to one another, report, and the root says go,
 * or again with fewer transports. A rank that dies meanwhile, or never comes, is named to all.
 *
 * This is one rank's side: non-blocking, any number of ranks in one thread. Once the meeting failed
 * every call returns that failure.
 */
#ifndef RING_RENDEZVOUS_H
#define RING_RENDEZVOUS_H

#include "../transport/transport.h"
#include "greeting.h"
#include "options.h"

/* What the root decides about the schedule, alike on all ranks. */
struct ring_tuning {
	uint64_t chunk_bytes;
	int depth, chunks_per_round, channels;
};

/* src/tuning.c. slowest: highest transport index of any edge, -1 if there is none */
struct ring_tuning ring_tuning_choose(const struct ring_config *config, int slowest, int size);

/* A rank's place, as the root gives it. */
struct ring_placement {
	int size, position;
	int *order; /* order[size]: position -> rank; owned by the join */
	struct ring_peer next, prev;
	int next_transport, prev_transport; /* indices of ring_transports; -1 if alone */
	bool crowded;                       /* this rank's host has more ranks than CPUs */
	uint32_t attempt;
	struct ring_tuning tuning;
};

struct ring_join;

/* Starts to join; self is completed with what the watcher knows (tcp, local, process). */
int ring_join_start(struct ring_join **join, int size, struct ring_peer *self,
		    const struct ring_unique_id *id, const struct ring_config *config,
		    struct ring_failure *failure);

/* returns 0 with the placement, RING_EAGAIN, or the error that ended the meeting, with its sentence */
int ring_join_placed(struct ring_join *join, struct ring_placement *placement,
		     struct ring_failure *failure);

/*
 * A proved connection with a neighbour: to next if outgoing, else from prev. Call with the same
 * arguments until it is there. role is RING_ROLE_CONTROL or RING_ROLE_DATA.
 * returns 0 and *fd, the caller's; RING_EAGAIN; RING_EPEER if it cannot be made (the root was given
 * time to say why, if that neighbour died); or the meeting's error
 */
int ring_join_connect(struct ring_join *join, enum ring_role role, int channel, enum ring_lane lane,
		      bool outgoing, int *fd, struct ring_failure *failure);

/*
 * Tells the root that all my links stand (failed 0), or which transports (bits) could not be used
 * and why. returns 0, or the meeting's error
 */
int ring_join_report(struct ring_join *join, uint32_t failed, const char *why,
		     struct ring_failure *failure);

/*
 * returns 0: go; RING_EAGAIN; RING_ENOTSUP: all start again, or no transport is left: drop all links
 * and call ring_join_placed; or the meeting's error
 */
int ring_join_verdict(struct ring_join *join, struct ring_failure *failure);

/* Sleeps until something may have moved, at most `ms`. extra: further descriptors to wait for. */
void ring_join_wait(struct ring_join *join, struct pollfd *extra, int nextra, int ms);

/*
 * Leaves the meeting, at whatever point it is; NULL is allowed. Before the verdict the others learn
 * `failure` as my reason, if it has one.
 */
void ring_join_close(struct ring_join *join, const struct ring_failure *failure);

/* The public name of an id's communicator; 0 if it is not an id. */
uint64_t ring_unique_id_job(const struct ring_unique_id *id);

#endif
