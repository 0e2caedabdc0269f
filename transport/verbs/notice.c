/* SPDX-License-Identifier: MIT */
/*
 * Notices: a receiver tells its sender which slots are free again, and where messages land.
 *
 * A landing saves the receiver a copy and costs it a notice, so only large messages have one. A
 * sender that always waited for the notice would lose a round trip in each call. So it sends the
 * first large message to its slot, and delays the next ones only until that slot is given back. No
 * plan needs more than one slot of a link, so this delays none. The sender waits only if messages
 * have landed of late, and not if it was told that the next one has no landing.
 *
 * A small call needs no slot soon, so one notice gives several back: half of all, or those before
 * one that is held.
 */
#include <arpa/inet.h>
#include <inttypes.h>

#include "base/status.h"
#include "link.h"

/* The immediate: the lower bits of both counts, and whether messages land. */
#define COUNT_BITS 15
#define COUNT_MASK ((UINT32_C(1) << COUNT_BITS) - 1)
#define LANDS_BIT (UINT32_C(1) << (2 * COUNT_BITS))

#define LANDS_FOR 64 /* large messages without a landing in a row: then the sender waits no more */

/* ---- the receiver ---- */

static bool has_landing(const struct ring_verbs_receiver *receiver, uint64_t number)
{
	const struct ring_verbs_landing *landing =
		&receiver->landings[number % receiver->link.base.depth];
	return landing->number == number && landing->bytes > 0;
}

/* Whether all landings fit into a request; else nothing lands. */
static bool fits_request(const struct ring_verbs_link *link)
{
	return link->queue.inline_bytes >= link->base.depth * sizeof(struct ring_verbs_landing);
}

void ring_verbs_expect(struct ring_link *base, size_t bytes, void *memory)
{
	struct ring_verbs_receiver *receiver = ring_verbs_receiver(base);
	struct ring_verbs_link *link = &receiver->link;
	struct ring_verbs_keys keys;
	const uint64_t number = receiver->expected++;
	struct ring_verbs_landing *landing = &receiver->landings[number % base->depth];
	*landing = (struct ring_verbs_landing){.number = number};
	if (bytes < RING_VERBS_LANDS || number < base->arrived)
		return;
	if (memory && fits_request(link) &&
	    ring_verbs_memory_find(link->port, memory, bytes, &keys) && keys.may_land) {
		*landing = (struct ring_verbs_landing){number, (uintptr_t)memory, keys.rkey,
						       (uint32_t)bytes};
		receiver->lands = true;
		receiver->landless = 0;
	} else if (receiver->lands) {
		receiver->lands = ++receiver->landless < LANDS_FOR;
	} else {
		return;
	}
	receiver->news = true;
}

const void *ring_verbs_landed(const struct ring_verbs_receiver *receiver, size_t bytes)
{
	const struct ring_link *base = &receiver->link.base;
	const struct ring_verbs_landing *landing = &receiver->landings[base->arrived % base->depth];
	if (base->arrived >= receiver->told.expected || !has_landing(receiver, base->arrived) ||
	    landing->bytes != bytes)
		return NULL;
	return (const void *)(uintptr_t)landing->address;
}

static bool any_has_landing(const struct ring_verbs_receiver *receiver, uint64_t from)
{
	while (from < receiver->expected && !has_landing(receiver, from))
		from++;
	return from < receiver->expected;
}

