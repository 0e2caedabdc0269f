/* SPDX-License-Identifier: MIT */
/*
 * Carries out the plans of all ranks of a ring in one place, move by move, in any order. Instead of
 * numbers, memory holds where they come from: each value is the list of positions that were added
 * up, in order, so a wrong, missing, repeated or misplaced addition cannot hide.
 *
 * Everything is as late as the contracts allow. A source is read when the message flies, which may
 * be long after it was posted; `sent` may lag behind arrival; a result is half written from start to
 * completion. Messages also carry which ranks' entry into the call they prove.
 *
 * A move that breaks a promise fails the test and prints the setting with its seed.
 */
#ifndef RING_TEST_PLAN_WORLD_H
#define RING_TEST_PLAN_WORLD_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "tests/transport/dice.h"

#define RANKS_MAX 64
#define DEPTH_MAX 8

/* One case. */
struct setting {
	enum ring_kind kind;
	int size, root, channels, chunks_per_round, depth;
	uint64_t count, chunk;
	uint32_t element_bytes;
	bool in_place;
	uint64_t scratch_chunks; /* 0: as planned */
	uint64_t seed;           /* of order and interleaving */
	int order[RANKS_MAX];
};

/* An element of the vector, added up over `length` positions from `first` on; 0: half written. */
struct value {
	int32_t element;
	int16_t first, length;
};

struct message {
	const struct value *source; /* where the sender has it ... */
	struct value *slot;         /* ... and the receiver        */
	uint64_t bytes, proof;
};

/* One rank on one channel, and the link to the next rank. */
struct actor {
	struct ring_plan plan;
	int rank;
	struct actor *next, *prev;
	uint64_t posted, sent, started, reduced; /* entries */
	struct ring_transfer out, in;       /* entries `posted` and `started`, if there are such */
	uint64_t queued, flown, retired;    /* messages to next */
	uint64_t taken, released;           /* messages from prev */
	struct message messages[DEPTH_MAX]; /* to next */
	uint64_t payload;
	bool idle; /* can certainly make no move */
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
	struct actor *actors; /* [channel * size + position] */
	int actor_count;
	struct buffer input[RANKS_MAX], output[RANKS_MAX];
	char *unused;
};

enum move { MOVE_POST, MOVE_FLY, MOVE_RETIRE, MOVE_START, MOVE_FINISH, MOVES };

static void describe(const struct setting *s, char *text, size_t room)
{
	snprintf(text, room,
		 "kind %d n %d root %d count %" PRIu64 " x %u bytes, chunk %" PRIu64
		 ", %d per round, channels %d, depth %d, scratch %" PRIu64 "%s, seed 0x%" PRIx64,
		 (int)s->kind, s->size, s->root, s->count, s->element_bytes, s->chunk,
		 s->chunks_per_round, s->channels, s->depth, s->scratch_chunks,
		 s->in_place ? ", in place" : "", s->seed);
}

static void demand(const struct world *world, bool holds, const char *promise)
{
	if (holds)
		return;
	char text[256];
	describe(world->setting, text, sizeof(text));
	fail_msg("broken: %s (%s)", promise, text);
}

/* ---- what should be ----------------------------------------------------------------------- */

static uint64_t input_length(const struct setting *s, int rank)
{
	if (s->kind == RING_KIND_BARRIER || (s->kind == RING_KIND_BROADCAST && rank != s->root))
		return 0;
	return s->kind == RING_KIND_REDUCE_SCATTER ? s->count * s->size : s->count;
}

static uint64_t output_length(const struct setting *s)
{
	if (s->kind == RING_KIND_BARRIER)
		return 0;
	return s->kind == RING_KIND_ALL_GATHER ? s->count * s->size : s->count;
}

static int position_of(const struct setting *s, int rank)
{
	int position = 0;
	while (s->order[position] != rank)
		position++;
	return position;
}

/* What rank has as its own at place i of the input. */
static struct value own_value(const struct setting *s, int rank, uint64_t i)
{
	uint64_t element = s->kind == RING_KIND_ALL_GATHER ? s->count * rank + i : i;
	return (struct value){.element = (int32_t)element,
			      .first = (int16_t)position_of(s, rank),
			      .length = 1};
}

