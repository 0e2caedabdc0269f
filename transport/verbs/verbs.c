/* SPDX-License-Identifier: MIT */
/*
 * Links over RDMA verbs, for hosts whose network cards move memory themselves: RoCE v2, and
 * InfiniBand, which is untested. This file sets a link up and takes it down: both ends exchange
 * offers over the connection, connect their queue pairs, and try the path once before the link is
 * called usable. Where a network does not let it through, ranks use TCP instead.
 *
 *	offer {queue pair, slots, address}  <->  offer
 *	ready to receive                    <->  ready to receive
 *	the trial, over the queue pairs     <->  the trial (trial.c)
 *	                                    <-   all of it came through
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "transport/outage.h"
#include "base/status.h"
#include "transport/slot_fifo.h"
#include "link.h"

static bool reaches(const struct ring_peer *from, const struct ring_peer *to)
{
	return from->tcp.ss_family != AF_UNIX && to->tcp.ss_family != AF_UNIX;
}

static int open_link(const struct ring_link_params *params, struct ring_link **opened)
{
	if (ring_fifo_memory(params->depth, params->slot_bytes) == 0)
		return RING_EINVAL;
	const size_t bytes = params->outgoing ? sizeof(struct ring_verbs_sender)
					      : sizeof(struct ring_verbs_receiver);
	struct ring_verbs_link *link = calloc(1, bytes);
	if (!link)
		return RING_ENOMEM;
	link->base = (struct ring_link){
		.transport = &ring_transport_verbs,
		.outgoing = params->outgoing,
		.self = params->self,
		.peer = params->peer,
		.depth = params->depth,
		.slot_bytes = params->slot_bytes,
		.memory_bytes = bytes,
	};
	link->fd = params->fd;
	link->peer_lost_ms = params->peer_lost_ms;
	link->queue.epoll = -1;
	ring_outage_bear(link->fd, params->peer_lost_ms);
	*opened = &link->base;
	return 0;
}

/* ---- telling each other ---- */

/* Words before the link is open are few, and always fit into the socket. */
static int say(struct ring_verbs_link *link, const void *words, size_t bytes)
{
	ssize_t sent = send(link->fd, words, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
	return sent == (ssize_t)bytes ? 0 : ring_verbs_refuse(link, "the other end closed");
}

/* returns 0 once `bytes` bytes are there; RING_EAGAIN; RING_EPEER */
static int hear(struct ring_verbs_link *link, void *words, size_t bytes)
{
	while (link->heard < bytes) {
		ssize_t got = recv(link->fd, (char *)words + link->heard, bytes - link->heard,
				   MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return RING_EAGAIN;
		if (got <= 0)
			return ring_verbs_refuse(link,
						 "the other end closed, or could not do its part");
		link->heard += (size_t)got;
	}
	link->heard = 0;
	return 0;
}

/* ---- the stages ---- */

static int make(struct ring_verbs_link *link)
{
	struct sockaddr_storage address = {0};
	socklen_t bytes = sizeof(address);
	char why[RING_ABSENT_TEXT];
	bool known = getsockname(link->fd, (struct sockaddr *)&address, &bytes) == 0;
	int err = ring_verbs_port_hold(known ? &address : NULL, &link->port, why);
	if (err) {
		ring_verbs_refuse(link, why);
		return err;
	}
	err = ring_verbs_queue_make(link);
	return err ? err : say(link, &link->own, sizeof(link->own));
}

static int check_offer(struct ring_verbs_link *link)
{
	const struct ring_verbs_offer *own = &link->own, *other = &link->other;
	const struct ring_verbs_end *end = &other->end;
	if (other->magic != own->magic || other->depth != own->depth ||
	    other->slot_bytes != own->slot_bytes || end->qpn >> 24 || end->psn >> 24 ||
	    end->mtu < IBV_MTU_256 || end->mtu > IBV_MTU_4096)
		return ring_verbs_refuse(link, "the other end's offer is none, or of other sizes");
	if (end->ethernet != own->end.ethernet)
		return ring_verbs_refuse(link, "one end is on InfiniBand, the other on Ethernet "
					       "(RING_VERBS_DEVICE)");
	return 0;
}

static int connect_pair(struct ring_verbs_link *link)
{
	int err = hear(link, &link->other, sizeof(link->other));
	if (!err)
		err = check_offer(link);
	if (!err)
		err = ring_verbs_queue_connect(link);
	return err ? err : say(link, "r", 1);
}

static int begin_trial(struct ring_verbs_link *link)
{
	char ready;
	int err = hear(link, &ready, 1);
	return err ? err : ring_verbs_trial_begin(link);
}

/* The receiver is the last to see all of the trial: the link is usable once it says that. */
static int agree(struct ring_verbs_link *link)
{
	char through;
	return link->base.outgoing ? hear(link, &through, 1) : say(link, "t", 1);
}

static int finish(struct ring_link *base)
{
	static int (*const steps[])(struct ring_verbs_link *) = {
		[RING_VERBS_CLOSED] = make,       [RING_VERBS_OFFERED] = connect_pair,
		[RING_VERBS_READY] = begin_trial, [RING_VERBS_TRIED] = ring_verbs_trial_step,
		[RING_VERBS_AGREED] = agree,
	};
	struct ring_verbs_link *link = (struct ring_verbs_link *)base;
	int err = 0;
	while (!err && link->stage != RING_VERBS_OPEN) {
		err = steps[link->stage](link);
		if (!err)
			link->stage++;
	}
	return err;
}

/* While the trial is under way nothing is readable. */
static int wait_fd(const struct ring_link *base, short *events)
{
	const struct ring_verbs_link *link = (const struct ring_verbs_link *)base;
	bool open = link->stage == RING_VERBS_OPEN;
	bool waits = open ? ring_verbs_waits(base) : link->stage != RING_VERBS_TRIED;
	*events = waits ? POLLIN : 0;
	return !waits ? -1 : open ? link->queue.epoll : link->fd;
}

static size_t slots(const struct ring_link *base, void **memory)
{
	const struct ring_verbs_link *link = (const struct ring_verbs_link *)base;
	*memory = link->slots.start;
	return ring_verbs_slots_bytes(link);
}

/* All that the sender posted is acknowledged, or given up. */
static void close_link(struct ring_link *base)
{
	struct ring_verbs_link *link = (struct ring_verbs_link *)base;
	if (!link)
		return;
	if (!base->outgoing && link->stage == RING_VERBS_OPEN)
		(void)!send(link->fd, &base->arrived, sizeof(base->arrived),
			    MSG_NOSIGNAL | MSG_DONTWAIT);
	ring_verbs_queue_free(link);
	ring_fd_end(link->fd);
	ring_fd_close(link->fd);
	free(link);
}

const struct ring_transport ring_transport_verbs = {
	.name = "verbs",
	.lane = RING_LANE_TCP,
	.kind = RING_REACH_WIRE,
	.present = ring_verbs_present,
	.settings = ring_verbs_settings,
	.reaches = reaches,
	.open = open_link,
	.finish = finish,
	.send = ring_verbs_send,
	.poll = ring_verbs_poll,
	.release = ring_verbs_release,
	.arm = ring_verbs_arm,
	.expect = ring_verbs_expect,
	.withdraw = ring_verbs_withdraw,
	.wait_fd = wait_fd,
	.slots = slots,
	.close = close_link,
};
