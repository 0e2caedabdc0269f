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

/* The immediate of a message: the lower bits of its number, and whether it went to its landing. */
#define LANDED_BIT (UINT32_C(1) << 31)
#define NUMBER_MASK (LANDED_BIT - 1)

/* ---- posting ---- */

bool ring_verbs_post_receives(struct ring_verbs_link *link, unsigned count)
{
	struct ibv_recv_wr request = {0}, *bad;
	bool posted = true;
	for (unsigned i = 0; i < count && posted; i++)
		posted = ibv_post_recv(link->queue.qp, &request, &bad) == 0;
	return posted;
}

/*
 * Where a message is sent from: a short one goes within the request, one in registered memory from
 * there, others from a slot of this end, which is registered.
 */
static struct ibv_sge choose_piece(struct ring_verbs_sender *sender, const void *source,
				   size_t bytes)
{
	const struct ring_verbs_link *link = &sender->link;
	struct ibv_sge piece = {.addr = (uintptr_t)source, .length = (uint32_t)bytes};
	struct ring_verbs_keys keys = {0};
	if (bytes <= link->queue.inline_bytes ||
	    ring_verbs_memory_find(link->port, source, bytes, &keys)) {
		piece.lkey = keys.lkey;
		return piece;
	}
	unsigned char *slot = link->slots.start +
			      sender->posted % link->base.depth * link->slots.stride;
	memcpy(slot, source, bytes);
	sender->copied += bytes;
	piece.addr = (uintptr_t)slot;
	piece.lkey = link->slots.mr->lkey;
	return piece;
}

int ring_verbs_send(struct ring_link *base, const void *source, size_t bytes)
{
	struct ring_verbs_sender *sender = ring_verbs_sender(base);
	struct ring_verbs_link *link = &sender->link;
	if (link->lost)
		return RING_EPEER;
	if (sender->posted - base->sent == base->depth ||
	    sender->posted - sender->freed == base->depth)
		return RING_EAGAIN;
	struct ring_verbs_landing landing;
	int err = ring_verbs_find_landing(sender, bytes, &landing);
	if (err)
		return err;
	struct ibv_sge piece = choose_piece(sender, source, bytes);
	struct ibv_send_wr request = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = bytes <= link->queue.inline_bytes ? IBV_SEND_INLINE : 0,
		.sg_list = &piece,
		.num_sge = 1,
		.imm_data = htonl((uint32_t)sender->posted & NUMBER_MASK),
		.wr.rdma = {.remote_addr = link->other.address +
					   sender->posted % base->depth * link->slots.stride,
			    .rkey = link->other.rkey},
	};
	if (landing.bytes > 0) {
		request.imm_data |= htonl(LANDED_BIT);
		request.wr.rdma.remote_addr = landing.address;
		request.wr.rdma.rkey = landing.rkey;
		sender->landed += bytes;
	}
	struct ibv_send_wr *bad;
	int cause = ibv_post_send(link->queue.qp, &request, &bad);
	if (cause)
		return ring_verbs_lose(link, "a message cannot be posted: %s", strerror(cause));
	sender->posted++;
	if (bytes >= RING_VERBS_LANDS)
		sender->large = sender->posted;
	return 0;
}

void ring_verbs_release(struct ring_link *base)
{
	struct ring_verbs_receiver *receiver = ring_verbs_receiver(base);
	const size_t bytes = ring_link_arrival(base, base->released++)->bytes;
	if (bytes >= RING_VERBS_LANDS)
		receiver->large = base->released;
	ring_verbs_tell(receiver, true);
}

/* ---- completions ---- */

/* The next message is in its slot, or at its landing. */
static int take_message(struct ring_verbs_receiver *receiver, const struct ibv_wc *completion)
{
	struct ring_verbs_link *link = &receiver->link;
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
	const void *place = said & LANDED_BIT ? ring_verbs_landed(receiver, completion->byte_len)
					      : link->slots.start + base->arrived % base->depth *
									    link->slots.stride;
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
		return take_message(ring_verbs_receiver(&link->base), completion);
	if (completion->opcode & IBV_WC_RECV)
		return ring_verbs_take_notice(ring_verbs_sender(&link->base), completion);
	link->base.sent++;
	return 0;
}