/* Whose block element i of an all-reduced vector belongs to. */
static int owner_of(const struct setting *s, uint64_t i)
{
	int rank = 0;
	while (rank + 1 < s->size && ring_share_begin(s->count, s->size, rank + 1) <= i)
		rank++;
	return rank;
}

static struct value wanted_value(const struct setting *s, int rank, uint64_t i)
{
	if (s->kind == RING_KIND_BROADCAST)
		return own_value(s, s->root, i);
	if (s->kind == RING_KIND_ALL_GATHER)
		return own_value(s, (int)(i / s->count), i % s->count);
	int owner = s->kind == RING_KIND_ALL_REDUCE ? owner_of(s, i) : rank;
	uint64_t element = s->kind == RING_KIND_ALL_REDUCE ? i : s->count * rank + i;
	return (struct value){.element = (int32_t)element,
			      .first = (int16_t)((position_of(s, owner) + 1) % s->size),
			      .length = (int16_t)s->size};
}

static bool same(struct value a, struct value b)
{
	return a.element == b.element && a.first == b.first && a.length == b.length;
}

/* ---- making a world ----------------------------------------------------------------------- */

static struct ring_plan plan_of(const struct setting *s, int position, int channel)
{
	struct ring_plan_params params = {.kind = s->kind,
					  .algorithm = RING_ALGORITHM_RING,
					  .size = s->size,
					  .position = position,
					  .order = s->order,
					  .root = s->root,
					  .count = s->count,
					  .element_bytes = s->element_bytes,
					  .chunk_bytes = s->chunk * s->element_bytes,
					  .chunks_per_round = s->chunks_per_round,
					  .channel = channel,
					  .channels = s->channels};
	struct ring_plan plan = ring_plan_make(&params);
	if (s->scratch_chunks > 0)
		plan.scratch_chunks = s->scratch_chunks;
	return plan;
}

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

static size_t world_bytes(const struct setting *s)
{
	struct ring_plan plan = plan_of(s, 0, 0);
	size_t actors = (size_t)s->size * s->channels;
	size_t values = (plan.scratch_chunks + s->depth) * plan.chunk * actors;
	for (int rank = 0; rank < s->size; rank++)
		values += input_length(s, rank) + output_length(s);
	return sizeof(struct world) + values * sizeof(struct value) +
	       actors * (sizeof(struct actor) + (plan.incoming + 1) * sizeof(uint64_t));
}

