/* SPDX-License-Identifier: MIT */
/* Messages over a queue pair; see link.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "base/waits.h"
#include "link.h"

#define COMPLETIONS 8 /* taken at once */

/* The immediate of a message: its number's lower bits, and whether it came to its landing. */
#define LANDED_BIT (UINT32_C(1) << 31)
#define NUMBER_MASK (LANDED_BIT - 1)

/* An idle look is a load or two, so it cannot see that the other process died; see fifo_link.c. */

/* ---- posting ---- */

bool ring_verbs_post_receives(struct ring_verbs_link *link, unsigned count)
{
	struct ibv_recv_wr request = {0}, *bad;
	bool posted = true;
	for (unsigned i = 0; i < count && posted; i++)
		posted = ibv_post_recv(link->qp, &request, &bad) == 0;
	return posted;
}

/*
 * What a message is sent from: short ones go within the request, those from registered memory from
 * where they lie, others by way of an own slot, which is registered.
 */
static struct ibv_sge choose_piece(struct ring_verbs_link *link, const void *source, size_t bytes)
{
	struct ibv_sge piece = {.addr = (uintptr_t)source, .length = (uint32_t)bytes};
	struct ring_verbs_keys keys = {0};
	if (bytes <= link->inline_bytes || ring_verbs_memory_find(link->port, source, bytes, &keys)) {
		piece.lkey = keys.lkey;
		return piece;
	}
	unsigned char *slot = link->slots + link->posted % link->base.depth * link->stride;
	memcpy(slot, source, bytes);
	link->copied += bytes;
	piece.addr = (uintptr_t)slot;
	piece.lkey = link->mr->lkey;
	return piece;
}

int ring_verbs_send(struct ring_link *base, const void *source, size_t bytes)
{
	struct ring_verbs_link *link = (struct ring_verbs_link *)base;
	if (link->lost)
		return RING_EPEER;
	if (link->posted - base->sent == base->depth || link->posted - link->freed == base->depth)
		return RING_EAGAIN;
	struct ring_verbs_landing landing;
	int err = ring_verbs_find_landing(link, bytes, &landing);
	if (err)
		return err;
	struct ibv_sge piece = choose_piece(link, source, bytes);
	struct ibv_send_wr request = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = bytes <= link->inline_bytes ? IBV_SEND_INLINE : 0,
		.sg_list = &piece,
		.num_sge = 1,
		.imm_data = htonl((uint32_t)link->posted & NUMBER_MASK),
		.wr.rdma = {.remote_addr = link->other.address +
					   link->posted % base->depth * link->stride,
			    .rkey = link->other.rkey},
	};
	if (landing.bytes > 0) {
		request.imm_data |= htonl(LANDED_BIT);
		request.wr.rdma.remote_addr = landing.address;
		request.wr.rdma.rkey = landing.rkey;
		link->landed += bytes;
	}
	struct ibv_send_wr *bad;
	int cause = ibv_post_send(link->qp, &request, &bad);
	if (cause)
		return ring_verbs_lose(link, "a message cannot be posted: %s", strerror(cause));
	link->posted++;
	if (bytes >= RING_VERBS_LANDS)
		link->large = link->posted;
	return 0;
}

void ring_verbs_release(struct ring_link *base)
{
	struct ring_verbs_link *link = (struct ring_verbs_link *)base;
	const size_t bytes = ring_link_arrival(base, base->released++)->bytes;
	if (bytes >= RING_VERBS_LANDS)
		link->large = base->released;
	ring_verbs_tell(link, true);
}

/* ---- completions ---- */

/* Receiver: the next message is in its slot, or where it was announced to land. */
static int take_message(struct ring_verbs_link *link, const struct ibv_wc *completion)
{
	struct ring_link *base = &link->base;
	const uint32_t said = ntohl(completion->imm_data), number = said & NUMBER_MASK;
	const uint32_t due = (uint32_t)base->arrived & NUMBER_MASK;
	if (completion->opcode != IBV_WC_RECV_RDMA_WITH_IMM || number != due ||
	    base->arrived - base->released == base->depth || completion->byte_len == 0 ||
	    completion->byte_len > base->slot_bytes)
		return ring_verbs_lose(link,
				       "message %" PRIu32 " of %" PRIu32 " bytes where %" PRIu32
				       " of at most %zu was due",
				       number, completion->byte_len, due, base->slot_bytes);
	const void *place = said & LANDED_BIT
				    ? ring_verbs_landed(link, completion->byte_len)
				    : link->slots + base->arrived % base->depth * link->stride;
	if (!place)
		return ring_verbs_lose(link,
				       "message %" PRIu32 " of %" PRIu32
				       " bytes landed, and was not to",
				       number, completion->byte_len);
	*ring_link_arrival(base, base->arrived++) = (struct ring_arrival){place,
									  completion->byte_len};
	return ring_verbs_post_receives(link, 1)
		       ? 0
		       : ring_verbs_lose(link, "no receive can be posted");
}

