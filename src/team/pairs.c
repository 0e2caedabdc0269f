/* SPDX-License-Identifier: MIT */
/* Links beside the rings, and the pairs that send and receive over them. */
#include "pairs.h"

#include <limits.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/datatype.h"
#include "base/log.h"
#include "call.h"
#include "links.h"
#include "team.h"
#include "door/edge.h"
#include "health/vigil.h"

struct ring_pair {
	struct ring_channel channel; /* whose `next` is that of the next busy one; it stays first */
	int peer;
	bool outgoing;
	uint64_t messages;       /* begun so far */
	uint64_t deadline_ms;    /* of the current one; 0: nobody has asked */
	struct ring_call *doing; /* begun, and not complete */
	struct ring_call *todo;  /* not begun, by their `next` */
	struct ring_call **last; /* where the next one is added */
};

static struct ring_pair *pair_of(struct ring_channel *channel)
{
	return (struct ring_pair *)channel;
}

struct ring_wanted_link {
	struct ring_edge edge;
	struct ring_vigil vigil;      /* incoming: has the sender left? */
	struct ring_channel *channel; /* the link's */
	uint32_t failed;              /* transports that could not make it (bits) */
	struct ring_wanted_link *next;
};

/* ---- links ---- */

static bool is_wanted(const struct ring_pairs *pairs, const struct ring_channel *channel,
		      const struct ring_edge *edge)
{
	const struct ring_wanted_link *wanted = pairs->wanted;
	while (wanted && (wanted->channel != channel || wanted->edge.peer != edge->peer ||
			  wanted->edge.outgoing != edge->outgoing))
		wanted = wanted->next;
	return wanted != NULL;
}

/* Where a ring may use them, links are as large as a ring's. */
static size_t slot_bytes(const struct ring_team *team, int number, int peer)
{
	const struct ring_placement *placement = &team->placement;
	bool neighbours = peer == placement->next.rank || peer == placement->prev.rank;
	return number >= RING_CHANNEL_FAR && neighbours
		       ? placement->tuning.far_chunk_bytes
		       : ring_tuning_pair_chunk(&placement->tuning, team->size);
}

/* Both ends choose alike. returns an index of ring_transports, or -1 */
static int choose_transport(const struct ring_team *team, const struct ring_peer *other,
			    bool outgoing, uint32_t failed)
{
	const struct ring_peer *self = &team->peers[team->rank];
	const char *allowed = team->config.transport[0] ? team->config.transport : NULL;
	return ring_transport_choose(outgoing ? self : other, outgoing ? other : self, allowed,
				     team->placement.masked | failed);
}

static struct ring_edge make_edge(const struct ring_team *team, int number, int peer, bool outgoing)
{
	const struct ring_peer *other = &team->peers[peer];
	return (struct ring_edge){
		.role = RING_ROLE_DATA,
		.channel = number,
		.outgoing = outgoing,
		.peer = other,
		.transport = choose_transport(team, other, outgoing, 0),
		.depth = team->placement.tuning.depth,
		.slot_bytes = slot_bytes(team, number, peer),
	};
}

static bool is_again(const struct ring_edge *edge)
{
	return edge->channel & RING_CHANNEL_AGAIN;
}

/*
 * In the mesh a connection carries links both ways where it can; the lower rank dials. Where
 * another transport was chosen first there is one for either.
 */
static bool goes_both_ways(const struct ring_edge *edge)
{
	if (is_again(edge))
		return false;
	bool mesh = edge->channel == RING_CHANNEL_MESH || edge->channel >= RING_CHANNEL_FAR;
	return mesh && edge->transport >= 0 && ring_transports[edge->transport]->reverse;
}

