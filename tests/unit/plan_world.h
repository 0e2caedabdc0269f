/* SPDX-License-Identifier: MIT */
/*
 * Carries out the plans of all ranks in one place, move by move, in any order. Links are those that
 * the plans name, and no others.
 *
 * Everything is as late as the contracts allow. A source is read when the message flies, which may
 * be long after it was posted; `sent` may lag behind arrival; a result is half written from start to
 * completion. Messages also carry which ranks' entry into the call they prove.
 *
 * A move that breaks a promise fails the test and prints the setting with its seed.
 */
#ifndef RING_TEST_PLAN_WORLD_H
#define RING_TEST_PLAN_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "tests/transport/dice.h"
#include "tests/unit/plan_setting.h"

struct message {
	const struct value *source; /* where the sender has it ... */
	struct value *slot;         /* ... and the receiver        */
	uint64_t bytes, proof;
	bool opens;
};

struct link {
	struct actor *from, *to;
	uint64_t queued, flown, retired; /* messages as the sender counts them */
	uint64_t taken, released;        /* ... and the receiver               */
	struct message *messages;        /* [depth], message k at k % depth    */
	bool named_by_sender, named_by_receiver;
};

/* One rank on one channel. */
struct actor {
	struct ring_plan plan;
	int rank;
	struct link **to, **from; /* [size], by the peer's rank; NULL: none */
	struct link *links;       /* outgoing, link_count of them           */
	int link_count, flies_next;
	uint64_t posted, sent, started, reduced; /* entries */
	struct ring_transfer out, in; /* entries `posted` and `started`, if there are such */
	uint64_t payload;
	struct value *scratch;
	uint64_t *proof; /* [incoming + 1]: ranks that are proved once so many entries are started */
	uint64_t proved_by_needs; /* the most that a posted entry needed */
};

struct buffer {
	struct value *values;
	uint64_t length;
};

struct world {
	size_t bytes; /* of all this, which is one piece of memory: it can be saved and restored */
	const struct setting *setting;
	struct actor *actors; /* [channel * actors_of(setting) + position]; of a pair: sender, receiver */
	int actor_count;
	bool *idle; /* [actor_count]: can certainly make no move */
	struct buffer input[RANKS_MAX], output[RANKS_MAX];
	char *unused;
};

enum move { MOVE_POST, MOVE_FLY, MOVE_RETIRE, MOVE_START, MOVE_FINISH, MOVES };

static void demand(const struct world *world, bool holds, const char *promise)
{
	if (holds)
		return;
	char text[256];
	describe(world->setting, text, sizeof(text));
	fail_msg("broken: %s (%s)", promise, text);
}

/* ---- making a world ----------------------------------------------------------------------- */

static void *take(struct world *world, size_t bytes)
{
	void *taken = world->unused;
	world->unused += (bytes + 7) / 8 * 8;
	return taken;
}

static struct value *take_values(struct world *world, uint64_t count)
{
	return take(world, count * sizeof(struct value));
}

/* More than is needed: every link is counted by both its ends, and duplicates once more. */
static size_t world_bytes(const struct setting *s)
{
	size_t bytes = sizeof(struct world) + sizeof(uint64_t);
	for (int rank = 0; rank < s->size; rank++)
		bytes += (input_length(s, rank) + output_length(s, rank)) * sizeof(struct value);
	for (int channel = 0; channel < s->channels; channel++)
		for (int place = 0; place < actors_of(s); place++) {
			struct ring_plan plan = plan_of(s, place, channel);
			size_t slot = sizeof(struct message) + plan.chunk * sizeof(struct value);
			size_t link = sizeof(struct link) + s->depth * slot;
			bytes += sizeof(struct actor) + sizeof(bool) +
				 (plan.incoming + 1) * sizeof(uint64_t) +
				 plan.scratch_chunks * plan.chunk * sizeof(struct value) +
				 plan.edges * link + 2 * s->size * sizeof(struct link *);
		}
	return bytes;
}

