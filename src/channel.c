/* SPDX-License-Identifier: MIT */
/* The engine's inner part: guards and moves over a plan's two sequences. */
#include "channel.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../transport/board.h"
#include "clock.h"
#include "direct.h"
#include "partners.h"
#include "status.h"
#include "trace.h"

/* NULL if no link with peer was ever added. */
static struct ring_route *route_to(const struct ring_channel *channel, int peer)
{
	if (channel->reserved)
		return &channel->routes[peer];
	for (int i = 0; i < channel->route_count; i++)
		if (channel->routes[i].peer == peer)
			return &channel->routes[i];
	return NULL;
}

static void use(struct ring_channel *channel, struct ring_known_plan *known)
{
	channel->known = known;
	channel->plan = &known->plan;
}

int ring_channel_open(struct ring_channel *channel, int self, const struct ring_device *device,
		      size_t scratch_bytes)
{
	*channel = (struct ring_channel){.self = self, .device = device};
	channel->routes = channel->ring_routes;
	channel->own = calloc(1, sizeof(*channel->own));
	if (!channel->own)
		return RING_ENOMEM;
	use(channel, channel->own);
	int err = device->queue_open(&channel->queue);
	if (err)
		return err;
	if (scratch_bytes > 0) {
		void *memory;
		err = device->alloc(scratch_bytes, &memory);
		if (err)
			return err;
		channel->scratch = memory;
		channel->scratch_bytes = scratch_bytes;
	}
	return 0;
}

void ring_channel_use_board(struct ring_channel *channel, struct ring_board *board)
{
	channel->board = board;
}

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

void ring_channel_add_link(struct ring_channel *channel, struct ring_link *link)
{
	struct ring_route *route = route_to(channel, link->peer);
	if (!route) {
		assert(channel->route_count < RING_RING_ROUTES);
		route = &channel->routes[channel->route_count++];
		*route = (struct ring_route){.peer = link->peer};
	}
	*(link->outgoing ? &route->out : &route->in) = link;
	if (!link->outgoing && link->transport->board)
		route->board = link->transport->board(link);
	channel->announces = channel->announces || link->transport->expect;
}

int ring_channel_add_reverse(struct ring_channel *channel, struct ring_link *link)
{
	struct ring_link *back;
	int err = link->transport->reverse(link, &back);
	if (!err)
		ring_channel_add_link(channel, back);
	return err;
}

struct ring_link *ring_channel_link(const struct ring_channel *channel, int peer, bool outgoing)
{
	const struct ring_route *route = route_to(channel, peer);
	if (!route)
		return NULL;
	return outgoing ? route->out : route->in;
}

size_t ring_channel_memory(const struct ring_channel *channel)
{
	size_t bytes = channel->scratch_used + sizeof(*channel->own);
	if (channel->reserved)
		bytes += (size_t)channel->route_count * sizeof(*channel->routes);
	for (int i = 0; i < channel->route_count; i++) {
		const struct ring_route *route = &channel->routes[i];
		bytes += route->out ? route->out->memory_bytes : 0;
		bytes += route->in ? route->in->memory_bytes : 0;
	}
	return bytes;
}

void ring_channel_close(struct ring_channel *channel)
{
	if (channel->queue)
		channel->device->queue_close(channel->queue);
	if (channel->scratch)
		channel->device->free(channel->scratch);
	for (int i = 0; i < channel->route_count; i++) {
		struct ring_route *route = &channel->routes[i];
		if (route->out)
			route->out->transport->close(route->out);
		if (route->in)
			route->in->transport->close(route->in);
	}
	if (channel->reserved)
		free(channel->routes);
	free(channel->own);
	*channel = (struct ring_channel){0};
}

