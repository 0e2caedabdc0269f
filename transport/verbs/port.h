/* SPDX-License-Identifier: MIT */
/* An opened port of an RDMA device, which the links of a process share. */
#ifndef RING_VERBS_PORT_H
#define RING_VERBS_PORT_H

#include "choice.h"
#include "library.h"

struct ring_verbs_port {
	const struct ring_verbs_library *library;
	struct ring_verbs_choice choice;
	struct ring_verbs_wish wish;
	struct ibv_context *context;
	struct ibv_pd *pd;
	enum ibv_mtu mtu; /* what the port, or RING_VERBS_MTU, allows in one packet */
	uint16_t lid;     /* InfiniBand's address within a subnet */
	int users;
	unsigned generation; /* of fork(): a child opens its own */
	struct ring_verbs_port *next;
};

/*
 * The port that a connection from `address` uses (NULL: any), opened if it is not. returns 0;
 * RING_ENOTSUP: there is none; RING_ENOMEM; RING_ESYSTEM: with why, of RING_ABSENT_TEXT
 */
int ring_verbs_port_hold(const struct sockaddr_storage *address, struct ring_verbs_port **port,
			 char *why);
void ring_verbs_port_drop(struct ring_verbs_port *port); /* NULL is allowed */

/* What the port is now, such as "active"; for sentences. */
const char *ring_verbs_port_state(const struct ring_verbs_port *port);

/* Whether this process has a port that could be held, without opening it; else why. */
bool ring_verbs_present(char *why);

#endif