/* In place, send and recv of a rank are the same memory, or one is a part of the other. */
static void share_buffers(const struct setting *s, int rank, struct buffer *input,
			  struct buffer *output)
{
	if (input->length == 0 || output->length == 0)
		return;
	uint64_t part = s->count * rank;
	if (s->kind == RING_KIND_REDUCE_SCATTER || s->kind == RING_KIND_SCATTER)
		output->values = input->values + part;
	else
		input->values = output->values + (receives_parts(s) ? part : 0);
}

static void make_buffers(struct world *world, int rank)
{
	const struct setting *s = world->setting;
	struct buffer *input = &world->input[rank], *output = &world->output[rank];
	input->length = input_length(s, rank);
	output->length = output_length(s, rank);
	input->values = take_values(world, input->length);
	output->values = take_values(world, output->length);
	if (s->in_place)
		share_buffers(s, rank, input, output);
	for (uint64_t i = 0; i < input->length; i++)
		input->values[i] = own_value(s, rank, i);
}

static void load_entries(struct actor *actor)
{
	if (actor->posted < actor->plan.outgoing)
		actor->out = ring_plan_outgoing(&actor->plan, actor->posted);
	if (actor->started < actor->plan.incoming)
		actor->in = ring_plan_incoming(&actor->plan, actor->started);
}

/* The actor that has `rank` on an actor's channel: of a pair the other one. */
static struct actor *peer_of(const struct world *world, const struct actor *actor, int rank)
{
	const struct setting *s = world->setting;
	int here = (int)(actor - world->actors), first = here - here % actors_of(s);
	return &world->actors[first + (is_pair(s) ? 1 - here % 2 : position_of(s, rank))];
}

static void make_link(struct world *world, struct actor *from, int peer)
{
	struct actor *to = peer_of(world, from, peer);
	struct link *link = take(world, sizeof(*link));
	demand(world, to->rank == peer, "links go to ranks that take part");
	*link = (struct link){.from = from, .to = to, .named_by_sender = true};
	if (from->link_count++ == 0)
		from->links = link;
	from->to[peer] = to->from[from->rank] = link;
}

/* Makes the outgoing links of an actor, one behind the other. */
static void make_links(struct world *world, struct actor *actor)
{
	for (int i = 0; i < actor->plan.edges; i++) {
		bool outgoing;
		int peer = ring_plan_edge(&actor->plan, i, &outgoing);
		demand(world, peer != actor->rank, "nobody needs a link to itself");
		if (outgoing && !actor->to[peer])
			make_link(world, actor, peer);
	}
	for (int i = 0; i < actor->link_count; i++) {
		struct link *link = &actor->links[i];
		link->messages = take(world, world->setting->depth * sizeof(struct message));
		for (int k = 0; k < world->setting->depth; k++)
			link->messages[k].slot = take_values(world, actor->plan.chunk);
	}
}

static void name_incoming_links(struct world *world, struct actor *actor)
{
	for (int i = 0; i < actor->plan.edges; i++) {
		bool outgoing;
		int peer = ring_plan_edge(&actor->plan, i, &outgoing);
		if (outgoing)
			continue;
		demand(world, actor->from[peer], "the sender names its link too");
		actor->from[peer]->named_by_receiver = true;
	}
}

static void make_actor(struct world *world, int place, int channel)
{
	const struct setting *s = world->setting;
	struct actor *actor = &world->actors[channel * actors_of(s) + place];
	actor->plan = plan_of(s, place, channel);
	actor->rank = s->order[actor->plan.params.position];
	actor->to = take(world, s->size * sizeof(struct link *));
	actor->from = take(world, s->size * sizeof(struct link *));
	actor->scratch = take_values(world, actor->plan.scratch_chunks * actor->plan.chunk);
	actor->proof = take(world, (actor->plan.incoming + 1) * sizeof(uint64_t));
	load_entries(actor);
}