int ring_pairs_want_link(struct ring_pairs *pairs, struct ring_channel *channel, int number,
			 int peer, bool outgoing)
{
	if (ring_channel_link(channel, peer, outgoing))
		return 0;
	struct ring_edge edge = make_edge(pairs->team, number, peer, outgoing);
	struct ring_link *there = ring_channel_link(channel, peer, !outgoing);
	if (goes_both_ways(&edge) && there)
		return ring_channel_add_reverse(channel, peer, !outgoing);
	if (goes_both_ways(&edge))
		edge.outgoing = pairs->team->rank < peer;
	if (is_wanted(pairs, channel, &edge))
		return 0;
	struct ring_wanted_link *wanted = calloc(1, sizeof(*wanted));
	if (!wanted)
		return RING_ENOMEM;
	wanted->channel = channel;
	wanted->edge = edge;
	wanted->next = pairs->wanted;
	pairs->wanted = wanted;
	return 0;
}

int ring_pairs_want(struct ring_pairs *pairs, struct ring_channel *channel, int number,
		    const struct ring_plan *plan)
{
	bool rings = ring_algorithm_has(plan->params.algorithm, RING_GOES_AROUND);
	int err = rings ? 0 : ring_channel_reserve(channel, pairs->team->size);
	for (int i = 0; !err && i < plan->edges; i++) {
		bool outgoing;
		int peer = ring_plan_edge(plan, i, &outgoing);
		err = ring_pairs_want_link(pairs, channel, number, peer, outgoing);
	}
	return err;
}

static void drop_wanted(struct ring_wanted_link **link)
{
	struct ring_wanted_link *wanted = *link;
	*link = wanted->next;
	ring_vigil_drop(&wanted->vigil);
	ring_edge_drop(&wanted->edge);
	free(wanted);
}

void ring_pairs_leave(struct ring_pairs *pairs, const struct ring_channel *channel)
{
	for (struct ring_wanted_link **link = &pairs->wanted; *link;) {
		struct ring_wanted_link *wanted = *link;
		if (wanted->channel != channel) {
			link = &wanted->next;
			continue;
		}
		*link = wanted->next;
		wanted->next = pairs->left;
		pairs->left = wanted;
	}
}

/*
 * If this rank dials the same peer as well, that fails when the peer's door closes: no vigil is
 * needed.
 */
static bool keeps_vigil(const struct ring_wanted_link *wanted)
{
	const struct ring_edge *edge = &wanted->edge;
	return !edge->outgoing && !edge->connected &&
	       (edge->channel == RING_CHANNEL_PAIR || is_again(edge) || goes_both_ways(edge) ||
		!wanted->channel->call.plan->mutual);
}

/*
 * A network card may have no room for one more link, or a path may let no such packets through. The
 * end that finds out closes the connection, by which the other one does, and both go on with the
 * next transport over a new one. False: there is none.
 */
static bool fall_back(struct ring_pairs *pairs, struct ring_wanted_link *wanted,
		      const struct ring_failure *trouble)
{
	struct ring_edge *edge = &wanted->edge;
	const int failed = edge->transport;
	if (!edge->connected || edge->starved || ring_transports[failed]->kind != RING_REACH_WIRE)
		return false;
	const uint32_t without = wanted->failed | UINT32_C(1) << failed;
	const int next = choose_transport(pairs->team, edge->peer, edge->outgoing, without);
	if (next < 0)
		return false;
	ring_log(pairs->fell_back ? RING_INFO : RING_WARN,
		 "rank %d %s %d: a link over %s instead of %s: %s", pairs->team->rank,
		 edge->outgoing ? "->" : "<-", edge->peer->rank, ring_transports[next]->name,
		 ring_transports[failed]->name, trouble->text);
	pairs->fell_back = true;
	wanted->failed = without;
	ring_edge_drop(edge);
	edge->transport = next;
	edge->channel |= RING_CHANNEL_AGAIN;
	return true;
}

static int step_link(struct ring_pairs *pairs, struct ring_wanted_link *wanted,
		     struct ring_failure *failure)
{
	struct ring_edge *edge = &wanted->edge;
	if (edge->transport < 0)
		return ring_fail(failure, RING_ENOTSUP, "no transport that is allowed reaches it");
	struct ring_failure trouble = {0};
	int err;
	while ((err = ring_edge_step(edge, &pairs->links->ends, &trouble)) && err != RING_EAGAIN) {
		ring_fail(&trouble, err, "%s: %s", ring_transports[edge->transport]->name,
			  ring_strerror(err));
		if (!fall_back(pairs, wanted, &trouble))
			return ring_fail(failure, err, "%s", trouble.text);
		trouble = (struct ring_failure){0};
	}
	if (err == RING_EAGAIN && keeps_vigil(wanted))
		err = ring_vigil_step(&wanted->vigil, edge->peer, &pairs->links->ends, failure);
	return err;
}

