/* SPDX-License-Identifier: MIT */
/* What a link has of the device: queues and registered slots. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/held.h"
#include "base/slot_place.h"
#include "base/status.h"
#include "link.h"

static int fail(struct ring_verbs_link *link, int cause, const char *what)
{
	snprintf(link->text, sizeof(link->text), "port %d of %s: %s: %s", link->port->choice.port,
		 link->port->choice.device, what, strerror(cause));
	link->base.why = link->text;
	return cause == ENOMEM ? RING_ENOMEM : RING_ENOTSUP;
}

/* ---- memory ---- */

static int fail_registering(struct ring_verbs_link *link, int cause, size_t bytes)
{
	struct rlimit limit = {0};
	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (cause != ENOMEM || limit.rlim_cur == RLIM_INFINITY)
		return fail(link, cause, "memory cannot be registered");
	snprintf(link->text, sizeof(link->text),
		 "port %d of %s: no %zu KiB more can be registered, as this process may lock "
		 "%llu KiB of memory in all (ulimit -l, RLIMIT_MEMLOCK): it should be unlimited",
		 link->port->choice.port, link->port->choice.device, bytes >> 10,
		 (unsigned long long)limit.rlim_cur >> 10);
	link->base.why = link->text;
	return RING_ENOMEM;
}

/* Slots, then a sender's landings, then room for the trial's packet. */
size_t ring_verbs_slots_bytes(const struct ring_verbs_link *link)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t landing = link->base.outgoing ? sizeof(struct ring_verbs_landing) : 0;
	size_t bytes = link->base.depth * (link->slots.stride + landing) + RING_VERBS_PACKET;
	return (bytes + page - 1) / page * page;
}

/*
 * The memory has pages of its own, so what is registered is never next to what a program frees. A
 * receiver may write to all of it, but spoils only messages to itself.
 */
static int make_slots(struct ring_verbs_link *link)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	link->slots.stride = ring_slot_stride(link->base.slot_bytes);
	size_t bytes = ring_verbs_slots_bytes(link);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return fail(link, errno, "no memory for slots");
	link->slots.start = memory;
	if (link->base.outgoing)
		ring_verbs_sender(&link->base)->landings =
			(void *)(link->slots.start + link->base.depth * link->slots.stride);
	link->trial.packet = link->slots.start + bytes - RING_VERBS_PACKET;
	link->slots.mr = (link->port->library->reg_mr)(link->port->pd, memory, bytes, access);
	if (!link->slots.mr)
		return fail_registering(link, errno, bytes);
	link->base.memory_bytes += bytes;
	return 0;
}

/* ---- queues ---- */

static int make_queues(struct ring_verbs_link *link)
{
	const struct ring_verbs_library *library = link->port->library;
	struct ibv_context *context = link->port->context;
	const int requests = (int)ring_verbs_requests(&link->base);
	const int receives = (int)ring_verbs_receives(&link->base);
	link->queue.channel = library->create_comp_channel(context);
	if (!link->queue.channel)
		return fail(link, errno, "no completion channel");
	ring_fd_adopt(link->queue.channel->fd);
	link->queue.cq = library->create_cq(context, receives + (link->base.outgoing ? requests : 0),
					    NULL, link->queue.channel, 0);
	if (!link->base.outgoing)
		link->queue.notice_cq = library->create_cq(context, requests, NULL, NULL, 0);
	if (!link->queue.cq || (!link->base.outgoing && !link->queue.notice_cq))
		return fail(link, errno, "no completion queue");
	return 0;
}

/* Asks for room for short messages within requests; devices that have none refuse. */
static int make_pair(struct ring_verbs_link *link)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = link->queue.notice_cq ? link->queue.notice_cq : link->queue.cq,
		.recv_cq = link->queue.cq,
		.cap = {.max_send_wr = ring_verbs_requests(&link->base),
			.max_recv_wr = ring_verbs_receives(&link->base),
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = RING_VERBS_INLINE},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_qp_init_attr asked = attr;
	link->queue.qp = link->port->library->create_qp(link->port->pd, &asked);
	if (!link->queue.qp) {
		asked = attr;
		asked.cap.max_inline_data = 0;
		link->queue.qp = link->port->library->create_qp(link->port->pd, &asked);
	}
	if (!link->queue.qp)
		return fail(link, errno, "no queue pair");
	link->queue.inline_bytes = asked.cap.max_inline_data;
	return 0;
}

static int initialise_pair(struct ring_verbs_link *link)
{
	int cause = ring_verbs_pair_initialise(link->port, link->queue.qp, IBV_ACCESS_REMOTE_WRITE);
	if (cause)
		return fail(link, cause, "the queue pair cannot be initialised");
	if (!ring_verbs_post_receives(link, ring_verbs_receives(&link->base)))
		return fail(link, EIO, "no receive can be posted");
	return 0;
}

static int watch(struct ring_verbs_link *link)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP};
	link->queue.epoll = ring_fd_epoll();
	if (link->queue.epoll < 0 || epoll_ctl(link->queue.epoll, EPOLL_CTL_ADD, link->fd, &event) ||
	    epoll_ctl(link->queue.epoll, EPOLL_CTL_ADD, link->queue.channel->fd, &event))
		return fail(link, errno, "its completions cannot be awaited");
	return 0;
}

static void describe(struct ring_verbs_link *link)
{
	const void *written = link->base.outgoing ? (void *)ring_verbs_sender(&link->base)->landings
						  : link->slots.start;
	link->own = (struct ring_verbs_offer){
		.magic = RING_VERBS_MAGIC,
		.depth = link->base.depth,
		.slot_bytes = link->base.slot_bytes,
		.address = (uintptr_t)written,
		.trial = (uintptr_t)link->trial.packet,
		.rkey = link->slots.mr->rkey,
		.end = ring_verbs_pair_end(link->port, link->queue.qp),
	};
}

int ring_verbs_queue_make(struct ring_verbs_link *link)
{
	int err = make_slots(link);
	if (!err)
		err = make_queues(link);
	if (!err)
		err = make_pair(link);
	if (!err)
		err = initialise_pair(link);
	if (!err)
		err = watch(link);
	if (!err)
		describe(link);
	return err;
}

void ring_verbs_queue_free(struct ring_verbs_link *link)
{
	const struct ring_verbs_library *library = link->port ? link->port->library : NULL;
	if (link->queue.qp)
		library->destroy_qp(link->queue.qp);
	if (link->queue.cq)
		library->destroy_cq(link->queue.cq);
	if (link->queue.notice_cq)
		library->destroy_cq(link->queue.notice_cq);
	if (link->queue.channel) {
		ring_fd_release(link->queue.channel->fd);
		library->destroy_comp_channel(link->queue.channel);
	}
	if (link->slots.mr)
		library->dereg_mr(link->slots.mr);
	if (link->slots.start)
		ring_held_end(link->slots.start, ring_verbs_slots_bytes(link), ring_held_unmap);
	ring_fd_close(link->queue.epoll);
	ring_verbs_port_drop(link->port);
}

int ring_verbs_queue_connect(struct ring_verbs_link *link)
{
	const struct ring_verbs_end *own = &link->own.end, *other = &link->other.end;
	int cause = ring_verbs_pair_receive(link->port, link->queue.qp, own, other);
	if (cause)
		return fail(link, cause,
			    "the other end's address cannot be reached from GID (RING_VERBS_GID, "
			    "RING_VERBS_DEVICE)");
	cause = ring_verbs_pair_send(link->port, link->queue.qp, own, link->peer_lost_ms);
	return cause ? fail(link, cause, "the queue pair cannot be made ready to send") : 0;
}
