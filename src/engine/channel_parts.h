/* SPDX-License-Identifier: MIT */
/* Routes, places and boards, for channel.c and the files that work for it. */
#ifndef RING_CHANNEL_PARTS_H
#define RING_CHANNEL_PARTS_H

#include "transport/board.h"
#include "channel.h"
#include "base/clock.h"
#include "reached.h"
#include "trace.h"

/* NULL if no link with peer was ever added. */
static inline struct ring_route *ring_channel_route(const struct ring_channel *channel, int peer)
{
	if (channel->reserved)
		return &channel->routes[peer];
	for (int i = 0; i < channel->route_count; i++)
		if (channel->routes[i].peer == peer)
			return &channel->routes[i];
	return NULL;
}

static inline const struct ring_transfer *ring_channel_outgoing(const struct ring_channel *channel,
								uint64_t i)
{
	return ring_known_plan_outgoing(channel->call.known, i);
}

static inline const struct ring_transfer *ring_channel_incoming(const struct ring_channel *channel,
								uint64_t j)
{
	return ring_known_plan_incoming(channel->call.known, j);
}

/* A buffer may be NULL where the call neither reads nor writes it. */
static inline char *ring_channel_address(const struct ring_channel *channel, struct ring_place place)
{
	char *buffer = channel->call.operands.output;
	if (place.buffer == RING_INPUT)
		buffer = (char *)channel->call.operands.input;
	else if (place.buffer == RING_SCRATCH || place.buffer == RING_SUMMANDS)
		buffer = channel->scratch;
	else if (place.buffer == RING_STAGE)
		buffer = channel->call.reached->stages[channel->self];
	return buffer ? buffer + place.offset : NULL;
}

static inline bool ring_channel_is_on_board(const struct ring_channel *channel,
					    const struct ring_transfer *transfer)
{
	return channel->call.on_boards && transfer->opens;
}

/* An exchange's number on boards, which count those of all calls. */
static inline uint64_t ring_channel_exchange(const struct ring_channel *channel, uint64_t exchange)
{
	return channel->board.exchanges - channel->call.plan->exchanges + exchange + 1;
}

/* What a rank writes on its board. */
static inline size_t ring_channel_sheet_bytes(const struct ring_channel *channel, int rank)
{
	bool says = !channel->call.root_says || rank == channel->call.plan->params.root;
	return says ? channel->call.sheet_bytes : sizeof(struct ring_record);
}

static inline size_t ring_channel_message_bytes(const struct ring_channel *channel,
						const struct ring_transfer *transfer)
{
	if (!transfer->opens)
		return transfer->bytes;
	return transfer->bytes + sizeof(struct ring_record) +
	       (channel->call.tells ? sizeof(struct ring_whereabouts) : 0);
}

/* All jobs go through these two. (brief.c adds up small sums of two ranks without one.) */
static inline int ring_channel_copy(struct ring_channel *channel, void *result, const void *source,
				    size_t bytes, bool past)
{
	int err = channel->device->copy(channel->queue, result, source, bytes, past);
	channel->jobs += !err;
	return err;
}

static inline int ring_channel_reduce(struct ring_channel *channel,
				      const struct ring_reduction *reduction)
{
	int err = channel->device->reduce(channel->queue, reduction);
	channel->jobs += !err;
	return err;
}

/* Jobs under way. returns 0; the device's error */
static inline int ring_channel_pending(const struct ring_channel *channel, uint64_t *pending)
{
	uint64_t finished = 0;
	int err = channel->device->finished(channel->queue, &finished);
	*pending = channel->jobs - finished;
	return err;
}

static inline int ring_channel_fail(struct ring_channel *channel, int peer, int err)
{
	channel->failed_peer = peer;
	return err;
}

static inline void ring_channel_note(struct ring_channel *channel, enum ring_trace_counter counter,
				     uint64_t index, const struct ring_transfer *transfer)
{
	if (!channel->trace)
		return;
	bool outgoing = counter == RING_POSTED || counter == RING_SENT;
	ring_trace_add(channel->trace,
		       &(struct ring_trace_record){.time_ns = ring_clock_ns(),
						   .call = channel->call.opening.record.sequence,
						   .index = index,
						   .channel = channel->call.plan->params.channel,
						   .peer = transfer->peer,
						   .step = transfer->step,
						   .counter = counter,
						   .block = ring_plan_block_of(channel->call.plan,
									       transfer, outgoing),
						   .action = transfer->action,
						   .bytes = transfer->bytes});
}

#endif
