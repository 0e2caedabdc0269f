/* SPDX-License-Identifier: MIT */
/*
 * From the name of rank 0's host to the address to meet at. A name may not be known yet, as that of
 * a pod that has just been made, a name server may not answer, and some of the addresses of a name
 * may lead nowhere.
 */
#ifndef RING_LAUNCH_LOOKUP_H
#define RING_LAUNCH_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define RING_ADDRESSES_MAX 8
#define RING_LOOKUP_WORDS 128

/* What a name stands for; IPv4 first, else as the resolver has them. */
struct ring_addresses {
	int count;
	struct sockaddr_storage list[RING_ADDRESSES_MAX];
};

/*
 * Asks again, with growing pauses, until the name is known. returns 0; RING_ETIMEDOUT at
 * deadline_ms, with the last cause in words
 */
int ring_lookup(const char *name, int port, uint64_t deadline_ms, struct ring_addresses *found,
		char why[RING_LOOKUP_WORDS]);

/* The one that all ranks of a host choose: its own, if there is one; at_home: also loopback */
const struct sockaddr_storage *ring_lookup_own(const struct ring_addresses *found, bool at_home);

/*
 * The one at which somebody listens: tries each, the next a moment later, and again until
 * deadline_ms. returns 0; RING_ETIMEDOUT
 */
int ring_lookup_reached(const struct ring_addresses *found, uint64_t deadline_ms,
			struct sockaddr_storage *reached);

#endif
