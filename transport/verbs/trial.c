/* SPDX-License-Identifier: MIT */
/*
 * The trial of a path before its link is called usable. Where the MTU of the path is smaller than
 * that of its ends, connections and small packets pass, and large messages do not. So each
 * direction has to bring one packet of the size that the two ports agreed on.
 *
 *	receiver                                  sender
 *	first notice, a packet without payload  ->
 *	a full packet                           ->  compares it
 *	compares it                             <-  a full packet
 *	says so, over the connection            ->
 *
 * Both ends know the bytes: they are computed from the number of the writing end's first packet.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "link.h"

/* Completions at the sender, in order. */
enum { NOTICE = 1, FULL_CAME, FULL_WENT };

uint32_t ring_verbs_packet_bytes(const struct ring_verbs_link *link)
{
	const uint8_t own = link->own.end.mtu, other = link->other.end.mtu;
	return UINT32_C(128) << (own < other ? own : other);
}

void ring_verbs_packet_fill(unsigned char *packet, uint32_t bytes, const struct ring_verbs_end *from)
{
	for (uint32_t i = 0; i < bytes; i++)
		packet[i] = (unsigned char)((from->psn ^ i * UINT32_C(2654435761)) >> 13);
}

static bool post_full_packet(struct ring_verbs_link *link)
{
	struct ibv_sge piece = {.addr = (uintptr_t)link->trial.packet,
				.length = ring_verbs_packet_bytes(link),
				.lkey = link->slots.mr->lkey};
	struct ibv_send_wr request = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.sg_list = &piece,
		.num_sge = 1,
		.wr.rdma = {.remote_addr = link->other.trial, .rkey = link->other.rkey},
	};
	struct ibv_send_wr *bad;
	ring_verbs_packet_fill(link->trial.packet, piece.length, &link->own.end);
	link->trial.posted_ms = ring_clock_ms();
	return ibv_post_send(link->queue.qp, &request, &bad) == 0;
}

static int compare(struct ring_verbs_link *link)
{
	unsigned char due[RING_VERBS_PACKET];
	const uint32_t bytes = ring_verbs_packet_bytes(link);
	ring_verbs_packet_fill(due, bytes, &link->other.end);
	return memcmp(link->trial.packet, due, bytes) == 0
		       ? 0
		       : ring_verbs_lose(link, "a packet of %" PRIu32 " bytes came with other bytes",
					 bytes);
}

static int take(struct ring_verbs_link *link, const struct ibv_wc *completion)
{
	const bool went = link->base.outgoing && link->trial.taken + 1 == FULL_WENT;
	if (completion->status != IBV_WC_SUCCESS)
		return ring_verbs_fail(link, completion);
	if (went != !(completion->opcode & IBV_WC_RECV))
		return ring_verbs_lose(link, "what came for its trial is nonsense");
	/* The full packet's notice tells nothing new. */
	return link->base.outgoing && !went
		       ? ring_verbs_take_notice(ring_verbs_sender(&link->base), completion)
		       : 0;
}

/* Takes completions in until there were `count`. returns 0; RING_EAGAIN; RING_EPEER */
static int take_until(struct ring_verbs_link *link, unsigned count)
{
	struct pollfd end = {.fd = link->fd, .events = POLLRDHUP};
	struct ibv_wc completion;
	while (link->trial.taken < count) {
		int found = ibv_poll_cq(link->queue.cq, 1, &completion);
		if (found < 0)
			return ring_verbs_lose(link, "its completions cannot be read");
		if (found == 0)
			return poll(&end, 1, 0) > 0
				       ? ring_verbs_refuse(link, "the other end closed, "
								 "or heard nothing")
				       : RING_EAGAIN;
		int err = take(link, &completion);
		if (err)
			return err;
		link->trial.taken++;
	}
	return 0;
}

/*
 * Some devices try for ever to send what their system does not let out. returns RING_EAGAIN;
 * RING_EPEER
 */
static int await_acknowledgement(struct ring_verbs_link *link)
{
	const struct ibv_wc unanswered = {.status = IBV_WC_RETRY_EXC_ERR};
	return ring_clock_ms() < link->trial.posted_ms + (uint64_t)link->peer_lost_ms
		       ? RING_EAGAIN
		       : ring_verbs_fail(link, &unanswered);
}

static int send_trial(struct ring_verbs_link *link)
{
	const bool posted = link->trial.taken >= FULL_CAME;
	int err = take_until(link, FULL_CAME);
	if (!err && !posted)
		err = compare(link);
	if (!err && !posted && !post_full_packet(link))
		err = ring_verbs_refuse(link, "a full packet cannot be posted");
	if (err)
		return err;
	err = take_until(link, FULL_WENT);
	return err == RING_EAGAIN ? await_acknowledgement(link) : err;
}

/* Its one receive is the other end's full packet. */
static int receive_trial(struct ring_verbs_receiver *receiver)
{
	struct ring_verbs_link *link = &receiver->link;
	int err = ring_verbs_poll_notices(receiver);
	if (!err)
		err = take_until(link, 1);
	if (receiver->under_way > 0 && (!err || err == RING_EAGAIN))
		return await_acknowledgement(link);
	if (!err && !ring_verbs_post_receives(link, 1))
		err = ring_verbs_refuse(link, "no receive can be posted");
	return err ? err : compare(link);
}

int ring_verbs_trial_begin(struct ring_verbs_link *link)
{
	struct ring_verbs_receiver *receiver = ring_verbs_receiver(&link->base);
	if (link->base.outgoing)
		return 0;
	if (!ring_verbs_post_notice(receiver) || !post_full_packet(link))
		return ring_verbs_refuse(link, "the first notice cannot be posted");
	receiver->under_way++;
	return 0;
}

int ring_verbs_trial_step(struct ring_verbs_link *link)
{
	return link->base.outgoing ? send_trial(link)
				   : receive_trial(ring_verbs_receiver(&link->base));
}
