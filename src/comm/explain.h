/* SPDX-License-Identifier: MIT */
/*
 * Why a call could not go on, as the communicator's failure: whose fault it is, and what this rank
 * was doing. All that return int tell the other ranks and return the communicator's failure.
 */
#ifndef RING_EXPLAIN_H
#define RING_EXPLAIN_H

#include "comm.h"

/* The call that this rank is in, as it says itself. returns whom it waits for; -1: not known */
int ring_explain_where(const struct ring_comm *comm, struct ring_record *record);

/* The record in words, and which device it is on; text has RING_RECORD_TEXT bytes. returns text */
const char *ring_explain_record(const struct ring_comm *comm, const struct ring_record *record,
				char *text);

/* The first channel that is not done, a collective's before messages', or NULL. */
const struct ring_channel *ring_explain_unfinished(const struct ring_comm *comm);

/*
 * A channel could not go on. A broken link only says that something happened to a neighbour, which
 * may itself be reacting to another rank's death: the control lanes know the first cause, so they
 * get a moment to tell it.
 */
int ring_explain_broken(struct ring_comm *comm, const struct ring_channel *channel, int err);

/* A neighbour says that it is in another collective. */
int ring_explain_other_call(struct ring_comm *comm, const struct ring_record *record, int peer,
			    const struct ring_record *other);

/* A call that the device carried out has ended. returns 0 if it is complete */
int ring_explain_kernel(struct ring_comm *comm, const struct ring_call *call);

/* It waits for a rank that said goodbye; NULL: the call that the device carries out does. */
int ring_explain_departed(struct ring_comm *comm, const struct ring_channel *channel, int peer);

/* A device failed, or lacks something. */
int ring_explain_device(struct ring_comm_failure *failure, const struct ring_device *device,
			int err);

/* A link beside the rings could not be made, or a message could not begin or go on. */
int ring_explain_pairs(struct ring_comm *comm, const struct ring_pairs_trouble *trouble, int err);

/* 0, or the failure if the program has closed descriptors of the communicator. */
int ring_explain_lost(struct ring_comm_failure *failure);

/* The memory of a peer could not be mapped. */
int ring_explain_unmapped(struct ring_comm_failure *failure, int peer, int err);

int ring_explain_no_memory(struct ring_comm_failure *failure);

/* The call has waited for as long as it may; NULL: none of its channels is late. */
int ring_explain_time_out(struct ring_comm *comm, const struct ring_channel *channel);

/*
 * Adds to the failure what this rank was doing: of what ran at the same time the first that is
 * unfinished, or else the call; NULL: there is none.
 */
void ring_explain_call(struct ring_comm *comm, const struct ring_call *call);

#endif
