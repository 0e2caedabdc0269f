/* SPDX-License-Identifier: MIT */
/*
 * The last part of creation: every rank's description goes around the new ring, so that any two
 * ranks can be linked later. An ordinary all-gather on the first channel, with the sequence number
 * 0; it leaves no trace in the communicator's counters. Non-blocking.
 */
#ifndef RING_ROSTER_H
#define RING_ROSTER_H

#include "comm.h"

#define RING_ROSTER_FDS (1 + 2 * RING_RING_ROUTES) /* the doorbell's and the links' */

struct ring_roster {
	unsigned char *cards; /* cards[size][RING_CARD_BYTES], by rank */
	uint64_t deadline_ms;
	int broken; /* the channel's error, or 0 */
	uint64_t broken_ms;
};

/* comm is linked and comm->team.peers[rank] is this rank. returns 0; RING_ENOMEM */
int ring_roster_begin(struct ring_roster *roster, struct ring_comm *comm, uint64_t deadline_ms,
		      struct ring_failure *failure);

/*
 * Goes on as far as possible. returns 0 once comm->team.peers is complete; RING_EAGAIN; the
 * communicator's failure, which the others know or were told
 */
int ring_roster_step(struct ring_roster *roster, struct ring_comm *comm,
		     struct ring_failure *failure);

/*
 * What to wait for while the doorbell is announced with descriptors: returns how many of
 * fds[RING_ROSTER_FDS] that are; lowers *ms to the time of the next look.
 */
int ring_roster_poll(const struct ring_roster *roster, const struct ring_comm *comm,
		     struct pollfd *fds, int *ms);

void ring_roster_free(struct ring_roster *roster); /* all zero is allowed */

#endif
