/* SPDX-License-Identifier: MIT */
/*
 * The engine's inner part: guards and moves over a plan's two sequences; see channel.h. This loop
 * carries out any plan; choose_loop() says which ones have another.
 */
#include "channel.h"

#include <stdlib.h>
#include <string.h>

#include "channel_parts.h"
#include "exchange.h"
#include "job.h"
#include "reaching.h"
#include "receive.h"
#include "small.h"
#include "base/status.h"

void ring_channel_use_board(struct ring_channel *channel, struct ring_doorbell_page *page)
{
	channel->board.own = &page->board;
	channel->board.light = ring_doorbell_is_light(page);
}

/*
 * A full link may find room once it is polled. One that still holds messages is polled once in a
 * turn, not until it takes no more: else the peer of a rank that only sends would only receive.
 * (all_to_all of 256 MiB on 2 ranks over TCP: 49 -> 38 ms.)
 */
static int send_message(struct ring_route *route, const void *source, size_t bytes)
{
	struct ring_link *link = route->out;
	int err = ring_link_send(link, source, bytes);
	if (err != RING_EAGAIN || link->sent < route->queued)
		return err;
	err = ring_link_poll(link);
	return err ? err : ring_link_send(link, source, bytes);
}

/* What opens a message, with a payload if there is one. It stays unchanged until it is sent. */
static const void *open_with(struct ring_channel *channel, struct ring_route *route,
			     const void *payload, size_t bytes)
{
	const struct ring_plan_params *params = &channel->call.plan->params;
	bool own_parts = ring_plan_knows_own_parts(params);
	if (bytes == 0 && !own_parts)
		return &channel->call.opening;
	route->opening.record = channel->call.opening.record;
	if (own_parts)
		route->opening.record.count = ring_plan_on_edge(params, route->peer, true);
	if (bytes > 0)
		memcpy(route->opening.payload, payload, bytes);
	return &route->opening;
}

/* returns 0; RING_EAGAIN if it cannot go yet; an error */
static int post_on_link(struct ring_channel *channel, const struct ring_transfer *out)
{
	struct ring_route *route = ring_channel_route(channel, out->peer);
	const void *message = ring_channel_address(channel, out->source);
	if (!route || !route->out)
		return RING_EAGAIN;
	if (out->opens)
		message = open_with(channel, route, message, out->bytes);
	channel->staging.far = channel->device->apart && !out->opens;
	int err = send_message(route, message, ring_channel_message_bytes(channel, out));
	if (err)
		return err == RING_EAGAIN ? err : ring_channel_fail(channel, route->peer, err);
	route->queued++;
	route->sent_messages += out->bytes > 0;
	route->sent_bytes += out->bytes;
	return 0;
}

/* Hands entry `posted` to its link, or tells of it. returns 1; 0 if it cannot go yet; an error */
static int post(struct ring_channel *channel)
{
	const struct ring_transfer *out = ring_channel_outgoing(channel, channel->call.posted);
	int err = 0;
	if (channel->call.reduced < out->needs)
		return 0;
	if (ring_channel_is_on_board(channel, out))
		err = ring_exchange_say(channel, out) ? 0 : RING_EAGAIN;
	else if (ring_transfer_is_message(out, channel->self))
		err = post_on_link(channel, out);
	if (err)
		return err == RING_EAGAIN ? 0 : err;
	ring_channel_note(channel, RING_POSTED, channel->call.posted, out);
	channel->call.posted++;
	return 1;
}

/* Moves `sent` over the entries whose source may change again. */
static int retire(struct ring_channel *channel)
{
	int moves = 0;
	for (; channel->call.sent < channel->call.posted; channel->call.sent++, moves++) {
		const struct ring_transfer *out = ring_channel_outgoing(channel, channel->call.sent);
		if (ring_transfer_is_message(out, channel->self) &&
		    !ring_channel_is_on_board(channel, out)) {
			struct ring_route *route = ring_channel_route(channel, out->peer);
			if (route->out->sent == route->retired)
				break;
			route->retired++;
		}
		ring_channel_note(channel, RING_SENT, channel->call.sent, out);
	}
	return moves;
}

/* Polls the links that still hold something. Whose receiver has all of it may be gone. */
static int poll_sends(struct ring_channel *channel)
{
	for (int i = 0; channel->call.sent < channel->call.posted && i < channel->route_count; i++) {
		struct ring_link *out = channel->routes[i].out;
		if (!out || out->sent == channel->routes[i].queued)
			continue;
		int err = ring_link_poll(out);
		if (err && out->sent < channel->routes[i].queued)
			return ring_channel_fail(channel, out->peer, err);
	}
	return 0;
}

/*
 * Polls before it posts, so that a rank that comes to rest has used all room there was; or, if
 * nothing waited, after new messages, so that they leave at once.
 */
static int post_sends(struct ring_channel *channel)
{
	int moves = 0;
	const bool idle = channel->call.sent == channel->call.posted;
	int err = poll_sends(channel);
	while (!err && channel->call.posted < channel->call.plan->outgoing) {
		int moved = post(channel);
		if (moved < 0)
			return moved;
		if (moved == 0)
			break;
		moves++;
	}
	if (!err && moves > 0 && idle)
		err = poll_sends(channel);
	return err ? err : moves + retire(channel);
}

