/* SPDX-License-Identifier: MIT */
/*
 * What a peer sent on its link, or wrote on its board: taken when it is there, and compared with
 * what the plan and the entry record say it must be.
 */
#ifndef RING_RECEIVE_H
#define RING_RECEIVE_H

#include <string.h>

#include "transport/board.h"
#include "channel_parts.h"
#include "direct.h"
#include "wait.h"

/*
 * What a peer says behind its record, if it has written exactly what the entry needs: the case that
 * must be fast. Else NULL.
 */
static inline const char *ring_receive_said(const struct ring_channel *channel,
					    const struct ring_transfer *in,
					    const struct ring_route *route, uint64_t exchange)
{
	const unsigned char *said = ring_board_says(route->board, exchange,
						    ring_channel_sheet_bytes(channel, in->peer));
	if (!said || !ring_record_equals(said, &channel->call.opening.record))
		return NULL;
	return (const char *)said + sizeof(struct ring_record) + in->source.offset;
}

/*
 * Counts and keeps it, and where the peer's buffers lie if it says that. A rank's last signal to
 * ranks that reach it says that it is done: then all payload between the two is counted.
 */
static inline void ring_receive_count(struct ring_channel *channel, const struct ring_transfer *in,
				      struct ring_route *route, const char *payload)
{
	route->said = payload;
	route->received_messages += in->bytes > 0;
	route->received_bytes += in->bytes;
	if (channel->call.tells)
		memcpy(&channel->call.reached->where[in->peer], payload,
		       sizeof(struct ring_whereabouts));
	if (ring_plan_reaches(channel->call.plan) &&
	    in->exchange + 1 == channel->call.plan->exchanges)
		ring_direct_count(channel, in->peer);
}

/*
 * Receives what entry `in` needs from its peer. returns 1, with what it says behind its record; 0
 * if it is not there yet; RING_EMISMATCH, RING_EPEER, with failed_peer
 */
int ring_receive(struct ring_channel *channel, const struct ring_transfer *in, const char **payload);

/*
 * The same for what a peer writes on its board in an exchange. That mostly comes before this rank
 * would be back for another look, so it looks some more times. (8 B on 2 ranks: 0.19 -> 0.17 us.)
 */
static inline int ring_receive_written(struct ring_channel *channel, const struct ring_transfer *in,
				       uint64_t exchange, const char **payload)
{
	struct ring_route *route = ring_channel_route(channel, in->peer);
	bool has_board = route && route->board;
	*payload = has_board ? ring_receive_said(channel, in, route, exchange) : NULL;
	for (int i = 0; has_board && !*payload && i < channel->glances; i++) {
		ring_wait_relax();
		*payload = ring_receive_said(channel, in, route, exchange);
	}
	if (!*payload)
		return ring_receive(channel, in, payload);
	ring_receive_count(channel, in, route, *payload);
	return 1;
}

#endif
