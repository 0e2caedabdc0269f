/* SPDX-License-Identifier: MIT */
/*
 * Links between ranks of one process: a slot FIFO in plain memory. The receiver's end registers it
 * under a random token and sends the token over the connection; the sender's end finds it there and
 * sends the token back. This file sets it up and takes it down; moving is fifo_link.c.
 *
 * A rank of this process cannot die alone, but it can close; then the FIFO lives on until both
 * ends have closed.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/fd.h"
#include "fifo_link.h"
#include "base/fork_lock.h"
#include "base/held.h"
#include "base/log.h"
#include "offer.h"
#include "transport/sealed.h"
#include "base/status.h"

/* What the two ends share. */
struct pipe {
	unsigned char token[RING_TOKEN_BYTES];
	struct ring_fifo *fifo;
	struct ring_bell *receiver_bell; /* valid while the pipe is registered */
	struct ring_bell sender_bell;    /* held for the receiver, once the sender came */
	int ends;
	struct pipe *next; /* in the registry */
};

struct loopback_link {
	struct ring_fifo_link fifo;
	struct pipe *pipe; /* sender: NULL until found */
	struct ring_bell *own_bell;
	bool offered, accepted; /* this end, the other end has said its part */
	struct ring_offer offer;
	struct ring_offer_inbox inbox;
};

RING_FORK_LOCK(lock)
static struct pipe *registry; /* pipes without a sender yet; it and every `ends` under lock */

static bool reaches(const struct ring_peer *from, const struct ring_peer *to)
{
	return from->process != 0 && from->process == to->process;
}

static int make_pipe(const struct ring_link_params *params, struct pipe **made)
{
	size_t bytes = ring_sealed_memory(ring_fifo_memory(params->depth, params->slot_bytes));
	struct pipe *pipe = calloc(1, sizeof(*pipe));
	struct ring_fifo *fifo = aligned_alloc(ring_sealed_memory(1), bytes);
	if (!pipe || !fifo) {
		free(pipe);
		free(fifo);
		return RING_ENOMEM;
	}
	if (getrandom(pipe->token, sizeof(pipe->token), 0) != (ssize_t)sizeof(pipe->token)) {
		free(pipe);
		free(fifo);
		return RING_ESYSTEM;
	}
	memset(fifo, 0, sizeof(*fifo));
	fifo->depth = params->depth;
	fifo->slot_bytes = params->slot_bytes;
	pipe->fifo = fifo;
	pipe->receiver_bell = params->bell;
	pipe->sender_bell = (struct ring_bell){.memory_fd = -1, .event_fd = -1};
	pipe->ends = 1;
	*made = pipe;
	return 0;
}

static void register_pipe(struct pipe *pipe)
{
	lock_take();
	pipe->next = registry;
	registry = pipe;
	lock_give();
}

/* Takes pipe out if it is in; with the lock held. */
static void unregister(const struct pipe *pipe)
{
	struct pipe **place = &registry;
	while (*place && *place != pipe)
		place = &(*place)->next;
	if (*place)
		*place = pipe->next;
}

static struct pipe *find(const struct ring_offer *offer)
{
	struct pipe *pipe = registry;
	while (pipe && memcmp(pipe->token, offer->token, sizeof(pipe->token)) != 0)
		pipe = pipe->next;
	bool fits = pipe && pipe->fifo->depth == offer->depth &&
		    pipe->fifo->slot_bytes == offer->slot_bytes;
	return fits ? pipe : NULL;
}

static void drop_pipe(struct pipe *pipe)
{
	lock_take();
	unregister(pipe);
	bool last = --pipe->ends == 0;
	lock_give();
	if (!last)
		return;
	ring_bell_close(&pipe->sender_bell);
	ring_held_end(pipe->fifo, 0, ring_held_free);
	free(pipe);
}