static void make_buffers(struct world *world, int rank)
{
	const struct setting *s = world->setting;
	struct buffer *input = &world->input[rank], *output = &world->output[rank];
	input->length = input_length(s, rank);
	output->length = output_length(s);
	input->values = take_values(world, input->length);
	output->values = take_values(world, output->length);
	if (s->in_place && s->kind == RING_KIND_ALL_GATHER)
		input->values = output->values + s->count * rank;
	else if (s->in_place && s->kind == RING_KIND_REDUCE_SCATTER)
		output->values = input->values + s->count * rank;
	else if (s->in_place)
		input->values = output->values;
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

static void make_actor(struct world *world, int position, int channel)
{
	const struct setting *s = world->setting;
	struct actor *actor = &world->actors[channel * s->size + position];
	actor->plan = plan_of(s, position, channel);
	actor->rank = s->order[position];
	actor->next = &world->actors[channel * s->size + (position + 1) % s->size];
	actor->prev = &world->actors[channel * s->size + (position + s->size - 1) % s->size];
	actor->scratch = take_values(world, actor->plan.scratch_chunks * actor->plan.chunk);
	for (int i = 0; i < s->depth; i++)
		actor->messages[i].slot = take_values(world, actor->plan.chunk);
	actor->proof = take(world, (actor->plan.incoming + 1) * sizeof(uint64_t));
	load_entries(actor);
}

static struct world *make_world(const struct setting *setting)
{
	size_t bytes = world_bytes(setting);
	struct world *world = calloc(1, bytes);
	assert_non_null(world);
	world->bytes = bytes;
	world->setting = setting;
	world->unused = (char *)(world + 1);
	world->actor_count = setting->size * setting->channels;
	world->actors = take(world, world->actor_count * sizeof(struct actor));
	for (int rank = 0; rank < setting->size; rank++)
		make_buffers(world, rank);
	for (int channel = 0; channel < setting->channels; channel++)
		for (int position = 0; position < setting->size; position++)
			make_actor(world, position, channel);
	demand(world, world->unused <= (char *)world + bytes, "all ranks plan alike");
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

static uint64_t everybody(const struct setting *s)
{
	return ~UINT64_C(0) >> (64 - s->size);
}

static bool post(struct world *world, struct actor *actor)
{
	const struct setting *s = world->setting;
	const struct ring_transfer out = actor->out;
	if (actor->posted == actor->plan.outgoing || actor->reduced < out.needs)
		return false;
	if (ring_transfer_is_message(&out, actor->rank)) {
		if (actor->queued - actor->next->released == (uint64_t)s->depth)
			return false;
		demand(world, out.peer == actor->next->rank, "the ring sends to the next rank");
		demand(world, out.bytes <= actor->plan.chunk * s->element_bytes,
		       "messages fit a slot");
		if (out.needs > actor->proved_by_needs)
			actor->proved_by_needs = out.needs;
		struct message *message = &actor->messages[actor->queued % s->depth];
		message->bytes = out.bytes;
		message->proof = actor->proof[actor->proved_by_needs] | UINT64_C(1) << actor->rank;
		message->source = out.bytes ? values_at(world, actor, out.source, out.bytes) : NULL;
		for (uint64_t i = 0; i < out.bytes / s->element_bytes; i++)
			message->slot[i] = message->source[i];
		actor->queued++;
		actor->payload += out.bytes;
	}
	actor->posted++;
	load_entries(actor);
	return true;
}

/* The transport reads the source; until now it must not have changed. */
static bool fly(struct world *world, struct actor *actor)
{
	const struct setting *s = world->setting;
	if (actor->flown == actor->queued)
		return false;
	const struct message *message = &actor->messages[actor->flown % s->depth];
	for (uint64_t i = 0; i < message->bytes / s->element_bytes; i++) {
		demand(world, message->slot[i].length > 0, "only what is complete is sent");
		demand(world, same(message->slot[i], message->source[i]),
		       "a source keeps its value until it was sent");
	}
	actor->flown++;
	return true;
}

static bool retire(struct world *world, struct actor *actor)
{
	(void)world;
	if (actor->sent == actor->posted)
		return false;
	struct ring_transfer out = ring_plan_outgoing(&actor->plan, actor->sent);
	if (ring_transfer_is_message(&out, actor->rank)) {
		if (actor->retired == actor->flown)
			return false;
		actor->retired++;
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
	if (ring_transfer_is_message(in, actor->rank)) {
		if (actor->taken == actor->prev->flown)
			return false;
		demand(world, in->peer == actor->prev->rank, "the ring receives from the previous");
		const struct message *message = &actor->prev->messages[actor->taken++ % s->depth];
		demand(world, message->bytes == in->bytes, "both ends know a message's size");
		proof = message->proof;
	}
	prove(world, actor, proof);
	if (in->bytes > 0) {
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

/* own + what arrived */
static struct value add(const struct world *world, const struct actor *actor, struct value own,
			struct value arrived)
{
	int n = world->setting->size;
	demand(world, own.length == 1 && own.first == actor->plan.params.position,
	       "a rank adds its own input");
	demand(world, own.element == arrived.element, "equal elements are added");
	demand(world, (arrived.first + arrived.length) % n == own.first,
	       "positions are added in the order of the ring");
	arrived.length++;
	return arrived;
}

static bool finish(struct world *world, struct actor *actor)
{
	const struct setting *s = world->setting;
	if (actor->reduced == actor->started)
		return false;
	struct ring_transfer in = ring_plan_incoming(&actor->plan, actor->reduced);
	bool is_message = ring_transfer_is_message(&in, actor->rank);
	if (in.bytes > 0) {
		const struct value *arrived = actor->prev->messages[actor->released % s->depth].slot;
		const struct value *own = NULL;
		if (in.action == RING_REDUCE || !is_message)
			own = values_at(world, actor, in.source, in.bytes);
		struct value *result = values_at(world, actor, in.result, in.bytes);
		for (uint64_t i = 0; i < in.bytes / s->element_bytes; i++) {
			if (in.action == RING_REDUCE)
				result[i] = add(world, actor, own[i], arrived[i]);
			else
				result[i] = is_message ? arrived[i] : own[i];
		}
		bool complete = in.action == RING_REDUCE && in.result.buffer == RING_OUTPUT;
		demand(world, in.last == complete, "the last addition is marked");
	}
	actor->released += is_message;
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