void ring_known_plan_set(struct ring_known_plan *known, const struct ring_plan *plan)
{
	known->plan = *plan;
	for (int i = 0; i < RING_KNOWN_OUTGOING; i++)
		known->outgoing[i].index = UINT64_MAX;
	for (int j = 0; j < RING_KNOWN_INCOMING; j++)
		known->incoming[j].index = UINT64_MAX;
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
	channel->tells = false;
	channel->on_boards = channel->board && known->plan.exchanges > 0;
	channel->exchanges += channel->on_boards ? known->plan.exchanges : 0;
	channel->written = 0;
	channel->is_small = channel->on_boards && ring_plan_is_said_at_once(&known->plan);
	channel->heard = 0;
	channel->operands = *operands;
	channel->opening.record = *record;
	channel->jobs_before += channel->reduced;
	channel->posted = channel->sent = channel->started = channel->reduced = 0;
	channel->expected = 0;
}

void ring_channel_tell(struct ring_channel *channel, struct ring_known_plan *known,
		       const struct ring_record *record, struct ring_partners *partners)
{
	ring_channel_start_known(channel, known, &(struct ring_operands){.type = RING_UINT8},
				 record);
	channel->partners = partners;
	channel->tells = true;
	memcpy(channel->opening.payload, &partners->where[channel->self],
	       sizeof(partners->where[channel->self]));
}

/*
 * Field by field, with the plan inlined: a struct that is returned and copied whole passes through
 * memory, and reading it back so soon waits for all stores before it, among them those to slots
 * that the other CPU still holds. (8 B on 2 ranks: 1.1 us with copying, 0.8 us so.)
 */
static inline void keep(struct ring_known *known, uint64_t index, struct ring_transfer transfer)
{
	known->index = index;
	known->transfer.action = transfer.action;
	known->transfer.peer = transfer.peer;
	known->transfer.source.buffer = transfer.source.buffer;
	known->transfer.source.offset = transfer.source.offset;
	known->transfer.result.buffer = transfer.result.buffer;
	known->transfer.result.offset = transfer.result.offset;
	known->transfer.bytes = transfer.bytes;
	known->transfer.needs = transfer.needs;
	known->transfer.opens = transfer.opens;
	known->transfer.last = transfer.last;
	known->transfer.held = transfer.held;
	known->transfer.behind = transfer.behind;
	known->transfer.releases = transfer.releases;
	known->transfer.skip = transfer.skip;
	known->transfer.holds = transfer.holds;
	known->transfer.exchange = transfer.exchange;
	known->transfer.step = transfer.step;
}

__attribute__((flatten, noinline)) static void learn_outgoing(struct ring_known *known,
							      const struct ring_plan *plan,
							      uint64_t i)
{
	keep(known, i, ring_plan_outgoing(plan, i));
}

__attribute__((flatten, noinline)) static void learn_incoming(struct ring_known *known,
							      const struct ring_plan *plan,
							      uint64_t j)
{
	keep(known, j, ring_plan_incoming(plan, j));
}

static inline const struct ring_transfer *outgoing(struct ring_channel *channel, uint64_t i)
{
	struct ring_known *known = &channel->known->outgoing[i % RING_KNOWN_OUTGOING];
	if (known->index != i)
		learn_outgoing(known, channel->plan, i);
	return &known->transfer;
}

static inline const struct ring_transfer *incoming(struct ring_channel *channel, uint64_t j)
{
	struct ring_known *known = &channel->known->incoming[j % RING_KNOWN_INCOMING];
	if (known->index != j)
		learn_incoming(known, channel->plan, j);
	return &known->transfer;
}

/* A buffer may be NULL where the call neither reads nor writes it. */
static char *address(const struct ring_channel *channel, struct ring_place place)
{
	char *buffer = channel->operands.output;
	if (place.buffer == RING_INPUT)
		buffer = (char *)channel->operands.input;
	else if (place.buffer == RING_SCRATCH || place.buffer == RING_SUMMANDS)
		buffer = channel->scratch;
	else if (place.buffer == RING_STAGE)
		buffer = channel->partners->stage.all[channel->self];
	return buffer ? buffer + place.offset : NULL;
}

