/* SPDX-License-Identifier: MIT */
/*
 * Why a call could not go on, as the communicator's failure: whose fault it is, and what this rank
 * was doing. All that return int tell the other ranks and return the communicator's failure.
 */
#ifndef RING_EXPLAIN_H
#define RING_EXPLAIN_H

#include "comm.h"

/* The first of these channels that is not done, or NULL. */
const struct ring_channel *ring_explain_unfinished(const struct ring_channel *active);

/*
 * A channel could not go on. A broken link only says that something happened to a neighbour, which
 * may itself be reacting to another rank's death: the control lanes know the first cause, so they
 * get a moment to tell it.
 */
int ring_explain_broken(struct ring_comm *comm, const struct ring_channel *channel, int err);

/* The kernel gave up a link: nothing came through for as long as peer_lost_ms says. */
int ring_explain_unreached(struct ring_comm_failure *failure, int peer);

/* It waits for a rank that said goodbye. */
int ring_explain_departed(struct ring_comm *comm, const struct ring_channel *channel, int peer);

/* A device failed, or lacks something. */
int ring_explain_device(struct ring_comm_failure *failure, const struct ring_device *device,
			int err);

/* A link beside the rings could not be made, or a message could not begin. */
int ring_explain_pairs(struct ring_comm *comm, const struct ring_pairs_trouble *trouble, int err);

/* 0, or the failure if the program has closed descriptors of the communicator. */
int ring_explain_lost(struct ring_comm_failure *failure);

/* The memory of a peer could not be mapped. */
int ring_explain_unmapped(struct ring_comm_failure *failure, int peer, int err);

int ring_explain_no_memory(struct ring_comm_failure *failure);

/* The call has waited for as long as it may. */
int ring_explain_time_out(struct ring_comm *comm);

/*
 * Adds to the failure what this rank was doing: of calls that ran together the first unfinished
 * one.
 */
void ring_explain_call(struct ring_comm *comm, const struct ring_call *call);

#endif