/* The dial, or the vigil, found out: no more need be explained. */
static bool is_unreached(const struct ring_wanted_link *wanted)
{
	return ring_edge_is_unreached(&wanted->edge) || ring_edge_is_unreached(&wanted->vigil.edge);
}

static int add_links(struct ring_pairs *pairs, struct ring_wanted_link *wanted,
		     struct ring_failure *failure)
{
	int fd = ring_edge_socket(&wanted->edge);
	int err = fd < 0 ? 0 : ring_lookout_add(&pairs->links->lookout, fd, wanted->edge.peer);
	if (err)
		return err;
	struct ring_link *link = ring_edge_take_link(&wanted->edge);
	err = ring_channel_add_link(wanted->channel, link);
	if (!err && goes_both_ways(&wanted->edge))
		err = ring_channel_add_reverse(wanted->channel, wanted->edge.peer->rank,
					       wanted->edge.outgoing);
	return err ? ring_fail(failure, err, "%s", ring_strerror(err)) : 0;
}

/* returns the links that were finished, or an error */
static int step_links(struct ring_pairs *pairs, struct ring_pairs_trouble *trouble)
{
	int moves = 0;
	struct ring_wanted_link **link = &pairs->wanted;
	while (*link) {
		struct ring_wanted_link *wanted = *link;
		int err = step_link(pairs, wanted, &trouble->failure);
		if (err == RING_EAGAIN) {
			link = &wanted->next;
			continue;
		}
		if (!err)
			err = add_links(pairs, wanted, &trouble->failure);
		if (err) {
			trouble->channel = wanted->channel;
			trouble->peer = wanted->edge.peer->rank;
			trouble->unreached = is_unreached(wanted);
			return err;
		}
		drop_wanted(link);
		moves++;
	}
	return moves;
}

int ring_pairs_max_fds(const struct ring_pairs *pairs)
{
	int count = pairs->wanted ? 1 : 0;
	for (const struct ring_wanted_link *wanted = pairs->wanted; wanted; wanted = wanted->next)
		count += 2;
	return count;
}

void ring_pairs_announce(const struct ring_pairs *pairs)
{
	if (pairs->wanted)
		ring_contact_awake(pairs->links->ends.contact);
}

int ring_pairs_wait_fds(const struct ring_pairs *pairs, struct pollfd *fds, int *timeout_ms)
{
	int count = 0, ms = *timeout_ms < 0 ? INT_MAX : *timeout_ms;
	if (!pairs->wanted)
		return 0;
	for (const struct ring_wanted_link *wanted = pairs->wanted; wanted; wanted = wanted->next) {
		ring_edge_poll(&wanted->edge, &fds[count++], &ms);
		if (keeps_vigil(wanted))
			ring_vigil_poll(&wanted->vigil, &fds[count++], &ms);
	}
	fds[count++] = (struct pollfd){.fd = ring_contact_wake_fd(pairs->links->ends.contact),
				       .events = POLLIN};
	*timeout_ms = ms == INT_MAX ? *timeout_ms : ms;
	return count;
}

/* ---- messages ---- */

/* The pair, made if there is none yet; NULL without memory. */
static struct ring_pair *find_pair(struct ring_pairs *pairs, int peer, bool outgoing)
{
	if (!pairs->ends)
		pairs->ends = calloc(2 * (size_t)pairs->team->size, sizeof(struct ring_pair *));
	if (!pairs->ends)
		return NULL;
	struct ring_pair **end = &pairs->ends[2 * peer + !outgoing];
	if (*end)
		return *end;
	struct ring_pair *pair = calloc(1, sizeof(*pair));
	if (!pair)
		return NULL;
	if (ring_channel_open(&pair->channel, pairs->team->rank, &ring_device_cpu, 0, 0)) {
		ring_channel_close(&pair->channel);
		free(pair);
		return NULL;
	}
	pair->peer = peer;
	pair->outgoing = outgoing;
	pair->channel.trace = pairs->team->trace;
	*end = pair;
	return pair;
}

