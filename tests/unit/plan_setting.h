/* SPDX-License-Identifier: MIT */
/*
 * One case for the plans, and what must come of it. Instead of numbers, memory holds where they come
 * from: each value is the list of positions that were added up, in order, and how many of them were
 * scaled, so a wrong, missing, repeated or misplaced addition cannot hide.
 */
#ifndef RING_TEST_PLAN_SETTING_H
#define RING_TEST_PLAN_SETTING_H

#include <inttypes.h>
#include <stdio.h>

#include "plan/plan.h"

#define RANKS_MAX 64
#define DEPTH_MAX 8

/* One case. RING_KIND_SEND stands for a pair: root sends, receiver receives. */
struct setting {
	enum ring_kind kind;
	enum ring_algorithm algorithm;
	int size, root, receiver, channels, chunks_per_round, depth;
	uint64_t count, chunk;
	uint32_t element_bytes;
	bool in_place, scaled, boards, past, apart;
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
		 "%s%s%s%s, seed 0x%" PRIx64,
		 (int)s->kind, (int)s->algorithm, s->size, s->root, s->receiver, s->count,
		 s->element_bytes, s->chunk, s->chunks_per_round, s->channels, s->depth,
		 s->scratch_chunks, s->workers, s->in_place ? ", in place" : "",
		 s->scaled ? ", scaled" : "", s->boards ? ", boards" : "",
		 s->apart ? ", apart" : "", s->seed);
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

static uint64_t input_length(const struct setting *s, int rank)
{
	bool from_root = s->kind == RING_KIND_BROADCAST || s->kind == RING_KIND_SCATTER ||
			 is_pair(s);
	if (s->kind == RING_KIND_BARRIER || (from_root && rank != s->root))
		return 0;
	return sends_parts(s) ? s->count * s->size : s->count;
}

static uint64_t output_length(const struct setting *s, int rank)
{
	bool to_root = s->kind == RING_KIND_REDUCE || s->kind == RING_KIND_GATHER;
	if (s->kind == RING_KIND_BARRIER || (to_root && rank != s->root) ||
	    (is_pair(s) && rank != s->receiver))
		return 0;
	return receives_parts(s) ? s->count * s->size : s->count;
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

/* Element i of the vector, added up from behind the owner's position around the ring to it. */
static struct value wanted_sum(const struct setting *s, int owner, uint64_t i)
{
	return (struct value){.element = (int32_t)i,
			      .first = (int8_t)((position_of(s, owner) + 1) % s->size),
			      .length = (int8_t)s->size,
			      .scaled = (int8_t)(s->scaled ? s->size : 0)};
}

static struct value wanted_value(const struct setting *s, int rank, uint64_t i)
{
	switch (s->kind) {
	case RING_KIND_ALL_REDUCE:
		return wanted_sum(s, owner_of(s, i), i);
	case RING_KIND_REDUCE_SCATTER:
		return wanted_sum(s, rank, s->count * rank + i);
	case RING_KIND_REDUCE:
		return wanted_sum(s, s->root, i);
	case RING_KIND_ALL_GATHER:
	case RING_KIND_GATHER:
		return own_value(s, (int)(i / s->count), i % s->count);
	case RING_KIND_SCATTER:
		return own_value(s, s->root, s->count * rank + i);
	case RING_KIND_ALL_TO_ALL:
		return own_value(s, (int)(i / s->count), s->count * rank + i % s->count);
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
					  .past = s->past,
					  .boards = s->boards,
					  .apart = s->apart,
					  .workers = s->workers};
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
