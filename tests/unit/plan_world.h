/* SPDX-License-Identifier: MIT */
/*
 * The plans of all ranks in one place, with their memory and the links that they name, and how far each
 * has come; plan_moves.h carries them out.
 *
 * A promise that is broken fails the test and prints the setting with its seed.
 */
#ifndef RING_TEST_PLAN_WORLD_H
#define RING_TEST_PLAN_WORLD_H

#include <stdlib.h>
#include <string.h>

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

struct buffer {
	struct value *values;
	uint64_t length;
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
	bool heard[RANKS_MAX]; /* a message that opens came from that rank */
	struct value *scratch;
	struct buffer stage;
	uint64_t *proof; /* [incoming + 1]: ranks that are proved once so many entries are started */
	uint64_t proved_by_needs; /* the most that a posted entry needed */
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

static uint64_t stage_length(const struct setting *s)
{
	return s->algorithm == RING_ALGORITHM_STAGED ? ring_staged_bytes(s->chunk, s->size) : 0;
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
				 stage_length(s) * sizeof(struct value) + plan.edges * link +
				 2 * s->size * sizeof(struct link *);
		}
	return bytes;
}

/* In place, send and recv of a rank are the same memory, or one is a part of the other. */
static void share_buffers(const struct setting *s, int rank, struct buffer *input,
			  struct buffer *output)
{
	if (input->length == 0 || output->length == 0)
		return;
	if (s->kind == RING_KIND_REDUCE_SCATTER || s->kind == RING_KIND_SCATTER)
		output->values = input->values + input_begin(s, rank, rank);
	else
		input->values = output->values + output_begin(s, rank, rank);
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

/* The ranks that must agree. */
static uint64_t everybody(const struct setting *s)
{
	if (is_pair(s))
		return UINT64_C(1) << s->root | UINT64_C(1) << s->receiver;
	return ~UINT64_C(0) >> (64 - s->size);
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
	actor->stage.length = stage_length(s);
	actor->stage.values = take_values(world, actor->stage.length);
	actor->proof = take(world, (actor->plan.incoming + 1) * sizeof(uint64_t));
	if (s->algorithm == RING_ALGORITHM_DIRECT)
		actor->proof[0] = everybody(s);
	load_entries(actor);
}

static inline struct world *make_world(const struct setting *setting)
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

#endif