/* returns 0; RING_ENOMEM, RING_ESYSTEM: the channel cannot work on such memory */
static int begin_message(struct ring_pairs *pairs, struct ring_pair *pair)
{
	struct ring_call *call = pair->todo;
	const struct ring_operands *operands = &call->operands;
	int receiver = pair->outgoing ? pair->peer : pairs->team->rank;
	struct ring_plan_params params = {
		.kind = call->kind,
		.algorithm = ring_algorithm_of(call->kind),
		.size = pairs->team->size,
		.position = pairs->team->placement.position,
		.order = pairs->team->order,
		.root = pair->peer,
		.count = call->count,
		.element_bytes = (uint32_t)ring_datatype_bytes(call->operands.type),
		.chunk_bytes = ring_tuning_pair_chunk(&pairs->team->placement.tuning,
						      pairs->team->size),
		.chunks_per_round = 1,
		.channels = 1,
	};
	struct ring_plan plan = ring_plan_make(&params);
	struct ring_record record = ring_record_make(RING_KIND_SEND, ++pair->messages, call->count,
						     (int)call->operands.type, -1, receiver);
	int err = ring_channel_serve(&pair->channel, call->device, call->chip, 0);
	if (err)
		return err;
	pair->todo = call->next;
	pair->doing = call;
	pair->deadline_ms = 0;
	ring_channel_start(&pair->channel, &plan, operands, &record);
	return 0;
}

static void append(struct ring_pairs *pairs, struct ring_pair *pair, struct ring_call *call)
{
	bool idle = !pair->doing && !pair->todo;
	if (!pair->todo)
		pair->last = &pair->todo;
	call->next = NULL;
	*pair->last = call;
	pair->last = &call->next;
	call->batch.lead->batch.left++;
	if (idle) {
		pair->channel.next = pairs->busy;
		pairs->busy = &pair->channel;
	}
}

int ring_pairs_add(struct ring_pairs *pairs, struct ring_call *call)
{
	bool sends = call->kind == RING_KIND_SEND;
	int err = 0;
	if (sends && call->root == pairs->team->rank)
		return 0; /* the receive copies */
	struct ring_pair *pair = find_pair(pairs, call->root, sends);
	if (!pair)
		return RING_ENOMEM;
	if (call->root != pairs->team->rank)
		err = ring_pairs_want_link(pairs, &pair->channel, RING_CHANNEL_PAIR, call->root,
					   sends);
	if (!err)
		append(pairs, pair, call);
	return err;
}

/* One that receives from this rank itself has no link. */
static int connect_pair(struct ring_pairs *pairs, int peer, bool outgoing,
			const struct ring_device *device, int chip)
{
	struct ring_pair *pair = find_pair(pairs, peer, outgoing);
	if (!pair)
		return RING_ENOMEM;
	int err = ring_channel_serve(&pair->channel, device, chip, 0);
	if (err || peer == pairs->team->rank)
		return err;
	return ring_pairs_want_link(pairs, &pair->channel, RING_CHANNEL_PAIR, peer, outgoing);
}

int ring_pairs_connect(struct ring_pairs *pairs, const struct ring_device *device, int chip)
{
	int err = 0;
	for (int peer = 0; peer < pairs->team->size && !err; peer++) {
		err = connect_pair(pairs, peer, false, device, chip);
		if (!err && peer != pairs->team->rank)
			err = connect_pair(pairs, peer, true, device, chip);
	}
	return err;
}

/* One message less of its batch. */
static void leave_batch(struct ring_pairs *pairs, const struct ring_call *call, int result)
{
	struct ring_call *lead = call->batch.lead;
	if (result)
		lead->result = result;
	if (--lead->batch.left > 0 || !lead->batch.ready)
		return;
	lead->batch.next = pairs->ended;
	pairs->ended = lead;
}

struct ring_call *ring_pairs_take_ended(struct ring_pairs *pairs)
{
	struct ring_call *lead = pairs->ended;
	if (lead)
		pairs->ended = lead->batch.next;
	return lead;
}

