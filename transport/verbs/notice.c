/* SPDX-License-Identifier: MIT */
/*
 * What a receiver tells its sender: which slots are free again, and where messages land.
 *
 * Landing saves the receiver a copy and costs it a notice, so only large messages do. A sender that
 * waited to be told would lose a round trip to the receiver in each call. It therefore sends the
 * first large message to its slot, and waits with the next ones only while that is not given back:
 * no plan needs more than one slot of a link, so this holds up none. It waits only if messages have
 * landed of late, and not if it was told that the next one does not.
 *
 * A small call needs no slot soon, so one notice gives several back: half of all, or those before
 * one that is held.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "link.h"

/* The immediate: lower bits of both counts, and whether messages land. */
#define COUNT_BITS 15
#define COUNT_MASK ((UINT32_C(1) << COUNT_BITS) - 1)
#define LANDS_BIT (UINT32_C(1) << (2 * COUNT_BITS))

#define LANDS_FOR 64 /* large messages without a landing, and the sender waits no more */

/* ---- the receiver ---- */

static struct ring_verbs_landing *landing_at(const struct ring_verbs_link *link, uint64_t number)
{
	return &link->landings[number % link->base.depth];
}

static bool has_landing(const struct ring_verbs_link *link, uint64_t number)
{
	const struct ring_verbs_landing *landing = landing_at(link, number);
	return landing->number == number && landing->bytes > 0;
}

/* Whether all landings fit a request; else nothing lands. */
static bool fits_request(const struct ring_verbs_link *link)
{
	return link->inline_bytes >= link->base.depth * sizeof(*link->landings);
}

void ring_verbs_expect(struct ring_link *base, size_t bytes, void *memory)
{
	struct ring_verbs_link *link = (struct ring_verbs_link *)base;
	struct ring_verbs_keys keys;
	const uint64_t number = link->expected++;
	*landing_at(link, number) = (struct ring_verbs_landing){.number = number};
	if (bytes < RING_VERBS_LANDS || number < base->arrived)
		return;
	if (memory && fits_request(link) &&
	    ring_verbs_memory_find(link->port, memory, bytes, &keys) && keys.may_land) {
		*landing_at(link, number) = (struct ring_verbs_landing){number, (uintptr_t)memory,
									keys.rkey, (uint32_t)bytes};
		link->lands = true;
		link->since = 0;
	} else if (link->lands) {
		link->lands = ++link->since < LANDS_FOR;
	} else {
		return;
	}
	link->news = true;
}

const void *ring_verbs_landed(const struct ring_verbs_link *link, size_t bytes)
{
	const uint64_t next = link->base.arrived;
	const struct ring_verbs_landing *landing = landing_at(link, next);
	if (next >= link->told.expected || !has_landing(link, next) || landing->bytes != bytes)
		return NULL;
	return (const void *)(uintptr_t)landing->address;
}

bool ring_verbs_post_notice(struct ring_verbs_link *link)
{
	struct ibv_sge landings = {.addr = (uintptr_t)link->landings,
				   .length = link->base.depth * sizeof(*link->landings)};
	const uint64_t released = link->base.released, expected = link->expected;
	bool any = false;
	for (uint64_t k = link->told.expected; k < expected; k++)
		any = any || has_landing(link, k);
	struct ibv_send_wr request = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = any ? IBV_SEND_INLINE : 0,
		.sg_list = &landings,
		.num_sge = any,
		.imm_data = htonl((link->lands ? LANDS_BIT : 0) |
				  ((uint32_t)expected & COUNT_MASK) << COUNT_BITS |
				  ((uint32_t)released & COUNT_MASK)),
		.wr.rdma = {.remote_addr = link->other.address, .rkey = link->other.rkey},
	};
	struct ibv_send_wr *bad;
	if (link->under_way == ring_verbs_requests(&link->base) ||
	    ibv_post_send(link->qp, &request, &bad))
		return false;
	link->under_way++;
	link->told = (struct ring_verbs_told){released, expected};
	link->news = false;
	return true;
}

/* Behind a release the next poll may have more to tell, if there will be one in this call. */
static bool is_due(const struct ring_verbs_link *link, bool released)
{
	const struct ring_link *base = &link->base;
	const uint64_t told = link->told.released;
	if (link->lands && link->large > told)
		return !released || base->released == link->expected;
	return (link->news && !released) ||
	       (told < base->released &&
		(base->released < base->arrived || base->released - told >= (base->depth + 1) / 2));
}

void ring_verbs_tell(struct ring_verbs_link *link, bool released)
{
	if (!link->lost && is_due(link, released) && !ring_verbs_post_notice(link) &&
	    ring_verbs_poll_notices(link) == 0)
		(void)ring_verbs_post_notice(link); /* else a later poll does */
}

/*
 * What other ends may still write to is the user's again: the call has failed. The queue pair stops
 * at once, and this communicator makes no further call.
 */
void ring_verbs_withdraw(struct ring_link *base)
{
	struct ring_verbs_link *link = (struct ring_verbs_link *)base;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	bool any = false;
	for (uint64_t k = base->arrived; k < link->expected; k++)
		any = any || has_landing(link, k);
	if (!any)
		return;
	(void)link->port->library->modify_qp(link->qp, &attr, IBV_QP_STATE);
	link->lost = true;
}

/* ---- the sender ---- */

/* How much further a count is than was known, by its lower bits. */
static uint64_t growth(uint32_t bits, uint64_t known)
{
	return (bits - (uint32_t)known) & COUNT_MASK;
}

int ring_verbs_take_notice(struct ring_verbs_link *link, const struct ibv_wc *completion)
{
	const uint32_t said = ntohl(completion->imm_data);
	const uint64_t freed = link->freed + growth(said, link->freed);
	const uint64_t expected = link->expected + growth(said >> COUNT_BITS, link->expected);
	if (completion->opcode != IBV_WC_RECV_RDMA_WITH_IMM || freed > link->posted ||
	    expected > freed + link->base.depth)
		return ring_verbs_lose(link, "the receiver's notice is nonsense");
	link->freed = freed;
	link->expected = expected;
	link->lands = said & LANDS_BIT;
	link->greeted = true;
	return ring_verbs_post_receives(link, 1)
		       ? 0
		       : ring_verbs_lose(link, "no receive can be posted");
}

int ring_verbs_find_landing(struct ring_verbs_link *link, size_t bytes,
			    struct ring_verbs_landing *landing)
{
	const uint64_t number = link->posted;
	const bool told = number < link->expected;
	*landing = told ? *landing_at(link, number) : (struct ring_verbs_landing){0};
	link->held_back = link->lands && !told && bytes >= RING_VERBS_LANDS &&
			  link->large > link->freed;
	if (link->held_back)
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