static void note(struct ring_channel *channel, enum ring_trace_counter counter, uint64_t index,
		 const struct ring_transfer *transfer)
{
	if (channel->trace)
		ring_trace_add(channel->trace,
			       &(struct ring_trace_record){.time_ns = ring_clock_ns(),
							   .call = channel->opening.record.sequence,
							   .index = index,
							   .channel = channel->plan->params.channel,
							   .peer = transfer->peer,
							   .step = transfer->step,
							   .counter = counter});
}

static void note_incoming(struct ring_channel *channel, enum ring_trace_counter counter,
			  uint64_t from, uint64_t to)
{
	for (uint64_t j = from; channel->trace && j < to; j++)
		note(channel, counter, j, incoming(channel, j));
}

static int fail_at(struct ring_channel *channel, int peer, int err)
{
	channel->failed_peer = peer;
	return err;
}

/* A full link may find room once it is polled. */
static int send_message(struct ring_link *link, const void *source, size_t bytes)
{
	int err = link->transport->send(link, source, bytes);
	if (err != RING_EAGAIN)
		return err;
	err = link->transport->poll(link);
	return err ? err : link->transport->send(link, source, bytes);
}

static size_t message_bytes(const struct ring_channel *channel, const struct ring_transfer *transfer)
{
	return transfer->bytes + (transfer->opens ? sizeof(struct ring_record) : 0) +
	       (transfer->opens && channel->tells ? sizeof(struct ring_whereabouts) : 0);
}

/* What a rank writes on its board. */
static size_t sheet_bytes(const struct ring_channel *channel, int rank)
{
	return sizeof(struct ring_record) + (channel->tells ? sizeof(struct ring_whereabouts)
							    : ring_plan_said(channel->plan, rank));
}

/* What opens a message, with a payload if there is one, which stays as it is until it is sent. */
static const void *open_with(struct ring_channel *channel, struct ring_route *route,
			     const void *payload, size_t bytes)
{
	if (bytes == 0)
		return &channel->opening;
	route->opening.record = channel->opening.record;
	memcpy(route->opening.payload, payload, bytes);
	return &route->opening;
}

static bool is_on_board(const struct ring_channel *channel, const struct ring_transfer *transfer)
{
	return channel->on_boards && transfer->opens;
}

/* Boards count the exchanges of all calls. */
static uint64_t exchange_of(const struct ring_channel *channel, const struct ring_transfer *transfer)
{
	return channel->exchanges - channel->plan->exchanges + transfer->exchange + 1;
}

static void write_on_board(struct ring_channel *channel, uint64_t exchange)
{
	uint64_t said = ring_plan_said(channel->plan, channel->self);
	if (said > 0)
		memcpy(channel->opening.payload, channel->operands.input, said);
	ring_board_write(channel->board, exchange, &channel->opening,
			 sheet_bytes(channel, channel->self));
}

/* Written for the first of all peers, who are all told of it. */
static void post_on_board(struct ring_channel *channel, const struct ring_transfer *out,
			  const struct ring_route *route)
{
	if (channel->written == out->exchange) {
		write_on_board(channel, exchange_of(channel, out));
		channel->written++;
	}
	route->out->transport->wake(route->out);
}

static int post_on_link(struct ring_channel *channel, struct ring_route *route,
			const struct ring_transfer *out)
{
	const void *message = address(channel, out->source);
	if (out->opens)
		message = open_with(channel, route, message, out->bytes);
	int err = send_message(route->out, message, message_bytes(channel, out));
	route->queued += err == 0;
	return err && err != RING_EAGAIN ? fail_at(channel, route->peer, err) : err;
}

