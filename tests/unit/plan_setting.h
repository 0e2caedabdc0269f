/* SPDX-License-Identifier: MIT */
/*
 * One case for the plans, and what must come of it. Instead of numbers, memory holds where they come
 * from: each value is the list of positions that were added up, in order, and how many of them were
 * scaled, so a wrong, missing, repeated or misplaced addition cannot hide.
 *
 * Uneven parts have lengths by chance, and lie in the order of ranks backwards.
 */
#ifndef RING_TEST_PLAN_SETTING_H
#define RING_TEST_PLAN_SETTING_H

#include <inttypes.h>
#include <stdio.h>

#include "plan/plan.h"
#include "tests/transport/dice.h"

#define RANKS_MAX 64
#define DEPTH_MAX 8

/* One case. RING_KIND_SEND stands for a pair: root sends, receiver receives. */
struct setting {
	enum ring_kind kind;
	enum ring_algorithm algorithm;
	int size, root, receiver, channels, chunks_per_round, depth;
	uint64_t count, chunk;
	uint32_t element_bytes;
	bool in_place, scaled, in_order, boards, past, apart;
	bool uneven; /* parts have 0 to count elements, and gaps between them */
	uint64_t workers;
	uint64_t scratch_chunks; /* 0: as planned */
	uint64_t seed;           /* of order and interleaving */
	int order[RANKS_MAX];
};

/* An element of the vector, added up over `length` positions from `first` on; 0: half written. */
struct value {
	int32_t element;
	int8_t first, length, scaled; /* so many of them scaled */
};

static void describe(const struct setting *s, char *text, size_t room)
{
	snprintf(text, room,
		 "kind %d algorithm %d n %d root %d receiver %d count %" PRIu64
		 " x %u bytes, chunk %" PRIu64
		 ", %d per round, channels %d, depth %d, scratch %" PRIu64 ", workers 0x%" PRIx64
		 "%s%s%s%s%s%s, seed 0x%" PRIx64,
		 (int)s->kind, (int)s->algorithm, s->size, s->root, s->receiver, s->count,
		 s->element_bytes, s->chunk, s->chunks_per_round, s->channels, s->depth,
		 s->scratch_chunks, s->workers, s->in_place ? ", in place" : "",
		 s->scaled ? ", scaled" : "", s->in_order ? ", in order" : "",
		 s->boards ? ", boards" : "", s->apart ? ", apart" : "",
		 s->uneven ? ", uneven" : "", s->seed);
}

static bool is_pair(const struct setting *s)
{
	return s->kind == RING_KIND_SEND;
}

/* Kinds with an input, or an output, of a part for each rank. */
static bool sends_parts(const struct setting *s)
{
	return s->kind == RING_KIND_REDUCE_SCATTER || s->kind == RING_KIND_SCATTER ||
	       s->kind == RING_KIND_ALL_TO_ALL;
}

static bool receives_parts(const struct setting *s)
{
	return s->kind == RING_KIND_ALL_GATHER || s->kind == RING_KIND_GATHER ||
	       s->kind == RING_KIND_ALL_TO_ALL;
}

/* ---- parts --------------------------------------------------------------------------------- */

/* Elements that go from rank to rank, where something does: of what all share, all know the length. */
static uint64_t part_length(const struct setting *s, int from, int to)
{
	bool of_sender = s->kind == RING_KIND_ALL_GATHER || s->kind == RING_KIND_GATHER;
	bool of_receiver = s->kind == RING_KIND_REDUCE_SCATTER || s->kind == RING_KIND_SCATTER;
	uint64_t dice = s->seed + (uint64_t)(of_receiver ? 0 : from + 1) * 1009 +
			(uint64_t)(of_sender ? 0 : to + 1);
	uint64_t kind = dice_below(&dice, 4);
	if (!s->uneven || kind == 0)
		return s->count;
	return kind == 1 ? 0 : dice_below(&dice, s->count + 1);
}

/* Whether anything goes from rank to rank. */
static bool flows(const struct setting *s, int from, int to)
{
	return (s->kind != RING_KIND_SCATTER || from == s->root) &&
	       (s->kind != RING_KIND_GATHER || to == s->root);
}

#define GAP 2 /* elements between uneven parts */

/* Where `rank`'s input has the part for `to`; `to` -1: where it ends. */
static uint64_t input_begin(const struct setting *s, int rank, int to)
{
	uint64_t begin = 0;
	if (!sends_parts(s))
		return to < 0 ? part_length(s, rank, rank) : 0;
	for (int other = s->size - 1; other > to; other--)
		begin += part_length(s, rank, other) + GAP;
	return s->uneven ? begin : s->count * (uint64_t)(to < 0 ? s->size : to);
}

/* Where `rank`'s output has the part from `from`, likewise. */
static uint64_t output_begin(const struct setting *s, int rank, int from)
{
	uint64_t begin = 0;
	if (!receives_parts(s))
		return from < 0 ? part_length(s, rank, rank) : 0;
	for (int other = s->size - 1; other > from; other--)
		begin += part_length(s, other, rank) + GAP;
	return s->uneven ? begin : s->count * (uint64_t)(from < 0 ? s->size : from);
}

/* Whose part of `rank`'s output has element i; -1: it lies between parts. */
static int sender_of(const struct setting *s, int rank, uint64_t i)
{
	for (int from = 0; from < s->size; from++) {
		uint64_t begin = output_begin(s, rank, from);
		if (begin <= i && i < begin + part_length(s, from, rank))
			return from;
	}
	return -1;
}

