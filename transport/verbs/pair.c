/* SPDX-License-Identifier: MIT */
/* Attributes of each state; see pair.h. */
#include "pair.h"

#include <string.h>
#include <sys/random.h>

/* Of a packet, before the other end counts as lost; one more would be no end for software RoCE. */
#define TRIES 7
#define BITS_24 0xffffff

struct ring_verbs_end ring_verbs_pair_end(const struct ring_verbs_port *port,
					  const struct ibv_qp *qp)
{
	uint32_t psn = 0;
	(void)!getrandom(&psn, sizeof(psn), 0);
	struct ring_verbs_end end = {
		.qpn = qp->qp_num,
		.psn = psn & BITS_24,
		.lid = port->lid,
		.mtu = (uint8_t)port->mtu,
		.ethernet = port->choice.ethernet,
	};
	memcpy(end.gid, port->choice.gid, sizeof(end.gid));
	return end;
}

int ring_verbs_pair_initialise(const struct ring_verbs_port *port, struct ibv_qp *qp, int access)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = (uint16_t)port->wish.pkey,
		.port_num = (uint8_t)port->choice.port,
		.qp_access_flags = (unsigned)access,
	};
	return port->library->modify_qp(
		qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static struct ibv_ah_attr address_of(const struct ring_verbs_port *port,
				     const struct ring_verbs_end *other)
{
	struct ibv_ah_attr address = {
		.dlid = other->lid,
		.sl = (uint8_t)port->wish.service_level,
		.port_num = (uint8_t)port->choice.port,
		.is_global = port->choice.ethernet,
		.grh = {.sgid_index = (uint8_t)port->choice.gid_index,
			.hop_limit = 64,
			.traffic_class = (uint8_t)port->wish.traffic_class},
	};
	memcpy(address.grh.dgid.raw, other->gid, sizeof(other->gid));
	return address;
}

int ring_verbs_pair_receive(const struct ring_verbs_port *port, struct ibv_qp *qp,
			    const struct ring_verbs_end *own, const struct ring_verbs_end *other)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = (enum ibv_mtu)(own->mtu < other->mtu ? own->mtu : other->mtu),
		.dest_qp_num = other->qpn,
		.rq_psn = other->psn,
		.min_rnr_timer = 12,
		.ah_attr = address_of(port, other),
	};
	return port->library->modify_qp(qp, &attr,
					IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
						IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
						IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

/*
 * A packet is sent again after 4.096 us * 2^timeout. An outage ends the link after more than half
 * of peer_lost_ms, and not more than all of it; devices may take up to four times as long.
 */
static uint8_t choose_timeout(int peer_lost_ms)
{
	uint8_t timeout = 1;
	while (timeout < 31 && 4.096e-3 * (double)(UINT64_C(2) << timeout) * TRIES <= peer_lost_ms)
		timeout++;
	return timeout;
}

int ring_verbs_pair_send(const struct ring_verbs_port *port, struct ibv_qp *qp,
			 const struct ring_verbs_end *own, int peer_lost_ms)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = own->psn,
		.timeout = choose_timeout(peer_lost_ms),
		.retry_cnt = TRIES - 1,
		.rnr_retry = 7,
	};
	return port->library->modify_qp(qp, &attr,
					IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
						IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						IBV_QP_MAX_QP_RD_ATOMIC);
}