/* Starts entry `started`. returns 1; 0 if it cannot start yet; an error */
static int start(struct ring_channel *channel, const struct ring_transfer *in)
{
	if (channel->call.sent < in->needs ||
	    (channel->call.reduced < channel->call.started && ring_transfer_is_direct(in)))
		return 0;
	const char *payload = NULL;
	int moved = ring_transfer_is_message(in, channel->self) ? ring_receive(channel, in, &payload)
								: 1;
	if (moved <= 0)
		return moved;
	int err = ring_job_start(channel, in, payload);
	return err ? err : 1;
}

/*
 * The old contents have been sent, and the rank whose data replaces them is known to be in this
 * call.
 */
static bool may_land(const struct ring_channel *channel, const struct ring_transfer *in,
		     const struct ring_route *route)
{
	bool heard = channel->call.on_boards ||
		     route->heard == channel->call.opening.record.sequence;
	return channel->call.sent >= in->needs && (heard || in->result.buffer == RING_SCRATCH);
}

/*
 * Tells links that want to know what comes next, so that copies can land where they belong. Not
 * before all signals are through: until then nothing may land in the user's memory. Such a link is
 * told of every message from its first, even if it came during the call.
 */
static void announce(struct ring_channel *channel)
{
	const uint64_t agreed = channel->call.plan->agreed;
	for (; channel->call.expected < channel->call.plan->incoming; channel->call.expected++) {
		if (channel->call.expected >= agreed && channel->call.started < agreed)
			return;
		const struct ring_transfer *in = ring_channel_incoming(channel,
								       channel->call.expected);
		if (!ring_transfer_is_message(in, channel->self) ||
		    ring_channel_is_on_board(channel, in))
			continue;
		struct ring_route *route = ring_channel_route(channel, in->peer);
		struct ring_link *link = route ? route->in : NULL;
		if (!link)
			return;
		if (!link->transport->expect)
			continue;
		bool lands = in->action == RING_COPY && !in->opens && !channel->device->apart;
		if (route->announced == link->released + link->depth ||
		    (lands && !may_land(channel, in, route)))
			return;
		ring_link_expect(link, ring_channel_message_bytes(channel, in),
				 lands ? ring_channel_address(channel, in->result) : NULL);
		route->announced++;
	}
}

/* Whether the next entry to be sent has become ready since `reduced` was `before`. */
static bool completes_next(const struct ring_channel *channel, uint64_t before)
{
	if (channel->call.posted == channel->call.plan->outgoing)
		return false;
	uint64_t needs = ring_channel_outgoing(channel, channel->call.posted)->needs;
	return before < needs && needs <= channel->call.reduced;
}

/* Sends first: at a call's start this rank's messages can go, and the others' have hardly come. */
static int advance(struct ring_channel *channel)
{
	int moves = channel->call.sent < channel->call.plan->outgoing ? post_sends(channel) : 0;
	if (moves < 0)
		return moves;
	while (channel->call.started < channel->call.plan->incoming) {
		if (channel->announces)
			announce(channel);
		const struct ring_transfer *in = ring_channel_incoming(channel,
								       channel->call.started);
		const bool holds = in->action == RING_HOLD;
		const uint64_t before = channel->call.reduced;
		int moved = start(channel, in);
		if (moved < 0)
			return moved;
		if (moved == 0)
			break;
		moved = holds ? 0
			      : ring_job_finish(
					channel); /* messages that are held give no slots back */
		if (moved < 0)
			return moved;
		moves++;
		if (completes_next(channel, before))
			break; /* send on what is still in cache */
	}
	int finished = channel->call.reduced < channel->call.started ? ring_job_finish(channel) : 0;
	return finished < 0 ? finished : moves + finished;
}

int ring_channel_advance(struct ring_channel *channel)
{
	return channel->call.advance(channel);
}

/* ---- starting -------------------------------------------------------------------------------- */

/* Chooses the loop that carries out its plan. */
static void choose_loop(struct ring_channel *channel)
{
	channel->call.advance = advance;
	if (channel->call.on_boards && channel->call.known->is_small)
		channel->call.advance = ring_small_advance;
	else if (channel->call.on_boards && ring_plan_reaches(channel->call.plan))
		channel->call.advance = ring_reaching_advance;
}

static void use(struct ring_channel *channel, struct ring_known_plan *known)
{
	channel->call.known = known;
	channel->call.plan = &known->plan;
}

void ring_channel_start(struct ring_channel *channel, const struct ring_plan *plan,
			const struct ring_operands *operands, const struct ring_record *record)
{
	ring_known_plan_set(channel->own, plan);
	ring_channel_start_known(channel, channel->own, operands, record);
}