/* Hands entry `posted` to its link, or writes it. returns 1; 0 if it cannot go yet; an error */
static int post(struct ring_channel *channel)
{
	const struct ring_transfer *out = outgoing(channel, channel->posted);
	if (channel->reduced < out->needs)
		return 0;
	if (ring_transfer_is_message(out, channel->self)) {
		struct ring_route *route = route_to(channel, out->peer);
		bool on_board = is_on_board(channel, out);
		if (!route || !route->out)
			return 0;
		int err = 0;
		if (on_board)
			post_on_board(channel, out, route);
		else
			err = post_on_link(channel, route, out);
		if (err)
			return err == RING_EAGAIN ? 0 : err;
		route->sent_messages += out->bytes > 0;
		route->sent_bytes += out->bytes;
	}
	note(channel, RING_POSTED, channel->posted, out);
	channel->posted++;
	return 1;
}

/* Moves `sent` over the entries whose source may change again. */
static int retire(struct ring_channel *channel)
{
	int moves = 0;
	for (; channel->sent < channel->posted; channel->sent++, moves++) {
		const struct ring_transfer *out = outgoing(channel, channel->sent);
		if (ring_transfer_is_message(out, channel->self) && !is_on_board(channel, out)) {
			struct ring_route *route = route_to(channel, out->peer);
			if (route->out->sent == route->retired)
				break;
			route->retired++;
		}
		note(channel, RING_SENT, channel->sent, out);
	}
	return moves;
}

/* Polls the links that still hold something. */
static int poll_sends(struct ring_channel *channel)
{
	for (int i = 0; channel->sent < channel->posted && i < channel->route_count; i++) {
		struct ring_link *out = channel->routes[i].out;
		if (!out || out->sent == channel->routes[i].queued)
			continue;
		int err = out->transport->poll(out);
		if (err)
			return fail_at(channel, out->peer, err);
	}
	return 0;
}

/*
 * Polls before it posts, so that a rank that comes to rest has used all room that was found; and
 * again behind new messages, so that they leave at once.
 */
static int post_sends(struct ring_channel *channel)
{
	int moves = 0;
	int err = poll_sends(channel);
	while (!err && channel->posted < channel->plan->outgoing) {
		int moved = post(channel);
		if (moved < 0)
			return moved;
		if (moved == 0)
			break;
		moves++;
	}
	if (!err && moves > 0)
		err = poll_sends(channel);
	return err ? err : moves + retire(channel);
}

/* HOLD number `index` of an entry: known, or else in `room`, as it must not replace that entry. */
static const struct ring_transfer *held(const struct ring_channel *channel,
					const struct ring_transfer *in, int index,
					struct ring_transfer *room)
{
	uint64_t j = in->holds + (uint64_t)index;
	const struct ring_known *known = &channel->known->incoming[j % RING_KNOWN_INCOMING];
	if (known->index == j)
		return &known->transfer;
	*room = ring_plan_incoming(channel->plan, j);
	return room;
}

/* The payload of a message. On a board lies all of the peer's input. */
static const char *payload(const struct ring_channel *channel, const struct ring_transfer *in,
			   const struct ring_arrival *message)
{
	if (!in->opens)
		return message->data;
	uint64_t skip = channel->on_boards ? in->source.offset : 0;
	return (const char *)message->data + sizeof(struct ring_record) + skip;
}

/* What HOLD number `index` keeps for an entry: nothing was taken from there since. */
static const void *held_payload(const struct ring_channel *channel, const struct ring_transfer *in,
				int index)
{
	struct ring_transfer room;
	const struct ring_transfer *hold = held(channel, in, index, &room);
	const struct ring_route *route = route_to(channel, hold->peer);
	if (is_on_board(channel, hold))
		return payload(channel, hold, &route->sheet) + in->skip;
	const struct ring_arrival *message = ring_link_arrival(route->in, route->taken - 1);
	return payload(channel, hold, message) + in->skip;
}

/* The same where all of them were collected in scratch. */
static int gather_summands(const struct ring_channel *channel, const struct ring_transfer *in,
			   const void *sources[])
{
	const struct ring_plan *plan = channel->plan;
	for (int k = 0; k < plan->params.size; k++)
		sources[k] = address(channel, in->source) +
			     ring_bruck_place(plan, in->behind, k) * ring_bruck_bytes(plan);
	return plan->params.size;
}

