/* SPDX-License-Identifier: MIT */
/* What the 128 bytes of a struct ring_unique_id say, and how they are made. */
#ifndef RING_IDENTITY_H
#define RING_IDENTITY_H

#include "choose/options.h"
#include "describe.h"

/* returns 0; RING_EINVAL if no process of this version made these bytes */
int ring_identity_read(const struct ring_unique_id *id, struct ring_identity *identity);
void ring_identity_write(struct ring_identity *identity, struct ring_unique_id *id);

/*
 * Turns the identity that a launcher put into the environment into that of the number-th
 * communicator made of it, from 0. It is the first of a series, and its root serves them all.
 */
void ring_identity_follow(struct ring_identity *identity, unsigned number);

/*
 * Notes that the meeting of `job`, which this process served, is over; and tells whether one of the
 * last 256 was it.
 */
void ring_identity_note_used(uint64_t job);
bool ring_identity_is_used(uint64_t job);

/*
 * Makes a new one, and serves its meeting from now on. config, towards: as for ring_watcher_hold.
 * returns 0; RING_ENOMEM, or what ring_watcher_hold returns, with the sentence
 */
int ring_identity_serve(struct ring_identity *identity, const struct ring_config *config,
			const struct sockaddr_storage *towards, struct ring_failure *failure);

/*
 * Computes job and secret from what all ranks of a job know alike; the root is the caller's to set.
 * The job, which travels in the open, does not depend on `secret`: a rank with another secret is
 * told so. The result is no more secret than the most secret argument.
 */
void ring_identity_derive(struct ring_identity *identity, const char *secret,
			  const char *const facts[], int nfacts);

#endif