static int take(struct ring_verbs_link *link, const struct ibv_wc *completion)
{
	if (!link->base.outgoing)
		return take_message(link, completion);
	if (completion->opcode & IBV_WC_RECV)
		return ring_verbs_take_notice(link, completion);
	link->base.sent++;
	return 0;
}

/* The request that failed first tells why; those behind it were only flushed. */
static int fail(struct ring_verbs_link *link, const struct ibv_wc *completion)
{
	struct ibv_wc cause = *completion, next;
	struct ibv_cq *requests = link->notice_cq ? link->notice_cq : link->cq;
	while (cause.status == IBV_WC_WR_FLUSH_ERR && ibv_poll_cq(requests, 1, &next) > 0)
		if (next.status != IBV_WC_SUCCESS)
			cause = next;
	return ring_verbs_fail(link, &cause);
}

int ring_verbs_poll_notices(struct ring_verbs_link *link)
{
	struct ibv_wc completions[COMPLETIONS];
	int count;
	while ((count = ibv_poll_cq(link->notice_cq, COMPLETIONS, completions)) > 0) {
		link->under_way -= (unsigned)count;
		for (int i = 0; i < count; i++) {
			if (completions[i].status != IBV_WC_SUCCESS)
				return fail(link, &completions[i]);
			link->greeted = true;
		}
	}
	return count < 0 ? ring_verbs_lose(link, "its completions cannot be read") : 0;
}

/*
 * Only here are events taken out: whatever a look found since, the channel stays readable, so that
 * nobody falls asleep behind it who counts otherwise than this link does.
 */
void ring_verbs_arm(struct ring_link *base)
{
	struct ring_verbs_link *link = (struct ring_verbs_link *)base;
	const struct ring_verbs_library *library = link->port->library;
	struct ibv_cq *cq;
	void *context;
	if (!base->outgoing)
		ring_verbs_tell(link, false);
	if (link->lost || !ring_verbs_waits(link))
		return;
	while (library->get_cq_event(link->channel, &cq, &context) == 0) {
		library->ack_cq_events(cq, 1);
		link->armed = false;
	}
	if (!link->armed || link->stirred)
		link->armed = ibv_req_notify_cq(link->cq, 0) == 0;
	link->stirred = false;
	link->checks = true;
}

/* returns the completions that were taken in; RING_EPEER */
static int look(struct ring_verbs_link *link)
{
	struct ibv_wc completions[COMPLETIONS];
	int taken = 0, count;
	do {
		count = ibv_poll_cq(link->cq, COMPLETIONS, completions);
		if (count < 0)
			return ring_verbs_lose(link, "its completions cannot be read");
		for (int i = 0; i < count; i++) {
			int err = completions[i].status == IBV_WC_SUCCESS
					  ? take(link, &completions[i])
					  : fail(link, &completions[i]);
			if (err)
				return err;
		}
		taken += count;
	} while (count == COMPLETIONS);
	link->stirred = link->stirred || taken > 0;
	return taken;
}

/* ---- the other end ---- */

/*
 * Why the connection ended; and where it did in order, the last word. The receiver's device may
 * have been gone before it acknowledged what had arrived: then this counts, if it can be believed.
 */
static void hear_last_word(struct ring_verbs_link *link)
{
	struct ring_link *base = &link->base;
	uint64_t arrived;
	ssize_t got = recv(link->fd, &arrived, sizeof(arrived), MSG_DONTWAIT);
	if (got < 0 && errno != EAGAIN)
		base->cause = errno;
	if (base->outgoing && got == (ssize_t)sizeof(arrived) && arrived > base->sent &&
	    arrived <= link->posted)
		base->sent = arrived;
}

/* After a look that found nothing: is there still somebody? The next look fails if there is not. */
static int check_other_end(struct ring_verbs_link *link)
{
	if (link->ended) {
		link->lost = true;
		hear_last_word(link);
		return 0;
	}
	if (!link->checks && ++link->idle % RING_END_LOOKS != 0)
		return 0;
	struct pollfd end = {.fd = link->fd, .events = POLLRDHUP};
	link->checks = false;
	link->ended = poll(&end, 1, 0) > 0;
	return 0;
}

/* Whoever still works on what arrived may finish that first. */
static int end_of(const struct ring_verbs_link *link)
{
	return link->base.outgoing || link->base.released == link->base.arrived ? RING_EPEER : 0;
}

int ring_verbs_poll(struct ring_link *base)
{
	struct ring_verbs_link *link = (struct ring_verbs_link *)base;
	const uint64_t before = base->sent;
	if (link->lost)
		return end_of(link);
	if (!base->outgoing)
		ring_verbs_tell(link, false);
	int taken = look(link);
	if (taken < 0)
		hear_last_word(link);
	if (taken == 0 && !link->lost)
		return check_other_end(link);
	return link->lost && base->sent == before ? end_of(link) : 0;
}