/* What a REDUCE adds, in order: one's own source, and what arrived or is held. Returns how many. */
static int gather_sources(const struct ring_channel *channel, const struct ring_transfer *in,
			  const void *arrived, const void *sources[])
{
	int count = 0;
	if (in->source.buffer == RING_SUMMANDS)
		return gather_summands(channel, in, sources);
	for (int k = in->behind; k < in->held; k++)
		sources[count++] = held_payload(channel, in, k);
	sources[count++] = address(channel, in->source);
	for (int k = 0; k < in->behind; k++)
		sources[count++] = held_payload(channel, in, k);
	if (arrived)
		sources[count++] = arrived;
	return count;
}

/* Field by field: a job can have many more sources than this one. */
static int reduce(struct ring_channel *channel, const struct ring_transfer *in, const void *arrived)
{
	const struct ring_operands *operands = &channel->operands;
	struct ring_reduction reduction;
	reduction.nsources = gather_sources(channel, in, arrived, reduction.sources);
	reduction.scalars = &operands->scalar;
	reduction.nscalars = channel->plan->params.scaled ? 1 : 0;
	reduction.results[0] = address(channel, in->result);
	reduction.nresults = 1;
	reduction.count = in->bytes / channel->plan->params.element_bytes;
	reduction.type = operands->type;
	reduction.op = operands->op;
	reduction.divisor = in->last ? operands->divisor : 1;
	return channel->device->reduce(channel->queue, &reduction);
}

/* Gives a payload that arrived, or a local copy, to the device: always exactly one job. */
static int give_to_device(struct ring_channel *channel, const struct ring_transfer *in,
			  const void *arrived)
{
	if ((in->action == RING_REDUCE || in->action == RING_SCALE) && in->bytes > 0)
		return reduce(channel, in, arrived);
	char *result = address(channel, in->result);
	const void *source = arrived;
	if (in->peer == channel->self)
		source = in->held > 0 ? held_payload(channel, in, 0) : address(channel, in->source);
	bool nothing = in->action == RING_SIGNAL || in->action == RING_HOLD || source == result;
	return channel->device->copy(channel->queue, result, source, nothing ? 0 : in->bytes);
}

/* Of ranks that disagree messages may differ in size as well. returns 0; RING_EMISMATCH; RING_EPEER */
static int compare_records(struct ring_channel *channel, const struct ring_arrival *message)
{
	const struct ring_record *mine = &channel->opening.record;
	if (message->bytes < sizeof(*mine))
		return RING_EPEER;
	if (memcmp(message->data, mine, sizeof(*mine)) == 0)
		return 0;
	memcpy(&channel->theirs, message->data, sizeof(channel->theirs));
	return ring_record_is_valid(&channel->theirs) ? RING_EMISMATCH : RING_EPEER;
}

/* The link's next message, NULL if it has not arrived; *err tells a broken link from that. */
static const struct ring_arrival *sent_by(struct ring_channel *channel, struct ring_route *route,
					  int *err)
{
	struct ring_link *in = route->in;
	*err = 0;
	if (in->arrived == route->taken) {
		int failed = in->transport->poll(in);
		if (in->arrived == route->taken) {
			*err = failed ? fail_at(channel, in->peer, failed) : 0;
			return NULL;
		}
	}
	return ring_link_arrival(in, route->taken);
}

/* A peer says something in place of what this call needs of it: returns RING_EMISMATCH; RING_EPEER */
static int differ(struct ring_channel *channel, const struct ring_route *route,
		  const struct ring_arrival *said)
{
	int err = compare_records(channel, said);
	return fail_at(channel, route->peer, err ? err : RING_EPEER);
}

