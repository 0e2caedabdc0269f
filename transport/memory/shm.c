/* SPDX-License-Identifier: MIT */
/*
 * Links between processes of one host and user: a slot FIFO in sealed memory that the receiver
 * makes and passes over the Unix socket, so it is near the receiver and has no name that could be
 * left behind. This file sets it up and takes it down; moving is fifo_link.c.
 *
 * The socket stays open for regions that the sender shares (reach.c). The kernel closes it with its
 * process, which is how poll() sees that the peer died.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "attach.h"
#include "base/fd.h"
#include "fifo_link.h"
#include "base/held.h"
#include "offer.h"
#include "transport/sealed.h"
#include "base/status.h"

struct shm_link {
	struct ring_fifo_link fifo;
	size_t mapped_bytes;
	struct ring_bell *own_bell;
	int memory_fd; /* receiver: until it is passed */
	bool crowded;  /* receiver: the kernel takes no more descriptors for now */
	bool offered;  /* this end has said its part */
	bool accepted; /* the other end has said its own */
	struct ring_offer offer;
	struct ring_offer_inbox inbox;
	struct ring_attach attach;
};

static bool reaches(const struct ring_peer *from, const struct ring_peer *to)
{
	static const unsigned char unknown[sizeof(from->boot_id)];
	return memcmp(from->boot_id, unknown, sizeof(unknown)) != 0 &&
	       memcmp(from->boot_id, to->boot_id, sizeof(unknown)) == 0 && !from->unshared &&
	       !to->unshared && from->netns == to->netns && from->uid == to->uid &&
	       strncmp(from->host, to->host, RING_HOST_NAME) == 0;
}

static int make_fifo(struct shm_link *link)
{
	void *memory;
	int err = ring_sealed_create("ringccl-link", link->mapped_bytes, &link->memory_fd, &memory);
	if (err)
		return err;
	ring_sealed_enter(memory, link->mapped_bytes);
	struct ring_fifo *fifo = memory;
	fifo->depth = link->fifo.base.depth;
	fifo->slot_bytes = link->fifo.base.slot_bytes;
	link->fifo.end.fifo = fifo;
	link->fifo.base.memory_bytes += ring_sealed_memory(link->mapped_bytes);
	return 0;
}

/* The token by which the other end knows this process when it reaches into its memory. */
static int make_token(struct ring_offer *offer)
{
	offer->token_at = (uintptr_t)offer->token;
	ssize_t got = getrandom(offer->token, sizeof(offer->token), 0);
	return got == (ssize_t)sizeof(offer->token) ? 0 : RING_ESYSTEM;
}

static int open_link(const struct ring_link_params *params, struct ring_link **opened)
{
	struct shm_link *link = calloc(1, sizeof(*link));
	if (!link)
		return RING_ENOMEM;
	ring_fifo_link_init(&link->fifo, &ring_transport_shm, params, NULL);
	link->fifo.base.memory_bytes = sizeof(*link);
	link->fifo.reach.maps = true;
	link->mapped_bytes = ring_fifo_memory(params->depth, params->slot_bytes);
	link->own_bell = params->bell;
	link->memory_fd = -1;
	link->offer.depth = params->depth;
	link->offer.slot_bytes = params->slot_bytes;
	int err = link->mapped_bytes ? make_token(&link->offer) : RING_EINVAL;
	if (!err && !params->outgoing)
		err = make_fifo(link);
	if (err) {
		free(link);
		return err;
	}
	link->fifo.fd = params->fd;
	*opened = &link->fifo.base;
	return 0;
}

static int say(struct shm_link *link)
{
	int fds[RING_OFFER_FDS] = {link->own_bell->memory_fd, link->own_bell->event_fd,
				   link->memory_fd};
	int err = ring_offer_send(link->fifo.fd, &link->offer, fds,
				  link->fifo.base.outgoing ? 2 : 3);
	link->crowded = err == RING_EAGAIN;
	if (err)
		return err;
	link->offered = true;
	ring_fd_close(link->memory_fd);
	link->memory_fd = -1;
	return 0;
}

/* Sender: maps the receiver's FIFO, after checking that it is one. */
static int map_fifo(struct shm_link *link, int memory_fd)
{
	void *memory;
	int err = ring_sealed_map(memory_fd, link->mapped_bytes, &memory);
	if (err)
		return err;
	const struct ring_fifo *fifo = memory;
	if (fifo->depth != link->offer.depth || fifo->slot_bytes != link->offer.slot_bytes) {
		munmap(memory, link->mapped_bytes);
		return RING_EPEER;
	}
	ring_sealed_enter(memory, link->mapped_bytes);
	link->fifo.end.fifo = memory;
	return 0;
}

static int hear(struct shm_link *link)
{
	bool outgoing = link->fifo.base.outgoing;
	int *fds = link->inbox.fds;
	int err = ring_offer_receive(link->fifo.fd, &link->inbox, &link->offer, outgoing ? 3 : 2);
	if (err)
		return err;
	if (outgoing) {
		err = map_fifo(link, fds[2]);
		if (err)
			return err;
	}
	err = ring_bell_map(&link->fifo.bell, fds[0], fds[1]);
	if (err)
		return err;
	fds[0] = fds[1] = -1; /* the bell's now */
	ring_offer_discard(&link->inbox);
	ring_attach_init(&link->attach, link->fifo.base.self, link->fifo.base.peer, link->fifo.fd,
			 &link->inbox.offer);
	if (outgoing)
		link->attach.gate = &link->fifo.end.fifo->gate;
	link->accepted = true;
	return 0;
}

/* The receiver speaks first, the sender answers. */
static int finish(struct ring_link *base)
{
	struct shm_link *link = (struct shm_link *)base;
	int err = 0;
	if (!base->outgoing && !link->offered)
		err = say(link);
	if (!err && !link->accepted)
		err = hear(link);
	if (!err && !link->offered)
		err = say(link);
	return err;
}

/* Nobody is woken when the kernel takes descriptors again. */
static int wait_fd(const struct ring_link *base, short *events)
{
	int fd = ring_fifo_link_wait_fd(base, events);
	return ((const struct shm_link *)base)->crowded ? -1 : fd;
}

static int get(struct ring_link *base, uint64_t address, void *local, size_t bytes)
{
	return ring_attach_get(&((struct shm_link *)base)->attach, address, local, bytes);
}

static int put(struct ring_link *base, uint64_t address, const void *local, size_t bytes)
{
	return ring_attach_put(&((struct shm_link *)base)->attach, address, local, bytes);
}

static void close_link(struct ring_link *base)
{
	struct shm_link *link = (struct shm_link *)base;
	if (!link)
		return;
	ring_fifo_link_hang_up(&link->fifo);
	if (link->fifo.end.fifo)
		ring_held_end(link->fifo.end.fifo, link->mapped_bytes, ring_held_unmap);
	ring_offer_discard(&link->inbox);
	ring_fd_close(link->memory_fd);
	ring_fd_close(link->fifo.fd);
	free(link);
}

static const struct ring_reach_ops reach = {RING_REACH_OPS, .get = get, .put = put};

const struct ring_transport ring_transport_shm = {
	.name = "shm",
	.lane = RING_LANE_LOCAL,
	.kind = RING_REACH_MEMORY,
	.reaches = reaches,
	.open = open_link,
	.finish = finish,
	.send = ring_fifo_link_send,
	.poll = ring_fifo_link_poll,
	.release = ring_fifo_link_release,
	.wait_fd = wait_fd,
	.bell = ring_fifo_link_bell,
	.slots = ring_fifo_link_slots,
	.reach = &reach,
	.close = close_link,
};