static struct world *make_world(const struct setting *setting)
{
	size_t bytes = world_bytes(setting);
	struct world *world = calloc(1, bytes);
	assert_non_null(world);
	world->setting = setting;
	world->unused = (char *)(world + 1);
	world->actor_count = actors_of(setting) * setting->channels;
	world->actors = take(world, world->actor_count * sizeof(struct actor));
	world->idle = take(world, world->actor_count * sizeof(bool));
	for (int rank = 0; rank < setting->size; rank++)
		make_buffers(world, rank);
	for (int channel = 0; channel < setting->channels; channel++)
		for (int place = 0; place < actors_of(setting); place++)
			make_actor(world, place, channel);
	for (int i = 0; i < world->actor_count; i++)
		make_links(world, &world->actors[i]);
	for (int i = 0; i < world->actor_count; i++)
		name_incoming_links(world, &world->actors[i]);
	world->bytes = (size_t)(world->unused - (char *)world);
	demand(world, world->bytes <= bytes, "all ranks plan alike");
	return world;
}

/* ---- moves -------------------------------------------------------------------------------- */

static struct value *values_at(const struct world *world, const struct actor *actor,
			       struct ring_place place, uint64_t bytes)
{
	uint32_t element_bytes = world->setting->element_bytes;
	struct buffer buffer = {actor->scratch, actor->plan.scratch_chunks * actor->plan.chunk};
	if (place.buffer == RING_INPUT)
		buffer = world->input[actor->rank];
	else if (place.buffer == RING_OUTPUT)
		buffer = world->output[actor->rank];
	else
		demand(world, place.buffer == RING_SCRATCH, "places are this rank's own");
	demand(world, place.offset % element_bytes == 0 && bytes % element_bytes == 0,
	       "elements are whole");
	demand(world, (place.offset + bytes) / element_bytes <= buffer.length,
	       "places lie within their buffers");
	return buffer.values + place.offset / element_bytes;
}

/* The ranks that must agree. */
static uint64_t everybody(const struct setting *s)
{
	if (is_pair(s))
		return UINT64_C(1) << s->root | UINT64_C(1) << s->receiver;
	return ~UINT64_C(0) >> (64 - s->size);
}

static void queue_message(struct world *world, struct actor *actor, struct link *link)
{
	const struct setting *s = world->setting;
	const struct ring_transfer *out = &actor->out;
	demand(world, out->bytes <= actor->plan.chunk * s->element_bytes, "messages fit a slot");
	if (out->needs > actor->proved_by_needs)
		actor->proved_by_needs = out->needs;
	struct message *message = &link->messages[link->queued % s->depth];
	demand(world, out->opens || link->queued > 0, "the first message of a link has the record");
	message->bytes = out->bytes;
	message->opens = out->opens;
	message->proof = actor->proof[actor->proved_by_needs] | UINT64_C(1) << actor->rank;
	message->source = out->bytes ? values_at(world, actor, out->source, out->bytes) : NULL;
	for (uint64_t i = 0; i < out->bytes / s->element_bytes; i++)
		message->slot[i] = message->source[i];
	link->queued++;
	actor->payload += out->bytes;
}

static bool post(struct world *world, struct actor *actor)
{
	if (actor->posted == actor->plan.outgoing || actor->reduced < actor->out.needs)
		return false;
	demand(world, actor->out.action == RING_SEND || actor->out.action == RING_SIGNAL,
	       "messages and signals go out");
	if (ring_transfer_is_message(&actor->out, actor->rank)) {
		struct link *link = actor->to[actor->out.peer];
		demand(world, link && link->named_by_sender && link->named_by_receiver,
		       "both ends name the links they use");
		if (link->queued - link->released == (uint64_t)world->setting->depth)
			return false;
		queue_message(world, actor, link);
	}
	actor->posted++;
	load_entries(actor);
	return true;
}

