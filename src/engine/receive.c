/* SPDX-License-Identifier: MIT */
/* Taking what peers say, and saying what is wrong with it; see receive.h. */
#include "receive.h"

#include <string.h>

#include "base/status.h"

/* If ranks disagree, messages may differ in size as well. returns 0; RING_EMISMATCH; RING_EPEER */
static int compare_records(struct ring_channel *channel, int peer,
			   const struct ring_arrival *message)
{
	const struct ring_record mine = ring_channel_expects(channel, peer);
	if (message->bytes < sizeof(mine))
		return RING_EPEER;
	if (ring_record_equals(message->data, &mine))
		return 0;
	struct ring_record theirs;
	memcpy(&theirs, message->data, sizeof(theirs));
	if (!ring_record_is_valid(&theirs))
		return RING_EPEER;
	channel->theirs = theirs;
	return RING_EMISMATCH;
}

/* The link's next message, NULL if it has not arrived, with *err if the link is broken. */
static const struct ring_arrival *sent_by(struct ring_channel *channel, struct ring_route *route,
					  int *err)
{
	struct ring_link *in = route->in;
	*err = 0;
	if (in->arrived == route->taken) {
		int failed = ring_link_poll(in);
		if (in->arrived == route->taken) {
			*err = failed ? ring_channel_fail(channel, in->peer, failed) : 0;
			return NULL;
		}
	}
	return ring_link_arrival(in, route->taken);
}

/*
 * Whether a peer has written in the next exchange: then it has said all it has to say in this call,
 * or makes another one.
 */
static bool has_gone_on(const struct ring_channel *channel, const struct ring_route *route,
			struct ring_arrival *next)
{
	return channel->board.own &&
	       ring_board_read(route->board, channel->board.exchanges + 1, next);
}

/*
 * A peer says something else than this call needs: returns RING_EMISMATCH; RING_EPEER. If that is
 * no record, the peer may have written one, for a call of another kind, before.
 */
static int differ(struct ring_channel *channel, const struct ring_route *route,
		  const struct ring_arrival *said)
{
	struct ring_arrival next;
	int err = compare_records(channel, route->peer, said);
	if (err != RING_EMISMATCH && has_gone_on(channel, route, &next))
		err = compare_records(channel, route->peer, &next);
	return ring_channel_fail(channel, route->peer, err ? err : RING_EPEER);
}

/* What the peer wrote for an exchange. A message on its link instead is another call's. */
static const struct ring_arrival *written_by(struct ring_channel *channel, struct ring_route *route,
					     uint64_t exchange, int *err)
{
	struct ring_arrival next;
	*err = 0;
	if (ring_board_read(route->board, exchange, &route->sheet))
		return &route->sheet;
	const struct ring_arrival *message = sent_by(channel, route, err);
	if (!message && !*err && has_gone_on(channel, route, &next))
		message = &next;
	if (!message && !*err)
		return NULL;
	/* It may have written before it went on, or away. */
	if (ring_board_read(route->board, exchange, &route->sheet)) {
		*err = 0;
		return &route->sheet;
	}
	if (message)
		*err = differ(channel, route, message);
	return NULL;
}

/*
 * What entry `in` needs from its peer; NULL if it is not there yet, with *err if it never will be.
 */
static const struct ring_arrival *arrived(struct ring_channel *channel,
					  const struct ring_transfer *in, struct ring_route *route,
					  int *err)
{
	struct ring_arrival next;
	if (ring_channel_is_on_board(channel, in))
		return written_by(channel, route, ring_channel_exchange(channel, in->exchange), err);
	const struct ring_arrival *message = sent_by(channel, route, err);
	if (message || *err || !has_gone_on(channel, route, &next))
		return message;
	message = sent_by(channel, route, err);
	if (!message && !*err)
		*err = differ(channel, route, &next);
	return message;
}

/* Compares a message with what the plan and the entry record say it must be. */
static int check(struct ring_channel *channel, const struct ring_transfer *in,
		 const struct ring_route *route, const struct ring_arrival *message)
{
	int err = in->opens ? compare_records(channel, route->peer, message) : 0;
	size_t bytes = ring_channel_is_on_board(channel, in)
			       ? ring_channel_sheet_bytes(channel, in->peer)
			       : ring_channel_message_bytes(channel, in);
	if (!err && message->bytes != bytes)
		err = RING_EPEER;
	if (err == RING_EPEER)
		return differ(channel, route, message);
	return err ? ring_channel_fail(channel, route->peer, err) : 0;
}

/* Looks for it on its link or board, and checks it. returns as ring_receive() */
static int find(struct ring_channel *channel, const struct ring_transfer *in,
		struct ring_route *route, const struct ring_arrival **message)
{
	int err;
	*message = arrived(channel, in, route, &err);
	if (!*message)
		return err;
	err = check(channel, in, route, *message);
	return err ? err : 1;
}

/* The room is free: the message that had it before has given its slot back. */
static void bring_to_room(const struct ring_route *route)
{
	struct ring_link *in = route->in;
	struct ring_arrival *message = ring_link_arrival(in, route->taken);
	char *room = route->rooms + route->taken % in->depth * in->slot_bytes;
	memcpy(room, message->data, message->bytes);
	message->data = room;
}

/* The payload of a message. A board has all of the peer's input. */
static const char *payload_of(const struct ring_channel *channel, const struct ring_transfer *in,
			      const struct ring_arrival *message)
{
	if (!in->opens)
		return message->data;
	uint64_t skip = channel->call.on_boards ? in->source.offset : 0;
	return (const char *)message->data + sizeof(struct ring_record) + skip;
}

int ring_receive(struct ring_channel *channel, const struct ring_transfer *in, const char **payload)
{
	struct ring_route *route = ring_channel_route(channel, in->peer);
	const struct ring_arrival *message;
	if (!route || !route->in)
		return 0;
	int found = find(channel, in, route, &message);
	if (found <= 0)
		return found;
	if (route->rooms && !ring_channel_is_on_board(channel, in))
		bring_to_room(route);
	*payload = payload_of(channel, in, message);
	route->taken += !ring_channel_is_on_board(channel, in);
	if (in->opens)
		route->heard = channel->call.opening.record.sequence;
	ring_receive_count(channel, in, route, *payload);
	return 1;
}
