/* SPDX-License-Identifier: MIT */
/*
 * What a channel holds: its device's queue and scratch, and its links, which carry that device's
 * memory. If it is apart, outgoing links are wrapped (staging.h) and the slots of incoming ones are
 * pinned, or have room beside them that jobs reach.
 */
#include "channel.h"

#include <assert.h>
#include <stdlib.h>

#include "channel_parts.h"

/* ---- the device ------------------------------------------------------------------------------ */

static int take_device(struct ring_channel *channel, const struct ring_device *device, int chip)
{
	channel->device = device;
	int err = device->queue_open(chip, &channel->queue);
	if (err || !device->apart)
		return err;
	assert(!channel->fitted); /* one such device for a channel */
	channel->fitted = device;
	return ring_staging_open(&channel->staging, device, chip);
}

static int take_scratch(struct ring_channel *channel, int chip, size_t bytes)
{
	void *memory = NULL;
	int err = bytes > 0 ? channel->device->alloc(chip, bytes, &memory) : 0;
	channel->scratch = err ? NULL : memory;
	return err;
}

static void leave_devices(struct ring_channel *channel)
{
	if (channel->queue)
		channel->device->queue_close(channel->queue);
	if (channel->other.queue)
		channel->other.device->queue_close(channel->other.queue);
	channel->queue = channel->other.queue = NULL;
	ring_staging_close(&channel->staging);
}

int ring_channel_open(struct ring_channel *channel, int self, const struct ring_device *device,
		      int chip, size_t scratch_bytes)
{
	*channel = (struct ring_channel){.self = self, .device = device};
	channel->routes = channel->ring_routes;
	channel->own = calloc(1, sizeof(*channel->own));
	if (!channel->own)
		return RING_ENOMEM;
	channel->call.known = channel->own;
	channel->call.plan = &channel->own->plan;
	int err = take_device(channel, device, chip);
	return err ? err : take_scratch(channel, chip, scratch_bytes);
}

int ring_channel_ask(struct ring_channel *channel, const struct ring_bell *bell)
{
	struct ring_staging *staging = &channel->staging;
	int err = 0;
	if (channel->call.reduced < channel->call.started)
		err = ring_waker_ask(&channel->waker, channel->device, channel->queue, bell);
	if (!err && staging->queue && ring_staging_settled(staging) == RING_EAGAIN)
		err = ring_waker_ask(&staging->waker, staging->device, staging->queue, bell);
	return err;
}

int ring_channel_settled(const struct ring_channel *channel)
{
	uint64_t pending;
	if (!channel->queue)
		return 0;
	int err = ring_channel_pending(channel, &pending);
	if (!err && pending > 0)
		return RING_EAGAIN;
	return err || !channel->staging.queue ? err : ring_staging_settled(&channel->staging);
}

/* ---- links ----------------------------------------------------------------------------------- */

int ring_channel_reserve(struct ring_channel *channel, int size)
{
	if (channel->reserved)
		return 0;
	struct ring_route *routes = calloc((size_t)size, sizeof(*routes));
	if (!routes)
		return RING_ENOMEM;
	for (int rank = 0; rank < size; rank++)
		routes[rank].peer = rank;
	for (int i = 0; i < channel->route_count; i++)
		routes[channel->routes[i].peer] = channel->routes[i];
	channel->routes = routes;
	channel->route_count = size;
	channel->reserved = true;
	return 0;
}

static struct ring_link **end_of(struct ring_route *route, bool outgoing)
{
	return outgoing ? &route->out : &route->in;
}

static size_t rooms_bytes(const struct ring_link *in)
{
	return in->depth * in->slot_bytes;
}

static int make_rooms(const struct ring_device *device, struct ring_route *route)
{
	void *rooms;
	int err = ring_rooms_make(device, rooms_bytes(route->in), &rooms);
	if (!err)
		route->rooms = rooms;
	return err;
}

/* Lets jobs reach what arrives. */
static int open_slots(const struct ring_device *device, struct ring_route *route)
{
	void *slots;
	if (!device->pin)
		return 0;
	size_t bytes = ring_link_slots(route->in, &slots);
	int err = bytes > 0 ? device->pin(slots, bytes) : RING_ENOTSUP;
	if (err == RING_ENOTSUP)
		return make_rooms(device, route);
	route->pinned = !err;
	return err;
}