/* Begins the next message, goes on with it, ends it. returns moves, or an error and why */
static int step_pair(struct ring_pairs *pairs, struct ring_pair *pair,
		     struct ring_pairs_trouble *trouble)
{
	int moves = 0;
	trouble->channel = &pair->channel;
	if (!pair->doing && pair->todo->batch.lead->batch.ready) {
		int err = begin_message(pairs, pair);
		if (err) {
			trouble->device = pair->channel.device;
			return err;
		}
		moves++;
	}
	if (!pair->doing)
		return 0;
	int moved = ring_channel_advance(&pair->channel);
	if (moved < 0) {
		trouble->broken = true;
		return moved;
	}
	if (ring_channel_is_done(&pair->channel)) {
		leave_batch(pairs, pair->doing, 0);
		pair->doing = NULL;
		moves++;
	}
	return moves + moved;
}

int ring_pairs_step(struct ring_pairs *pairs, struct ring_pairs_trouble *trouble)
{
	int moves = step_links(pairs, trouble);
	struct ring_channel **link = &pairs->busy;
	while (moves >= 0 && *link) {
		struct ring_pair *pair = pair_of(*link);
		int moved = step_pair(pairs, pair, trouble);
		moves = moved < 0 ? moved : moves + moved;
		if (pair->doing || pair->todo)
			link = &pair->channel.next;
		else
			*link = pair->channel.next;
	}
	return moves;
}

const struct ring_channel *ring_pairs_find_late(const struct ring_pairs *pairs, uint64_t now_ms,
						int timeout_ms, int *rest_ms)
{
	for (struct ring_channel *channel = pairs->busy; channel; channel = channel->next) {
		struct ring_pair *pair = pair_of(channel);
		if (!pair->doing)
			continue;
		if (!pair->deadline_ms)
			pair->deadline_ms = ring_clock_deadline(now_ms, timeout_ms);
		if (pair->deadline_ms <= now_ms)
			return channel;
		int rest = (int)(pair->deadline_ms - now_ms);
		if (*rest_ms < 0 || *rest_ms > rest)
			*rest_ms = rest;
	}
	return NULL;
}

static void forget_messages(struct ring_pairs *pairs, struct ring_pair *pair, int result)
{
	if (pair->doing)
		leave_batch(pairs, pair->doing, result);
	pair->doing = NULL;
	while (pair->todo) {
		struct ring_call *call = pair->todo;
		pair->todo = call->next;
		leave_batch(pairs, call, result);
	}
}

void ring_pairs_give_up(struct ring_pairs *pairs, int result)
{
	for (; pairs->busy; pairs->busy = pairs->busy->next)
		forget_messages(pairs, pair_of(pairs->busy), result);
}

void ring_pairs_each(const struct ring_pairs *pairs, void *context,
		     void (*visit)(void *context, const struct ring_channel *channel))
{
	for (int end = 0; pairs->ends && end < 2 * pairs->team->size; end++)
		if (pairs->ends[end])
			visit(context, &pairs->ends[end]->channel);
}

size_t ring_pairs_memory(const struct ring_pairs *pairs)
{
	size_t ends = pairs->ends ? 2 * (size_t)pairs->team->size : 0;
	size_t bytes = ends * sizeof(*pairs->ends);
	for (size_t end = 0; end < ends; end++) {
		const struct ring_pair *pair = pairs->ends[end];
		bytes += pair ? sizeof(*pair) + ring_channel_memory(&pair->channel) : 0;
	}
	return bytes;
}

void ring_pairs_close(struct ring_pairs *pairs)
{
	while (pairs->wanted)
		drop_wanted(&pairs->wanted);
	while (pairs->left)
		drop_wanted(&pairs->left);
	for (int end = 0; pairs->ends && end < 2 * pairs->team->size; end++) {
		if (!pairs->ends[end])
			continue;
		ring_channel_close(&pairs->ends[end]->channel);
		free(pairs->ends[end]);
	}
	free(pairs->ends);
	pairs->ends = NULL;
	pairs->busy = NULL;
}