bool ring_verbs_post_notice(struct ring_verbs_receiver *receiver)
{
	const struct ring_verbs_link *link = &receiver->link;
	struct ibv_sge landings = {.addr = (uintptr_t)receiver->landings,
				   .length = link->base.depth * sizeof(*receiver->landings)};
	const uint64_t released = link->base.released, expected = receiver->expected;
	const bool any = any_has_landing(receiver, receiver->told.expected);
	struct ibv_send_wr request = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = any ? IBV_SEND_INLINE : 0,
		.sg_list = &landings,
		.num_sge = any,
		.imm_data = htonl((receiver->lands ? LANDS_BIT : 0) |
				  ((uint32_t)expected & COUNT_MASK) << COUNT_BITS |
				  ((uint32_t)released & COUNT_MASK)),
		.wr.rdma = {.remote_addr = link->other.address, .rkey = link->other.rkey},
	};
	struct ibv_send_wr *bad;
	if (receiver->under_way == ring_verbs_requests(&link->base) ||
	    ibv_post_send(link->queue.qp, &request, &bad))
		return false;
	receiver->under_way++;
	receiver->told = (struct ring_verbs_told){released, expected};
	receiver->news = false;
	return true;
}

/* After a release a notice may wait for the next poll, which may have more to tell. */
static bool is_due(const struct ring_verbs_receiver *receiver, bool released)
{
	const struct ring_link *base = &receiver->link.base;
	const uint64_t told = receiver->told.released;
	if (receiver->lands && receiver->large > told)
		return !released || base->released == receiver->expected;
	return (receiver->news && !released) ||
	       (told < base->released &&
		(base->released < base->arrived || base->released - told >= (base->depth + 1) / 2));
}

void ring_verbs_tell(struct ring_verbs_receiver *receiver, bool released)
{
	if (!receiver->link.lost && is_due(receiver, released) &&
	    !ring_verbs_post_notice(receiver) && ring_verbs_poll_notices(receiver) == 0)
		(void)ring_verbs_post_notice(receiver); /* else a later poll does */
}

/*
 * The call has failed, so its memory is the user's again, and the sender must not write there. The
 * queue pair stops at once: this communicator makes no further call.
 */
void ring_verbs_withdraw(struct ring_link *base)
{
	struct ring_verbs_link *link = (struct ring_verbs_link *)base;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	if (!any_has_landing(ring_verbs_receiver(base), base->arrived))
		return;
	(void)link->port->library->modify_qp(link->queue.qp, &attr, IBV_QP_STATE);
	link->lost = true;
}

/* ---- the sender ---- */

/* How much a count has grown since it was known, by its lower bits. */
static uint64_t growth(uint32_t bits, uint64_t known)
{
	return (bits - (uint32_t)known) & COUNT_MASK;
}

int ring_verbs_take_notice(struct ring_verbs_sender *sender, const struct ibv_wc *completion)
{
	struct ring_verbs_link *link = &sender->link;
	const uint32_t said = ntohl(completion->imm_data);
	const uint64_t freed = sender->freed + growth(said, sender->freed);
	const uint64_t expected = sender->expected + growth(said >> COUNT_BITS, sender->expected);
	if (completion->opcode != IBV_WC_RECV_RDMA_WITH_IMM || freed > sender->posted ||
	    expected > freed + link->base.depth)
		return ring_verbs_lose(link, "the receiver's notice is nonsense");
	sender->freed = freed;
	sender->expected = expected;
	sender->lands = said & LANDS_BIT;
	link->trial.greeted = true;
	return ring_verbs_post_receives(link, 1)
		       ? 0
		       : ring_verbs_lose(link, "no receive can be posted");
}

int ring_verbs_find_landing(struct ring_verbs_sender *sender, size_t bytes,
			    struct ring_verbs_landing *landing)
{
	struct ring_verbs_link *link = &sender->link;
	const uint64_t number = sender->posted;
	const bool told = number < sender->expected;
	*landing = told ? sender->landings[number % link->base.depth]
			: (struct ring_verbs_landing){0};
	sender->held_back = sender->lands && !told && bytes >= RING_VERBS_LANDS &&
			    sender->large > sender->freed;
	if (sender->held_back)
		return RING_EAGAIN;
	if (landing->number != number || landing->bytes != bytes) {
		landing->bytes = 0;
		return 0;
	}
	if (landing->address == 0 || landing->address + bytes < landing->address)
		return ring_verbs_lose(link, "message %" PRIu64 " cannot land at 0x%" PRIx64,
				       number, landing->address);
	return 0;
}
