/* SPDX-License-Identifier: MIT */
/*
 * Messages whose sizes and bytes follow from a seed and their number, so that a receiver can check
 * them alone; and one end of a link as a thing that is stepped by one thread, or by chance.
 */
#ifndef RING_TEST_TRAFFIC_H
#define RING_TEST_TRAFFIC_H

#include "transport/transport.h"

#define TRAFFIC_SOURCES 16 /* messages that may be under way before a source is used again */

struct traffic {
	struct ring_link *link;
	struct ring_bell *bell;
	uint64_t seed, dice;
	uint64_t messages; /* to move in all */
	uint64_t moved;    /* sender: handed over; receiver: checked and released */
	size_t typical;    /* most messages are at most so long, one in 64 is any size */
	bool patient;      /* receiver: sometimes keeps a message for a while */
	int err;           /* first error of the link */
	char wrong[128];   /* first thing that is not as it should be, or "" */
	unsigned char *sources;
};

bool traffic_init(struct traffic *traffic, struct ring_link *link, struct ring_bell *bell,
		  uint64_t seed, uint64_t messages);
void traffic_free(struct traffic *traffic);

size_t traffic_bytes(const struct traffic *traffic, uint64_t message);
void traffic_fill(const struct traffic *traffic, uint64_t message, unsigned char *bytes);

/* Moves one message if it can. Returns whether it did. */
bool traffic_step(struct traffic *traffic);

/* All is moved (for a sender: `sent` too), or something went wrong. */
bool traffic_is_over(const struct traffic *traffic);

/* Steps until it is over; yields or, if `sleeps`, sleeps on the doorbell when nothing moves. */
void traffic_run(struct traffic *traffic, bool sleeps);

/* Sleeps until something may have moved at `link`; false if that took implausibly long. */
bool traffic_sleep(struct ring_link *link, struct ring_bell *bell, bool (*moved)(void *context),
		   void *context);

#endif