void ring_channel_start_known(struct ring_channel *channel, struct ring_known_plan *known,
			      const struct ring_operands *operands, const struct ring_record *record)
{
	size_t scratch = ring_plan_scratch_bytes(&known->plan);
	if (channel->scratch_used < scratch)
		channel->scratch_used = scratch;
	use(channel, known);
	channel->call.tells = false;
	channel->call.on_boards = channel->board.own && known->plan.exchanges > 0;
	channel->call.sheet_bytes = sizeof(*record) + known->plan.opening;
	channel->call.root_says = ring_kind_is_from_root(known->plan.params.kind);
	choose_loop(channel);
	channel->call.opening.record = *record;
	ring_channel_start_again(channel, operands, record->sequence);
}

void ring_channel_start_again(struct ring_channel *channel, const struct ring_operands *operands,
			      uint64_t sequence)
{
	channel->board.exchanges += channel->call.on_boards ? channel->call.plan->exchanges : 0;
	channel->call.written = 0;
	channel->call.heard = 0;
	channel->call.operands = *operands;
	channel->call.opening.record.sequence = sequence;
	channel->call.posted = channel->call.sent = channel->call.started = channel->call.reduced = 0;
	channel->call.expected = 0;
}

void ring_channel_tell(struct ring_channel *channel, struct ring_known_plan *known,
		       const struct ring_record *record, const struct ring_reached *reached)
{
	ring_channel_start_known(channel, known, &(struct ring_operands){.type = RING_UINT8},
				 record);
	channel->call.reached = reached;
	channel->call.tells = true;
	channel->call.sheet_bytes = sizeof(*record) + sizeof(struct ring_whereabouts);
	memcpy(channel->call.opening.payload, &reached->where[channel->self],
	       sizeof(reached->where[channel->self]));
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* The incoming entry that is next. */
static uint64_t next_in(const struct ring_channel *channel)
{
	return channel->call.started < channel->call.heard ? channel->call.heard
							   : channel->call.started;
}

int ring_channel_waits_for(const struct ring_channel *channel, int *step)
{
	if (next_in(channel) < channel->call.plan->incoming) {
		struct ring_transfer in = ring_plan_incoming(channel->call.plan, next_in(channel));
		*step = in.step;
		if (channel->call.sent >= in.needs && in.peer != channel->self)
			return in.peer;
	}
	if (channel->call.sent < channel->call.plan->outgoing) {
		struct ring_transfer out = ring_plan_outgoing(channel->call.plan,
							      channel->call.sent);
		*step = out.step;
		return out.peer;
	}
	return -1;
}

/* Whether the peer that must say this was last seen on another CPU, or has said it already. */
static bool is_elsewhere(const struct ring_channel *channel, const struct ring_transfer *in)
{
	const struct ring_route *route = ring_channel_route(channel, in->peer);
	uint64_t exchange = ring_channel_exchange(channel, in->exchange);
	struct ring_arrival said;
	return route && route->board &&
	       (ring_board_cpu(route->board) != ring_board_cpu(channel->board.own) ||
		ring_board_read(route->board, exchange, &said));
}

bool ring_channel_waits_elsewhere(const struct ring_channel *channel)
{
	const struct ring_known_plan *known = channel->call.known;
	const uint64_t next = next_in(channel), end = known->plan.incoming;
	struct ring_transfer rooms[2];
	if (!channel->call.on_boards || next >= end)
		return false;
	const struct ring_transfer *first = ring_known_plan_peek(known, next, &rooms[0]);
	for (uint64_t j = next; j < end; j++) {
		const struct ring_transfer *in = ring_known_plan_peek(known, j, &rooms[1]);
		if (!in->opens || in->exchange != first->exchange)
			break;
		if (!is_elsewhere(channel, in))
			return false;
	}
	return first->opens;
}

/* The rank whose message starts next, -1 if something else comes first. */
static int listens_to(const struct ring_channel *channel)
{
	if (next_in(channel) == channel->call.plan->incoming)
		return -1;
	struct ring_transfer in = ring_plan_incoming(channel->call.plan, next_in(channel));
	return channel->call.sent >= in.needs ? in.peer : -1;
}

void ring_channel_arm(const struct ring_channel *channel)
{
	for (int i = 0; i < channel->route_count; i++) {
		const struct ring_route *route = &channel->routes[i];
		if (route->in)
			ring_link_arm(route->in);
		if (route->out)
			ring_link_arm(route->out);
	}
}

/*
 * Only the next message's incoming link is watched: messages on others are not taken before their
 * turn, and would keep the sleeper awake till then.
 */
int ring_channel_wait_fds(const struct ring_channel *channel, struct pollfd *fds)
{
	int count = 0, from = listens_to(channel);
	if (channel->staging.queue) /* links do not count what it has yet to hand them */
		fds[count++] = (struct pollfd){.fd = -1};
	for (int i = 0; i < channel->route_count; i++) {
		const struct ring_route *route = &channel->routes[i];
		const struct ring_link *links[] = {route->peer == from ? route->in : NULL,
						   route->out};
		for (int k = 0; k < 2; k++) {
			short events = 0;
			int fd = links[k] ? ring_link_wait_fd(links[k], &events) : -1;
			if (fd >= 0 && events)
				fds[count++] = (struct pollfd){.fd = fd, .events = events};
		}
	}
	return count;
}