static int open_link(const struct ring_link_params *params, struct ring_link **opened)
{
	if (ring_fifo_memory(params->depth, params->slot_bytes) == 0)
		return RING_EINVAL;
	struct loopback_link *link = calloc(1, sizeof(*link));
	if (!link)
		return RING_ENOMEM;
	ring_fifo_link_init(&link->fifo, &ring_transport_loopback, params, NULL);
	link->fifo.base.memory_bytes = sizeof(*link);
	link->own_bell = params->bell;
	link->offer.depth = params->depth;
	link->offer.slot_bytes = params->slot_bytes;
	if (!params->outgoing) {
		int err = make_pipe(params, &link->pipe);
		if (err) {
			free(link);
			return err;
		}
		memcpy(link->offer.token, link->pipe->token, sizeof(link->offer.token));
		link->fifo.end.fifo = link->pipe->fifo;
		link->fifo.base.memory_bytes += ring_fifo_memory(params->depth, params->slot_bytes);
		register_pipe(link->pipe);
	}
	link->fifo.fd = params->fd;
	*opened = &link->fifo.base;
	return 0;
}

/* Sender: joins the pipe that the receiver's token names and leaves a bell for the receiver. */
static int join_pipe(struct loopback_link *link)
{
	lock_take();
	struct pipe *pipe = find(&link->inbox.offer);
	if (pipe) {
		ring_bell_hold(pipe->receiver_bell, &link->fifo.bell);
		ring_bell_hold(link->own_bell, &pipe->sender_bell);
		unregister(pipe);
		pipe->ends++;
		link->pipe = pipe;
		link->fifo.end.fifo = pipe->fifo;
		memcpy(link->offer.token, pipe->token, sizeof(pipe->token));
	}
	lock_give();
	if (pipe)
		return 0;
	ring_log(RING_WARN, "rank %d -> %d loopback: no such token in this process",
		 link->fifo.base.self, link->fifo.base.peer);
	return RING_EPEER;
}

/* Receiver: the sender answered with the token, so it has left its bell. */
static int take_bell(struct loopback_link *link)
{
	int err = RING_EPEER;
	lock_take();
	struct pipe *pipe = link->pipe;
	bool same = memcmp(pipe->token, link->inbox.offer.token, sizeof(pipe->token)) == 0;
	if (same && pipe->sender_bell.page) {
		link->fifo.bell = pipe->sender_bell;
		pipe->sender_bell = (struct ring_bell){.memory_fd = -1, .event_fd = -1};
		err = 0;
	}
	lock_give();
	return err;
}

static int hear(struct loopback_link *link)
{
	int err = ring_offer_receive(link->fifo.fd, &link->inbox, &link->offer, 0);
	if (err)
		return err;
	err = link->fifo.base.outgoing ? join_pipe(link) : take_bell(link);
	link->accepted = !err;
	return err;
}

static int say(struct loopback_link *link)
{
	int err = ring_offer_send(link->fifo.fd, &link->offer, NULL, 0);
	link->offered = !err;
	return err;
}

/* The receiver speaks first, the sender answers. */
static int finish(struct ring_link *base)
{
	struct loopback_link *link = (struct loopback_link *)base;
	int err = 0;
	if (!base->outgoing && !link->offered)
		err = say(link);
	if (!err && !link->accepted)
		err = hear(link);
	if (!err && !link->offered)
		err = say(link);
	return err;
}

/* One address space: the other end's addresses are valid here. */
static int get(struct ring_link *base, uint64_t address, void *local, size_t bytes)
{
	(void)base;
	if (bytes)
		memcpy(local, (const void *)(uintptr_t)address, bytes);
	return 0;
}

static int put(struct ring_link *base, uint64_t address, const void *local, size_t bytes)
{
	(void)base;
	if (bytes)
		memcpy((void *)(uintptr_t)address, local, bytes);
	return 0;
}

static void close_link(struct ring_link *base)
{
	struct loopback_link *link = (struct loopback_link *)base;
	if (!link)
		return;
	ring_fifo_link_hang_up(&link->fifo);
	if (link->pipe)
		drop_pipe(link->pipe);
	ring_offer_discard(&link->inbox);
	ring_fd_close(link->fifo.fd);
	free(link);
}

static const struct ring_reach_ops reach = {RING_REACH_OPS, .get = get, .put = put};

const struct ring_transport ring_transport_loopback = {
	.name = "loopback",
	.lane = RING_LANE_LOCAL,
	.kind = RING_REACH_MEMORY,
	.reaches = reaches,
	.open = open_link,
	.finish = finish,
	.send = ring_fifo_link_send,
	.poll = ring_fifo_link_poll,
	.release = ring_fifo_link_release,
	.wait_fd = ring_fifo_link_wait_fd,
	.bell = ring_fifo_link_bell,
	.slots = ring_fifo_link_slots,
	.reach = &reach,
	.close = close_link,
};
