/* SPDX-License-Identifier: MIT */
/*
 * The states of a reliable connected queue pair, and what its two ends must know of each other. All
 * return 0, or errno.
 */
#ifndef RING_VERBS_PAIR_H
#define RING_VERBS_PAIR_H

#include "port.h"

/* One end, as the other is told. No padding: it is part of what is compared and sent as bytes. */
struct ring_verbs_end {
	uint32_t qpn; /* queue pair */
	uint32_t psn; /* number of its first packet */
	uint16_t lid;
	uint8_t mtu; /* enum ibv_mtu */
	uint8_t ethernet;
	unsigned char gid[16];
};

struct ring_verbs_end ring_verbs_pair_end(const struct ring_verbs_port *port,
					  const struct ibv_qp *qp);

/* Receives can be posted. access: what the other end may do, IBV_ACCESS_... */
int ring_verbs_pair_initialise(const struct ring_verbs_port *port, struct ibv_qp *qp, int access);

/* It receives from `other`, which was checked. */
int ring_verbs_pair_receive(const struct ring_verbs_port *port, struct ibv_qp *qp,
			    const struct ring_verbs_end *own, const struct ring_verbs_end *other);

/* It also sends. An outage ends it after more than half of peer_lost_ms. */
int ring_verbs_pair_send(const struct ring_verbs_port *port, struct ibv_qp *qp,
			 const struct ring_verbs_end *own, int peer_lost_ms);

#endif