static void close_slots(const struct ring_device *device, struct ring_route *route)
{
	void *slots;
	size_t bytes = route->pinned ? ring_link_slots(route->in, &slots) : 0;
	if (bytes > 0)
		device->unpin(slots, bytes);
	if (route->rooms)
		ring_rooms_free(device, route->rooms);
	route->pinned = false;
	route->rooms = NULL;
}

/* Fits a link to memory apart from the host, if the channel serves any. */
static int fit(struct ring_channel *channel, struct ring_route *route, bool outgoing)
{
	struct ring_link **link = end_of(route, outgoing);
	if (!*link || !channel->fitted)
		return 0;
	return outgoing ? ring_staging_wrap(&channel->staging, *link, link)
			: open_slots(channel->fitted, route);
}

int ring_channel_add_link(struct ring_channel *channel, struct ring_link *link)
{
	struct ring_route *route = ring_channel_route(channel, link->peer);
	if (!route) {
		assert(channel->route_count < RING_RING_ROUTES);
		route = &channel->routes[channel->route_count++];
		*route = (struct ring_route){.peer = link->peer};
	}
	*end_of(route, link->outgoing) = link;
	const struct ring_bell *bell = ring_link_bell(link);
	if (bell && link->outgoing)
		route->bell = bell;
	else if (bell)
		route->board = ring_bell_board(bell);
	channel->announces = channel->announces || link->transport->expect;
	return fit(channel, route, link->outgoing);
}

int ring_channel_add_reverse(struct ring_channel *channel, int peer, bool outgoing)
{
	struct ring_link *back;
	int err = ring_link_reverse(ring_channel_link(channel, peer, outgoing), &back);
	return err ? err : ring_channel_add_link(channel, back);
}

struct ring_link *ring_channel_link(const struct ring_channel *channel, int peer, bool outgoing)
{
	const struct ring_route *route = ring_channel_route(channel, peer);
	if (!route)
		return NULL;
	return outgoing ? route->out : route->in;
}

/* ---- from one device to another -------------------------------------------------------------- */

static int fit_all(struct ring_channel *channel)
{
	int err = 0;
	for (int i = 0; i < channel->route_count && !err; i++) {
		err = fit(channel, &channel->routes[i], true);
		if (!err)
			err = fit(channel, &channel->routes[i], false);
	}
	return err;
}

int ring_channel_serve(struct ring_channel *channel, const struct ring_device *device, int chip,
		       size_t scratch_bytes)
{
	if (channel->device == device)
		return 0;
	struct ring_left next = channel->other;
	assert(!next.device || next.device == device);
	channel->other = (struct ring_left){.device = channel->device,
					    .queue = channel->queue,
					    .jobs = channel->jobs,
					    .scratch = channel->scratch};
	channel->queue = NULL;
	channel->jobs = next.jobs;
	channel->scratch = next.scratch;
	if (!next.device) {
		int err = take_device(channel, device, chip);
		if (!err)
			err = take_scratch(channel, chip, scratch_bytes);
		return err || !device->apart ? err : fit_all(channel);
	}
	channel->device = device;
	channel->queue = next.queue;
	return 0;
}

/* ---- in the end ------------------------------------------------------------------------------ */

size_t ring_channel_memory(const struct ring_channel *channel)
{
	size_t bytes = channel->scratch_used + sizeof(*channel->own);
	if (channel->reserved)
		bytes += (size_t)channel->route_count * sizeof(*channel->routes);
	for (int i = 0; i < channel->route_count; i++) {
		const struct ring_route *route = &channel->routes[i];
		bytes += route->out ? route->out->memory_bytes : 0;
		bytes += route->in ? route->in->memory_bytes : 0;
		bytes += route->rooms ? rooms_bytes(route->in) : 0;
	}
	return bytes;
}

void ring_channel_close(struct ring_channel *channel)
{
	leave_devices(channel);
	if (channel->scratch)
		channel->device->free(channel->scratch);
	if (channel->other.scratch)
		channel->other.device->free(channel->other.scratch);
	for (int i = 0; i < channel->route_count; i++) {
		struct ring_route *route = &channel->routes[i];
		close_slots(channel->fitted, route);
		if (route->out)
			ring_link_close(route->out);
		if (route->in)
			ring_link_close(route->in);
	}
	if (channel->reserved)
		free(channel->routes);
	free(channel->own);
	*channel = (struct ring_channel){0};
}
