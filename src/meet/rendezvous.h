/* SPDX-License-Identifier: MIT */
/*
 * How ranks meet. The process that made the id serves the meeting (the root): every rank sends it a
 * description of itself; when all have, the root computes the order and answers each rank with its
 * place and its neighbours only. Neighbours then connect (edge.h), report, and the root says go, or
 * again with fewer transports. A rank that dies meanwhile, or never comes, is named to all.
 *
 * This is one rank's side: non-blocking, any number of ranks in one thread. Once the meeting failed
 * every call returns that failure.
 */
#ifndef RING_RENDEZVOUS_H
#define RING_RENDEZVOUS_H

#include "transport/transport.h"
#include "choose/options.h"
#include "choose/tuning.h"

/* A rank's place, as the root gives it. */
struct ring_placement {
	int size, position;
	int *order; /* order[size]: position -> rank; owned by the join */
	struct ring_peer next, prev;
	int next_transport, prev_transport; /* indices of ring_transports; -1 if alone */
	bool crowded;                       /* this rank's machine has more ranks than CPUs */
	uint32_t attempt;
	uint32_t masked;  /* transports that all ranks do without (bits) */
	uint32_t shunned; /* ... of which one failed to or from this rank's host */
	struct ring_tuning tuning;
	enum ring_path path;
};

struct ring_join;
struct ring_identity; /* describe.h */

/* Starts to join size ranks, 1..RING_SIZE_MAX; self is complete, and its door open. */
int ring_join_start(struct ring_join **join, int size, const struct ring_peer *self,
		    const struct ring_identity *identity, const struct ring_config *config,
		    struct ring_failure *failure);

/*
 * returns 0 with the placement, RING_EAGAIN, or the error that ended the meeting, with its sentence
 */
int ring_join_placed(struct ring_join *join, struct ring_placement *placement,
		     struct ring_failure *failure);

/*
 * Tells the root that all my links stand (failed 0), or which transports (bits) could not be used
 * towards `peer` and why. returns 0, or the meeting's error
 */
int ring_join_report(struct ring_join *join, uint32_t failed, int peer, const char *why,
		     struct ring_failure *failure);

/*
 * returns 0: go; RING_EAGAIN; RING_ENOTSUP: all start again, or no transport is left: drop all
 * links and call ring_join_placed; or the meeting's error
 */
int ring_join_verdict(struct ring_join *join, struct ring_failure *failure);

/*
 * What to wait for before the next call: a descriptor or fd -1; lowers *ms to the time of the next
 * look.
 */
void ring_join_poll(const struct ring_join *join, struct pollfd *pollfd, int *ms);

/*
 * Leaves the meeting, at any point; NULL is allowed. Before the verdict the others learn `failure`
 * as my reason, if it has one.
 */
void ring_join_close(struct ring_join *join, const struct ring_failure *failure);

/* The public name of an id's communicator; 0 if it is not an id. */
uint64_t ring_unique_id_job(const struct ring_unique_id *id);

#endif