static void wake(struct world *world, const struct actor *actor)
{
	world->idle[actor - world->actors] = false;
}

/* The transport reads the source; until now it must not have changed. */
static bool fly_over(struct world *world, struct link *link)
{
	const struct setting *s = world->setting;
	if (link->flown == link->queued)
		return false;
	const struct message *message = &link->messages[link->flown % s->depth];
	for (uint64_t i = 0; i < message->bytes / s->element_bytes; i++) {
		demand(world, message->slot[i].length > 0, "only what is complete is sent");
		demand(world, same(message->slot[i], message->source[i]),
		       "a source keeps its value until it was sent");
	}
	link->flown++;
	wake(world, link->to);
	return true;
}

/* Links take turns, so that none is always first. */
static bool fly(struct world *world, struct actor *actor)
{
	for (int i = 0; i < actor->link_count; i++) {
		struct link *link = &actor->links[actor->flies_next++ % actor->link_count];
		if (fly_over(world, link))
			return true;
	}
	return false;
}

static bool retire(struct world *world, struct actor *actor)
{
	(void)world;
	if (actor->sent == actor->posted)
		return false;
	struct ring_transfer out = ring_plan_outgoing(&actor->plan, actor->sent);
	if (ring_transfer_is_message(&out, actor->rank)) {
		struct link *link = actor->to[out.peer];
		if (link->retired == link->flown)
			return false;
		link->retired++;
	}
	actor->sent++;
	return true;
}

/* Notes whose entry is proved now; what writes to OUTPUT needs everybody's. */
static void prove(struct world *world, struct actor *actor, uint64_t proof)
{
	proof |= actor->proof[actor->started] | UINT64_C(1) << actor->rank;
	actor->proof[actor->started + 1] = proof;
	if (actor->in.bytes > 0 && actor->in.result.buffer == RING_OUTPUT)
		demand(world, proof == everybody(world->setting),
		       "nothing lands before every rank's record could have come");
}

static bool start(struct world *world, struct actor *actor)
{
	const struct setting *s = world->setting;
	const struct ring_transfer *in = &actor->in;
	if (actor->started == actor->plan.incoming || actor->sent < in->needs)
		return false;
	uint64_t proof = 0;
	demand(world, (in->action == RING_SIGNAL) == (actor->started < actor->plan.signals),
	       "the plan tells how many signals come first");
	if (ring_transfer_is_message(in, actor->rank)) {
		struct link *link = actor->from[in->peer];
		demand(world, link, "the receiver names the links it uses");
		if (link->taken == link->flown)
			return false;
		const struct message *message = &link->messages[link->taken++ % s->depth];
		demand(world, message->bytes == in->bytes && message->opens == in->opens,
		       "both ends know a message's size");
		proof = message->proof;
	}
	prove(world, actor, proof);
	if (in->bytes > 0 && in->action != RING_HOLD) {
		struct value *result = values_at(world, actor, in->result, in->bytes);
		bool aliased = in->action == RING_REDUCE || in->peer == actor->rank;
		aliased = aliased && result == values_at(world, actor, in->source, in->bytes);
		if (!aliased)
			memset(result, 0, in->bytes / s->element_bytes * sizeof(*result));
	}
	actor->started++;
	load_entries(actor);
	return true;
}

/* A rank's own input, scaled if the call is. */
static struct value own_summand(const struct world *world, const struct actor *actor,
				struct value own)
{
	demand(world, own.length == 1 && own.first == actor->plan.params.position && !own.scaled,
	       "a rank adds its own input");
	own.scaled = world->setting->scaled;
	return own;
}

/* before + behind */
static struct value add(const struct world *world, struct value before, struct value behind)
{
	int n = world->setting->size;
	demand(world, before.element == behind.element, "equal elements are added");
	demand(world, (before.first + before.length) % n == behind.first,
	       "places are added in their order");
	before.length = (int8_t)(before.length + behind.length);
	before.scaled = (int8_t)(before.scaled + behind.scaled);
	return before;
}

