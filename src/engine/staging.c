/* SPDX-License-Identifier: MIT */
/* Copies on their way from a device to a link; see staging.h. */
#include "staging.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"

/* A message in its room. */
struct staged {
	uint64_t copies; /* how many of the staging's must be done before it is there */
	size_t bytes;
};

struct staged_link {
	struct ring_link base;           /* what the user sees */
	struct ring_transport transport; /* under the inner one's name */
	struct ring_link *inner;
	struct ring_staging *staging;
	const struct ring_device *device;
	char *rooms; /* [depth], a slot each */
	size_t rooms_bytes;
	uint64_t taken, handed; /* messages: from the user, to the inner link */
	struct staged messages[RING_DEPTH_MAX];
};

int ring_staging_open(struct ring_staging *staging, const struct ring_device *device, int chip)
{
	*staging = (struct ring_staging){.device = device};
	return device->queue_open(chip, &staging->queue);
}

int ring_rooms_make(const struct ring_device *device, size_t bytes, void **rooms)
{
	if (device->host_alloc)
		return device->host_alloc(bytes, rooms);
	*rooms = malloc(bytes);
	return *rooms ? 0 : RING_ENOMEM;
}

void ring_rooms_free(const struct ring_device *device, void *rooms)
{
	if (device->host_free)
		device->host_free(rooms);
	else
		free(rooms);
}

void ring_staging_close(struct ring_staging *staging)
{
	if (staging->queue)
		staging->device->queue_close(staging->queue);
	*staging = (struct ring_staging){0};
}

int ring_staging_settled(const struct ring_staging *staging)
{
	uint64_t done;
	int err = staging->device->finished(staging->queue, &done);
	return !err && done < staging->copies ? RING_EAGAIN : err;
}

/* ---- the contract of transport.h ---- */

/* Room for message k; message k - depth was sent. */
static char *room_of(const struct staged_link *link, uint64_t k)
{
	return link->rooms + k % link->base.depth * link->base.slot_bytes;
}

/* Records are the host's. returns 0; the device's error */
static int fill(struct staged_link *link, char *room, const void *source, size_t bytes)
{
	struct ring_staging *staging = link->staging;
	if (!staging->far) {
		memcpy(room, source, bytes);
		return 0;
	}
	int err = staging->device->copy(staging->queue, room, source, bytes, false);
	staging->copies += !err;
	return err;
}

static int send_message(struct ring_link *base, const void *source, size_t bytes)
{
	struct staged_link *link = (struct staged_link *)base;
	if (link->taken - link->inner->sent == base->depth)
		return RING_EAGAIN;
	int err = fill(link, room_of(link, link->taken), source, bytes);
	if (err)
		return err;
	link->messages[link->taken++ % RING_DEPTH_MAX] =
		(struct staged){.copies = link->staging->copies, .bytes = bytes};
	return 0;
}

/* Gives the inner link what is copied, as far as it takes it. */
static int hand_on(struct staged_link *link)
{
	uint64_t done;
	int err = link->device->finished(link->staging->queue, &done);
	while (!err && link->handed < link->taken) {
		const struct staged *next = &link->messages[link->handed % RING_DEPTH_MAX];
		if (next->copies > done)
			break;
		err = ring_link_send(link->inner, room_of(link, link->handed), next->bytes);
		link->handed += !err;
	}
	return err == RING_EAGAIN ? 0 : err;
}

/*
 * Polls before it hands on, so that a rank that comes to rest has used all room there was, and
 * again after new messages, so that they leave at once.
 */
static int poll_link(struct ring_link *base)
{
	struct staged_link *link = (struct staged_link *)base;
	uint64_t before;
	int err;
	do {
		before = link->handed;
		err = ring_link_poll(link->inner);
		if (!err)
			err = hand_on(link);
	} while (!err && link->handed > before);
	base->sent = link->inner->sent;
	base->cause = link->inner->cause;
	base->why = link->inner->why;
	return err;
}

static int wait_fd(const struct ring_link *base, short *events)
{
	return ring_link_wait_fd(((const struct staged_link *)base)->inner, events);
}

static void arm(struct ring_link *base)
{
	ring_link_arm(((struct staged_link *)base)->inner);
}

/* Incoming messages need no staging. */
static int reverse(struct ring_link *base, struct ring_link **back)
{
	return ring_link_reverse(((struct staged_link *)base)->inner, back);
}

static void free_link(struct staged_link *link)
{
	ring_rooms_free(link->device, link->rooms);
	free(link);
}

static void close_link(struct ring_link *base)
{
	struct staged_link *link = (struct staged_link *)base;
	ring_link_close(link->inner);
	free_link(link);
}

/* ---- wrapping ---- */

static const struct ring_transport staged_transport = {
	.send = send_message,
	.poll = poll_link,
	.arm = arm,
	.wait_fd = wait_fd,
	.close = close_link,
};

static int make_rooms(struct staged_link *link)
{
	size_t bytes = link->inner->depth * link->inner->slot_bytes;
	void *rooms;
	int err = ring_rooms_make(link->device, bytes, &rooms);
	if (err)
		return err;
	link->rooms = rooms;
	link->rooms_bytes = bytes;
	return 0;
}

/* As the inner link, but without its peer's doorbell, and nobody reaches through it. */
static void dress(struct staged_link *link)
{
	const struct ring_transport *transport = link->inner->transport;
	link->transport = staged_transport;
	link->transport.name = transport->name;
	link->transport.lane = transport->lane;
	link->transport.kind = transport->kind;
	link->transport.reverse = transport->reverse ? reverse : NULL;
	link->base = *link->inner;
	link->base.transport = &link->transport;
	link->base.memory_bytes += sizeof(*link) + link->rooms_bytes;
	link->taken = link->handed = link->inner->sent;
}

int ring_staging_wrap(struct ring_staging *staging, struct ring_link *inner,
		      struct ring_link **staged)
{
	struct staged_link *link = calloc(1, sizeof(*link));
	if (!link)
		return RING_ENOMEM;
	link->inner = inner;
	link->staging = staging;
	link->device = staging->device;
	int err = make_rooms(link);
	if (err) {
		free(link);
		return err;
	}
	dress(link);
	*staged = &link->base;
	return 0;
}