/* What the peer wrote for an exchange. A message by its link instead is another call's. */
static const struct ring_arrival *written_by(struct ring_channel *channel, struct ring_route *route,
					     uint64_t exchange, int *err)
{
	*err = 0;
	if (ring_board_read(route->board, exchange, &route->sheet))
		return &route->sheet;
	const struct ring_arrival *message = sent_by(channel, route, err);
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

/* Whether a peer has written for the next exchange: then it has sent all that it sends for this call. */
static bool has_gone_on(const struct ring_channel *channel, const struct ring_route *route,
			struct ring_arrival *next)
{
	return channel->board && ring_board_read(route->board, channel->exchanges + 1, next);
}

/* What entry `in` needs of its peer, NULL if it is not there yet, with *err if it never will be. */
static const struct ring_arrival *arrived(struct ring_channel *channel,
					  const struct ring_transfer *in, struct ring_route *route,
					  int *err)
{
	struct ring_arrival next;
	if (is_on_board(channel, in))
		return written_by(channel, route, exchange_of(channel, in), err);
	const struct ring_arrival *message = sent_by(channel, route, err);
	if (message || *err || !has_gone_on(channel, route, &next))
		return message;
	message = sent_by(channel, route, err);
	if (!message && !*err)
		*err = differ(channel, route, &next);
	return message;
}

/*
 * Compares a message with what the plan and the entry record say it must be. If it is not even a record
 * where that should be, the peer may have written one, for a call of another kind.
 */
static int check(struct ring_channel *channel, const struct ring_transfer *in,
		 const struct ring_route *route, const struct ring_arrival *message)
{
	struct ring_arrival next;
	int err = in->opens ? compare_records(channel, message) : 0;
	size_t bytes = is_on_board(channel, in) ? sheet_bytes(channel, in->peer)
						: message_bytes(channel, in);
	if (!err && message->bytes != bytes)
		err = RING_EPEER;
	if (err == RING_EPEER && has_gone_on(channel, route, &next))
		return differ(channel, route, &next);
	return err ? fail_at(channel, in->peer, err) : 0;
}

/* Receives what entry `in` needs of its peer. returns 1; 0 if it is not there yet; an error */
static int receive(struct ring_channel *channel, const struct ring_transfer *in,
		   const struct ring_arrival **message)
{
	struct ring_route *route = route_to(channel, in->peer);
	int err;
	if (!route || !route->in)
		return 0;
	*message = arrived(channel, in, route, &err);
	if (!*message)
		return err;
	err = check(channel, in, route, *message);
	if (err)
		return err;
	route->taken += !is_on_board(channel, in);
	route->received_messages += in->bytes > 0;
	route->received_bytes += in->bytes;
	if (ring_plan_reaches(channel->plan) && in->exchange + 1 == channel->plan->exchanges)
		ring_direct_count(channel, in->peer);
	if (channel->tells)
		memcpy(&channel->partners->where[in->peer], payload(channel, in, *message),
		       sizeof(struct ring_whereabouts));
	return 1;
}

/* Starts entry `started`. returns 1; 0 if it cannot start yet; an error */
static int start(struct ring_channel *channel)
{
	const struct ring_transfer *in = incoming(channel, channel->started);
	bool direct = ring_transfer_is_direct(in);
	if (channel->sent < in->needs || (direct && channel->reduced < channel->started))
		return 0;
	const void *data = NULL;
	if (ring_transfer_is_message(in, channel->self)) {
		const struct ring_arrival *message;
		int moved = receive(channel, in, &message);
		if (moved <= 0)
			return moved;
		data = payload(channel, in, message);
	}
	int err = direct ? ring_direct_start(channel, in) : give_to_device(channel, in, data);
	if (err)
		return err;
	note(channel, RING_STARTED, channel->started, in);
	channel->started++;
	return 1;
}

/* Gives back the slots of messages that are not needed any more. */
static void release(const struct ring_channel *channel, const struct ring_transfer *in)
{
	struct ring_link *link = NULL;
	if (in->action != RING_HOLD && ring_transfer_is_message(in, channel->self) &&
	    !is_on_board(channel, in))
		link = route_to(channel, in->peer)->in;
	if (link)
		link->transport->release(link);
	for (int k = 0; in->releases && k < in->held; k++) {
		struct ring_transfer room;
		const struct ring_transfer *hold = held(channel, in, k, &room);
		link = route_to(channel, hold->peer)->in;
		if (hold->bytes > 0 && !is_on_board(channel, hold))
			link->transport->release(link);
	}
}

/* Moves `reduced` over what the device has finished and gives the slots back. */
static int finish(struct ring_channel *channel)
{
	uint64_t jobs;
	int moves = 0;
	int err = channel->device->finished(channel->queue, &jobs);
	if (err)
		return err;
	for (; channel->reduced < jobs - channel->jobs_before; channel->reduced++, moves++) {
		const struct ring_transfer *in = incoming(channel, channel->reduced);
		err = ring_transfer_is_direct(in) ? ring_direct_finish(channel, in) : 0;
		if (err)
			return err;
		release(channel, in);
		note(channel, RING_REDUCED, channel->reduced, in);
	}
	return moves;
}

/*
 * Tells links that want to know what comes next, so that copies can land in the user's memory. Not
 * before all signals are through: until then nothing may land there. Such a link hears of every message
 * from its first, also if it came during the call.
 */
static void announce(struct ring_channel *channel)
{
	for (; channel->expected < channel->plan->incoming; channel->expected++) {
		if (channel->expected >= channel->plan->signals &&
		    channel->started < channel->plan->signals)
			return;
		const struct ring_transfer *in = incoming(channel, channel->expected);
		if (!ring_transfer_is_message(in, channel->self) || is_on_board(channel, in))
			continue;
		struct ring_route *route = route_to(channel, in->peer);
		struct ring_link *link = route ? route->in : NULL;
		if (!link)
			return;
		if (!link->transport->expect)
			continue;
		if (route->announced == link->released + link->depth)
			return;
		bool lands = in->action == RING_COPY && !in->opens;
		link->transport->expect(link, message_bytes(channel, in),
					lands ? address(channel, in->result) : NULL);
		route->announced++;
	}
}

/* A small call over boards: says one's input, to all whom there are links to. returns the moves */
static int say(struct ring_channel *channel)
{
	uint64_t before = channel->posted;
	for (; channel->posted < channel->plan->outgoing; channel->posted++) {
		const struct ring_transfer *out = outgoing(channel, channel->posted);
		struct ring_route *route = route_to(channel, out->peer);
		if (!route || !route->out)
			break;
		post_on_board(channel, out, route);
		route->sent_messages += out->bytes > 0;
		route->sent_bytes += out->bytes;
		note(channel, RING_POSTED, channel->posted, out);
		note(channel, RING_SENT, channel->posted, out);
	}
	channel->sent = channel->posted;
	return (int)(channel->posted - before);
}

/* Hears the next peer's. returns 1; 0 if it has said nothing yet; an error */
static int hear(struct ring_channel *channel)
{
	const struct ring_arrival *said;
	int moved = receive(channel, incoming(channel, channel->heard), &said);
	channel->heard += moved > 0;
	return moved;
}

/* Adds or copies what was heard; that it was held until now takes no job. returns 0, or an error */
static int take(struct ring_channel *channel)
{
	const struct ring_plan *plan = channel->plan;
	uint64_t held = plan->params.size > 2 ? plan->outgoing : 0;
	int err = 0;
	for (uint64_t j = held; !err && j < plan->incoming; j++) {
		const struct ring_transfer *in = incoming(channel, j);
		const struct ring_route *route = route_to(channel, in->peer);
		bool is_message = ring_transfer_is_message(in, channel->self);
		err = give_to_device(channel, in,
				     is_message ? payload(channel, in, &route->sheet) : NULL);
	}
	if (err)
		return err;
	note_incoming(channel, RING_STARTED, 0, plan->incoming);
	channel->started = plan->incoming;
	channel->jobs_before -= held;
	return 0;
}

/* No slot is to be given back. returns the moves, or an error */
static int count_taken(struct ring_channel *channel)
{
	uint64_t jobs, before = channel->reduced;
	int err = channel->device->finished(channel->queue, &jobs);
	if (err)
		return err;
	channel->reduced = jobs - channel->jobs_before;
	note_incoming(channel, RING_REDUCED, before, channel->reduced);
	return (int)(channel->reduced - before);
}

/*
 * In a straight line: nothing is ever in the way of a small call but what is not said yet, and links that
 * are still made. returns the moves, or an error
 */
static int advance_small(struct ring_channel *channel)
{
	const struct ring_plan *plan = channel->plan;
	int moves = channel->posted < plan->outgoing ? say(channel) : 0, moved = 1;
	while (channel->heard < plan->outgoing) {
		moved = hear(channel);
		if (moved <= 0)
			return moved < 0 ? moved : moves;
		moves++;
	}
	int err = channel->started == 0 ? take(channel) : 0;
	moved = err ? err : count_taken(channel);
	return moved < 0 ? moved : moves + moved;
}

/* Whether what is next to be sent is complete. */
static bool can_send_next(struct ring_channel *channel)
{
	return channel->posted < channel->plan->outgoing &&
	       outgoing(channel, channel->posted)->needs <= channel->reduced;
}

/*
 * Sends first: at a call's start what this rank has to say can go, and the others' has hardly come.
 */
int ring_channel_advance(struct ring_channel *channel)
{
	if (channel->is_small)
		return advance_small(channel);
	int moves = channel->sent < channel->plan->outgoing ? post_sends(channel) : 0;
	if (moves < 0)
		return moves;
	while (channel->started < channel->plan->incoming) {
		if (channel->announces)
			announce(channel);
		bool holds = incoming(channel, channel->started)->action == RING_HOLD;
		int moved = start(channel);
		if (moved < 0)
			return moved;
		if (moved == 0)
			break;
		moved = holds ? 0 : finish(channel); /* what is held gives nothing back */
		if (moved < 0)
			return moved;
		moves++;
		if (can_send_next(channel))
			break; /* send on what is still in cache */
	}
	int finished = channel->reduced < channel->started ? finish(channel) : 0;
	return finished < 0 ? finished : moves + finished;
}

/* The incoming entry that is next. */
static uint64_t next_in(const struct ring_channel *channel)
{
	return channel->is_small && channel->started == 0 ? channel->heard : channel->started;
}

int ring_channel_waits_for(const struct ring_channel *channel, int *step)
{
	if (next_in(channel) < channel->plan->incoming) {
		struct ring_transfer in = ring_plan_incoming(channel->plan, next_in(channel));
		*step = in.step;
		if (channel->sent >= in.needs && in.peer != channel->self)
			return in.peer;
	}
	if (channel->sent < channel->plan->outgoing) {
		struct ring_transfer out = ring_plan_outgoing(channel->plan, channel->sent);
		*step = out.step;
		return out.peer;
	}
	return -1;
}

/* The rank whose message is next to be started, -1 if something else comes first. */
static int listens_to(const struct ring_channel *channel)
{
	if (next_in(channel) == channel->plan->incoming)
		return -1;
	struct ring_transfer in = ring_plan_incoming(channel->plan, next_in(channel));
	return channel->sent >= in.needs ? in.peer : -1;
}

/*
 * Of the incoming links only the next message's counts: what has come by others is not looked at
 * before its turn, and would keep the sleeper awake till then.
 */
int ring_channel_wait_fds(const struct ring_channel *channel, struct pollfd *fds)
{
	int count = 0, from = listens_to(channel);
	for (int i = 0; i < channel->route_count; i++) {
		const struct ring_route *route = &channel->routes[i];
		const struct ring_link *links[] = {route->peer == from ? route->in : NULL,
						   route->out};
		for (int k = 0; k < 2; k++) {
			short events = 0;
			int fd = links[k] ? links[k]->transport->wait_fd(links[k], &events) : -1;
			if (fd >= 0 && events)
				fds[count++] = (struct pollfd){.fd = fd, .events = events};
		}
	}
	return count;
}
