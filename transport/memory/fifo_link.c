/* SPDX-License-Identifier: MIT */
/* The moving part of loopback and shm: three hot functions over a slot FIFO. */
#include "fifo_link.h"

#include <poll.h>

#include "base/log.h"
#include "base/status.h"
#include "base/waits.h"
#include "transport/sealed.h"

/* Copying more than this takes so long that a sleeper is woken for it alone. */
#define RING_AT_ONCE 4096

/*
 * An idle look is two loads, so it cannot see that the other process died. Every so many of them
 * ask the connection, which the kernel closes with its holder: 1024 looks take some 10 us, a system
 * call 0.3 us. A rank that sleeps hears of deaths from the control lanes instead.
 */

void ring_fifo_link_init(struct ring_fifo_link *link, const struct ring_transport *transport,
			 const struct ring_link_params *params, struct ring_fifo *fifo)
{
	*link = (struct ring_fifo_link){
		.base = {.transport = transport,
			 .outgoing = params->outgoing,
			 .self = params->self,
			 .peer = params->peer,
			 .depth = params->depth,
			 .slot_bytes = params->slot_bytes},
		.end = {.fifo = fifo, .depth = params->depth, .slot_bytes = params->slot_bytes},
		.bell = {.memory_fd = -1, .event_fd = -1},
		.fd = -1};
}

static int lose(struct ring_fifo_link *link, const char *why)
{
	int from = link->base.outgoing ? link->base.self : link->base.peer;
	int to = link->base.outgoing ? link->base.peer : link->base.self;
	ring_log(RING_WARN, "rank %d -> %d %s: %s", from, to, link->base.transport->name, why);
	link->gone = true;
	return RING_EPEER;
}

/* True also while notices of regions wait there to be taken in. */
static bool connection_ended(int fd)
{
	struct pollfd end = {.fd = fd, .events = POLLRDHUP};
	return poll(&end, 1, 0) > 0;
}

/* After a look that found nothing: is the other end still there? */
static int check_other_end(struct ring_fifo_link *link)
{
	if (link->end.closed || link->gone)
		return RING_EPEER;
	/* The next look finds what was put before the end, so only that look fails. */
	if (++link->idle % RING_END_LOOKS == 0 && connection_ended(link->fd))
		link->gone = true;
	return 0;
}

/* Wakes the receiver, if it sleeps, for what was put. */
static void ring(struct ring_fifo_link *link)
{
	link->base.sent = link->end.mine;
	ring_bell_ring(&link->bell);
}

int ring_fifo_link_send(struct ring_link *base, const void *source, size_t bytes)
{
	struct ring_fifo_link *link = (struct ring_fifo_link *)base;
	struct ring_fifo_end *end = &link->end;

	if (!ring_fifo_has_room(end)) {
		int err = ring_fifo_link_poll(base);
		if (err)
			return err;
		if (!ring_fifo_has_room(end))
			return RING_EAGAIN;
	}
	if (end->closed || link->gone)
		return RING_EPEER;
	ring_fill_slot(&link->copies, ring_fifo_place(end, end->mine, bytes), source, bytes);
	ring_fifo_put(end, bytes);
	if (bytes > RING_AT_ONCE)
		ring(link);
	return 0;
}

static int poll_sender(struct ring_fifo_link *link)
{
	if (link->base.sent < link->end.mine) {
		ring(link);
		return 0; /* looking at the receiver's line is dear, and only needed when full */
	}
	uint64_t seen = link->end.theirs;
	if (!ring_fifo_see_head(&link->end))
		return lose(link, "the receiver's counter is nonsense");
	return link->end.theirs != seen && !link->end.closed ? 0 : check_other_end(link);
}

/* Takes in the next message if there is one. returns 1; 0; RING_EPEER */
static int receive(struct ring_fifo_link *link)
{
	struct ring_link *base = &link->base;
	size_t bytes;
	if (base->arrived - base->released == base->depth)
		return 0;
	if (!ring_fifo_see_message(&link->end, &bytes))
		return lose(link, "the sender's flag is nonsense");
	if (bytes == 0)
		return 0;
	const unsigned char *place = ring_fifo_place(&link->end, base->arrived, bytes);
	*ring_link_arrival(base, base->arrived++) = (struct ring_arrival){place, bytes};
	return 1;
}

static int poll_receiver(struct ring_fifo_link *link)
{
	uint64_t before = link->base.arrived;
	int moved;
	while ((moved = receive(link)) > 0)
		;
	if (moved < 0 || link->base.arrived > before || link->base.released < before)
		return moved;
	ring_fifo_see_end(&link->end);
	return check_other_end(link);
}

int ring_fifo_link_poll(struct ring_link *base)
{
	struct ring_fifo_link *link = (struct ring_fifo_link *)base;
	return base->outgoing ? poll_sender(link) : poll_receiver(link);
}

/* A sender that had room sleeps on: it waits for something else. */
void ring_fifo_link_release(struct ring_link *base)
{
	struct ring_fifo_link *link = (struct ring_fifo_link *)base;
	base->released++;
	ring_fifo_release(&link->end);
	if (ring_bell_is_awaited(&link->bell) && ring_fifo_was_full(&link->end))
		ring_bell_ring(&link->bell);
}

/* The bell wakes the link's user; until both ends have each other's, the socket does. */
int ring_fifo_link_wait_fd(const struct ring_link *base, short *events)
{
	const struct ring_fifo_link *link = (const struct ring_fifo_link *)base;
	bool setting_up = !link->bell.page;
	*events = setting_up ? POLLIN : 0;
	return setting_up ? link->fd : -1;
}

const struct ring_bell *ring_fifo_link_bell(const struct ring_link *base)
{
	return &((const struct ring_fifo_link *)base)->bell;
}

size_t ring_fifo_link_slots(const struct ring_link *base, void **memory)
{
	*memory = ((const struct ring_fifo_link *)base)->end.fifo;
	return ring_sealed_memory(ring_fifo_memory(base->depth, base->slot_bytes));
}

int ring_fifo_link_enter(struct ring_link *base)
{
	struct ring_fifo_link *link = (struct ring_fifo_link *)base;
	return ring_gate_enter(&link->end.fifo->gate) ? 0 : RING_EPEER;
}

int ring_fifo_link_leave(struct ring_link *base)
{
	struct ring_gate *gate = &((struct ring_fifo_link *)base)->end.fifo->gate;
	bool revoked = ring_gate_was_revoked(gate);
	ring_gate_leave(gate);
	return revoked ? RING_EPEER : 0;
}

/*
 * The kernel closes a process's descriptors after its memory, so a connection's end is the last
 * write's.
 */
int ring_fifo_link_revoke(struct ring_link *base)
{
	struct ring_fifo_link *link = (struct ring_fifo_link *)base;
	if (ring_gate_revoke(&link->end.fifo->gate) || connection_ended(link->fd))
		return 0;
	return RING_EAGAIN;
}

bool ring_fifo_link_has_ended(const struct ring_fifo_link *link)
{
	return connection_ended(link->fd);
}

void ring_fifo_link_hang_up(struct ring_fifo_link *link)
{
	ring_reach_close(&link->reach);
	if (link->end.fifo)
		ring_fifo_close(&link->end, link->base.outgoing);
	if (link->bell.page)
		ring_bell_ring(&link->bell);
	ring_bell_close(&link->bell);
}