/* The request that failed first tells why; later ones were only flushed. */
static int fail(struct ring_verbs_link *link, const struct ibv_wc *completion)
{
	struct ibv_wc cause = *completion, next;
	struct ibv_cq *requests = link->queue.notice_cq ? link->queue.notice_cq : link->queue.cq;
	while (cause.status == IBV_WC_WR_FLUSH_ERR && ibv_poll_cq(requests, 1, &next) > 0)
		if (next.status != IBV_WC_SUCCESS)
			cause = next;
	return ring_verbs_fail(link, &cause);
}

int ring_verbs_poll_notices(struct ring_verbs_receiver *receiver)
{
	struct ring_verbs_link *link = &receiver->link;
	struct ibv_wc completions[COMPLETIONS];
	int count;
	while ((count = ibv_poll_cq(link->queue.notice_cq, COMPLETIONS, completions)) > 0) {
		receiver->under_way -= (unsigned)count;
		for (int i = 0; i < count; i++) {
			if (completions[i].status != IBV_WC_SUCCESS)
				return fail(link, &completions[i]);
			link->trial.greeted = true;
		}
	}
	return count < 0 ? ring_verbs_lose(link, "its completions cannot be read") : 0;
}

bool ring_verbs_waits(const struct ring_link *base)
{
	const struct ring_verbs_sender *sender = (const struct ring_verbs_sender *)base;
	if (!base->outgoing)
		return base->arrived - base->released < base->depth;
	return base->sent < sender->posted || sender->posted - sender->freed == base->depth ||
	       sender->held_back;
}

/*
 * Events are consumed here only. Until then the channel stays readable, so a caller that has not
 * yet looked cannot fall asleep.
 */
void ring_verbs_arm(struct ring_link *base)
{
	struct ring_verbs_link *link = (struct ring_verbs_link *)base;
	const struct ring_verbs_library *library = link->port->library;
	struct ibv_cq *cq;
	void *context;
	if (!base->outgoing)
		ring_verbs_tell(ring_verbs_receiver(base), false);
	if (link->lost || !ring_verbs_waits(base))
		return;
	while (library->get_cq_event(link->queue.channel, &cq, &context) == 0) {
		library->ack_cq_events(cq, 1);
		link->events.armed = false;
	}
	if (!link->events.armed || link->events.stirred)
		link->events.armed = ibv_req_notify_cq(link->queue.cq, 0) == 0;
	link->events.stirred = false;
	link->events.checks = true;
}

/* returns the completions that were taken in; RING_EPEER */
static int look(struct ring_verbs_link *link)
{
	struct ibv_wc completions[COMPLETIONS];
	int taken = 0, count;
	do {
		count = ibv_poll_cq(link->queue.cq, COMPLETIONS, completions);
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
	link->events.stirred = link->events.stirred || taken > 0;
	return taken;
}

/* ---- the other end ---- */

/*
 * Reads why the connection ended and, if it was closed in order, the receiver's last word: how many
 * messages arrived. The receiver's device may have been gone before it acknowledged them; then this
 * number counts, if it is possible.
 */
static void hear_last_word(struct ring_verbs_link *link)
{
	struct ring_link *base = &link->base;
	uint64_t arrived;
	ssize_t got = recv(link->fd, &arrived, sizeof(arrived), MSG_DONTWAIT);
	if (got < 0 && errno != EAGAIN)
		base->cause = errno;
	if (base->outgoing && got == (ssize_t)sizeof(arrived) && arrived > base->sent &&
	    arrived <= ring_verbs_sender(base)->posted)
		base->sent = arrived;
}

/*
 * After a look that found nothing: has the connection ended? Then the next such look fails. A look
 * itself is a load or two, and cannot see that the other process died.
 */
static int check_other_end(struct ring_verbs_link *link)
{
	if (link->events.ended) {
		link->lost = true;
		hear_last_word(link);
		return 0;
	}
	if (!link->events.checks && ++link->events.idle % RING_END_LOOKS != 0)
		return 0;
	struct pollfd end = {.fd = link->fd, .events = POLLRDHUP};
	link->events.checks = false;
	link->events.ended = poll(&end, 1, 0) > 0;
	return 0;
}

/* A user that still works on what arrived may finish that first. */
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
		ring_verbs_tell(ring_verbs_receiver(base), false);
	int taken = look(link);
	if (taken < 0)
		hear_last_word(link);
	if (taken == 0 && !link->lost)
		return check_other_end(link);
	return link->lost && base->sent == before ? end_of(link) : 0;
}
