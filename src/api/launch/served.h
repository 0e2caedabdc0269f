/* SPDX-License-Identifier: MIT */
/*
 * Launchers that exchange nothing between their ranks: all derive the same identity and address,
 * rank 0 serves the meeting there, and the others look for it.
 */
#ifndef RING_LAUNCH_SERVED_H
#define RING_LAUNCH_SERVED_H

#include <stdbool.h>

#include "meet/describe.h"
#include "launch.h"

#define RING_PORT_MAX 65535
#define RING_SECRET_TEXT 1024

/* Texts lie in the environment, or with the caller. */
struct ring_served {
	const char *address;    /* a name or an address of rank 0's host */
	const char *address_of; /* the variable that says it */
	int port;
	const char *port_of; /* where the port comes from, unless it was chosen */
	bool chosen;         /* by RING_ROOT_PORT */
	int local_size;      /* ranks on this host; 0: all are if the address says loopback */
	char secret[RING_SECRET_TEXT]; /* "": none */
};

/*
 * Sets port and chosen if RING_ROOT_PORT does, and the secret from RING_SECRET or the first line of
 * the file that RING_SECRET_FILE names. returns 0; RING_EINVAL if they are nonsense
 */
int ring_served_choose(struct ring_served *served, const struct ring_launcher *launcher,
		       struct ring_failure *failure);

/*
 * Sets launch->id from an identity without root, and on rank 0 serves its meeting; launch->size and
 * launch->rank are known. Sets launch->watcher also on failure.
 */
int ring_served_enter(const struct ring_served *served, struct ring_identity *identity,
		      const struct ring_config *config, struct ring_launch *launch,
		      struct ring_failure *failure);

#endif