/* What one rank knows of uneven parts. */
static const struct ring_parts *parts_of(const struct setting *s, int rank)
{
	static uint64_t lists[RANKS_MAX][RING_PARTS_LISTS][RANKS_MAX];
	static struct ring_parts parts[RANKS_MAX];
	uint64_t(*list)[RANKS_MAX] = lists[rank];
	for (int other = 0; other < s->size; other++) {
		list[0][other] = flows(s, rank, other) ? part_length(s, rank, other) : 0;
		list[1][other] = input_begin(s, rank, other);
		list[2][other] = flows(s, other, rank) ? part_length(s, other, rank) : 0;
		list[3][other] = output_begin(s, rank, other);
	}
	parts[rank] = (struct ring_parts){list[0], list[1], list[2], list[3]};
	return &parts[rank];
}

/* ---- buffers ------------------------------------------------------------------------------- */

static uint64_t input_length(const struct setting *s, int rank)
{
	bool from_root = s->kind == RING_KIND_BROADCAST || s->kind == RING_KIND_SCATTER ||
			 is_pair(s);
	if (s->kind == RING_KIND_BARRIER || (from_root && rank != s->root))
		return 0;
	return input_begin(s, rank, -1);
}

static uint64_t output_length(const struct setting *s, int rank)
{
	bool to_root = s->kind == RING_KIND_REDUCE || s->kind == RING_KIND_GATHER;
	if (s->kind == RING_KIND_BARRIER || (to_root && rank != s->root) ||
	    (is_pair(s) && rank != s->receiver))
		return 0;
	return output_begin(s, rank, -1);
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
	bool is_part = s->kind == RING_KIND_ALL_GATHER || s->kind == RING_KIND_GATHER;
	return (struct value){.element = (int32_t)(is_part ? s->count * rank + i : i),
			      .first = (int8_t)position_of(s, rank),
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

/* Element i of the vector, added up from behind the owner's position around the ring to it, or in order. */
static struct value wanted_sum(const struct setting *s, int owner, uint64_t i)
{
	return (struct value){.element = (int32_t)i,
			      .first = (int8_t)(s->in_order ? 0
							    : (position_of(s, owner) + 1) % s->size),
			      .length = (int8_t)s->size,
			      .scaled = (int8_t)(s->scaled ? s->size : 0)};
}

/* Element i of what comes from the others, part by part; between parts nothing does. */
static struct value wanted_part(const struct setting *s, int rank, uint64_t i)
{
	int from = sender_of(s, rank, i);
	if (from < 0)
		return (struct value){0};
	return own_value(s, from, input_begin(s, from, rank) + i - output_begin(s, rank, from));
}

static struct value wanted_value(const struct setting *s, int rank, uint64_t i)
{
	switch (s->kind) {
	case RING_KIND_ALL_REDUCE:
		return wanted_sum(s, owner_of(s, i), i);
	case RING_KIND_REDUCE_SCATTER:
		return wanted_sum(s, rank, input_begin(s, rank, rank) + i);
	case RING_KIND_REDUCE:
		return wanted_sum(s, s->root, i);
	case RING_KIND_ALL_GATHER:
	case RING_KIND_GATHER:
	case RING_KIND_ALL_TO_ALL:
		return wanted_part(s, rank, i);
	case RING_KIND_SCATTER:
		return own_value(s, s->root, input_begin(s, s->root, rank) + i);
	default:
		return own_value(s, s->root, i);
	}
}

static bool same(struct value a, struct value b)
{
	return a.element == b.element && a.first == b.first && a.length == b.length &&
	       a.scaled == b.scaled;
}

/* Two have one sum. */
static bool same_sum(const struct setting *s, struct value a, struct value b)
{
	if (s->size == 2 && a.length == 2)
		a.first = b.first;
	return same(a, b);
}

/* ---- its plans ----------------------------------------------------------------------------- */

/* Ranks that take part, each with an actor per channel. */
static int actors_of(const struct setting *s)
{
	return is_pair(s) ? 2 : s->size;
}

/* `place` is a position; of a pair, 0 sends and 1 receives. */
static struct ring_plan plan_of(const struct setting *s, int place, int channel)
{
	struct ring_plan_params params = {.kind = s->kind,
					  .algorithm = s->algorithm,
					  .size = s->size,
					  .position = place,
					  .order = s->order,
					  .root = s->root,
					  .count = s->count,
					  .element_bytes = s->element_bytes,
					  .chunk_bytes = s->chunk * s->element_bytes,
					  .chunks_per_round = s->chunks_per_round,
					  .place_bytes = s->chunk * s->element_bytes,
					  .channel = channel,
					  .channels = s->channels,
					  .scaled = s->scaled,
					  .in_order = s->in_order,
					  .past = s->past,
					  .boards = s->boards,
					  .apart = s->apart,
					  .workers = s->workers};
	if (s->uneven)
		params.parts = parts_of(s, s->order[place]);
	if (is_pair(s)) {
		params.kind = place == 0 ? RING_KIND_SEND : RING_KIND_RECV;
		params.position = position_of(s, place == 0 ? s->root : s->receiver);
		params.root = place == 0 ? s->receiver : s->root;
	}
	struct ring_plan plan = ring_plan_make(&params);
	if (s->scratch_chunks > 0)
		plan.scratch_chunks = s->scratch_chunks;
	return plan;
}

#endif