/* The link whose message entry j takes or holds, NULL if there is none. */
static struct link *link_of(const struct actor *actor, uint64_t j)
{
	struct ring_transfer in = ring_plan_incoming(&actor->plan, j);
	return ring_transfer_is_message(&in, actor->rank) ? actor->from[in.peer] : NULL;
}

/* Element i of the message of entry j, which is its link's oldest. */
static struct value arrived_at(const struct world *world, const struct actor *actor, uint64_t j,
			       uint64_t i)
{
	const struct link *link = link_of(actor, j);
	const struct message *message = &link->messages[link->released % world->setting->depth];
	demand(world, i < message->bytes / world->setting->element_bytes, "messages have it");
	return message->slot[i];
}

/* Element i of a sum, where `own` is this rank's: what is held in front of it, and what behind. */
static struct value add_up(const struct world *world, const struct actor *actor,
			   const struct ring_transfer *in, struct value own, uint64_t i)
{
	own = own_summand(world, actor, own);
	if (in->action == RING_SCALE)
		return own;
	if (in->peer != actor->rank)
		return add(world, arrived_at(world, actor, actor->reduced, i), own);
	struct value sum = own;
	i += in->skip / world->setting->element_bytes;
	for (int k = in->held; k-- > in->behind;) {
		struct value held = arrived_at(world, actor, in->holds + (uint64_t)k, i);
		sum = add(world, held, sum);
	}
	for (int k = 0; k < in->behind; k++)
		sum = add(world, sum, arrived_at(world, actor, in->holds + (uint64_t)k, i));
	return sum;
}

static void write_result(struct world *world, struct actor *actor, const struct ring_transfer *in)
{
	const struct setting *s = world->setting;
	bool sums = in->action == RING_REDUCE || in->action == RING_SCALE;
	bool local = in->peer == actor->rank;
	struct value *result = values_at(world, actor, in->result, in->bytes);
	const struct value *own = NULL;
	if (sums || local)
		own = values_at(world, actor, in->source, in->bytes);
	demand(world, !sums || in->source.buffer == RING_INPUT, "only one's own input is added");
	demand(world, in->action != RING_SCALE || (s->scaled && local),
	       "scaled calls scale what a rank has itself");
	for (uint64_t i = 0; i < in->bytes / s->element_bytes; i++) {
		if (sums)
			result[i] = add_up(world, actor, in, own[i], i);
		else
			result[i] = local ? own[i] : arrived_at(world, actor, actor->reduced, i);
		demand(world,
		       !sums || in->result.buffer != RING_OUTPUT || result[i].length == s->size,
		       "no partial sum lands in the output");
	}
	bool complete = in->action == RING_REDUCE && in->result.buffer == RING_OUTPUT;
	demand(world, in->last == complete, "the last addition is marked");
}

static void release(struct world *world, struct link *link)
{
	if (!link)
		return;
	link->released++;
	wake(world, link->from);
}

static bool finish(struct world *world, struct actor *actor)
{
	if (actor->reduced == actor->started)
		return false;
	struct ring_transfer in = ring_plan_incoming(&actor->plan, actor->reduced);
	if (in.bytes > 0 && in.action != RING_HOLD)
		write_result(world, actor, &in);
	if (in.action != RING_HOLD)
		release(world, link_of(actor, actor->reduced));
	for (int k = 0; in.behind == 0 && k < in.held; k++)
		release(world, link_of(actor, in.holds + (uint64_t)k));
	actor->reduced++;
	return true;
}

static bool make_move(struct world *world, struct actor *actor, enum move move)
{
	static bool (*const moves[MOVES])(struct world *, struct actor *) = {
		[MOVE_POST] = post,   [MOVE_FLY] = fly,       [MOVE_RETIRE] = retire,
		[MOVE_START] = start, [MOVE_FINISH] = finish,
	};
	return moves[move](world, actor);
}

#endif
