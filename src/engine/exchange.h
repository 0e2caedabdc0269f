/* SPDX-License-Identifier: MIT */
/* What a rank says to all others: it writes it once, on its board, and then tells each of them. */
#ifndef RING_EXCHANGE_H
#define RING_EXCHANGE_H

#include <sched.h>

#include "transport/doorbell_words.h"
#include "channel_parts.h"

/* Ranks that share CPUs tell which one they are on. */
static inline void ring_exchange_tell_cpu(const struct ring_channel *channel)
{
	if (channel->yields > 0)
		ring_board_stay(channel->board.own, (uint32_t)sched_getcpu());
}

/* Writes what this rank says in an exchange of the plan. Tell the others next. */
void ring_exchange_write(struct ring_channel *channel, uint64_t exchange);

/* Tells the entry's peer that it is written. returns false while there is no link to it */
static inline bool ring_exchange_tell(struct ring_channel *channel, const struct ring_transfer *out)
{
	struct ring_route *route = ring_channel_route(channel, out->peer);
	if (!route || !route->bell)
		return false;
	if (ring_doorbell_is_awaited(route->bell->page))
		ring_bell_wake(route->bell);
	route->sent_messages += out->bytes > 0;
	route->sent_bytes += out->bytes;
	return true;
}

/* The same; writes it before it tells the first peer. */
static inline bool ring_exchange_say(struct ring_channel *channel, const struct ring_transfer *out)
{
	if (channel->call.written == out->exchange)
		ring_exchange_write(channel, out->exchange);
	return ring_exchange_tell(channel, out);
}

#endif
