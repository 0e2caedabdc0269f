/* SPDX-License-Identifier: MIT */
/*
 * Every kind with every algorithm that can do it, and settings of each by chance.
 *
 * RING_TEST_LONG takes many more cases, RING_TEST_QUICK fewer, RING_TEST_SEED other ones.
 */
#ifndef RING_TEST_PLAN_WAYS_H
#define RING_TEST_PLAN_WAYS_H

#include "tests/unit/plan_run.h"

#define KINDS ((int)RING_KIND_SEND + 1) /* a pair is called SEND */

/* A kind, and an algorithm that can do it. */
struct way {
	enum ring_kind kind;
	enum ring_algorithm algorithm;
	bool uneven;
};

static bool can_be_uneven(struct way way)
{
	return ring_algorithm_has(way.algorithm, RING_TAKES_PARTS) &&
	       (ring_kind_has_parts_in(way.kind) || ring_kind_has_parts_out(way.kind));
}

/* Finds way `index` of all there are. Returns false behind the last. */
static bool find_way(int index, struct way *way)
{
	for (int i = 0; i < KINDS * RING_ALGORITHMS * 2; i++) {
		*way = (struct way){.kind = (enum ring_kind)(i / 2 / RING_ALGORITHMS),
				    .algorithm = (enum ring_algorithm)(i / 2 % RING_ALGORITHMS),
				    .uneven = i % 2};
		if (ring_algorithm_can(way->algorithm, way->kind, RING_STAGED_RANKS_MOST, 0, false) &&
		    (!way->uneven || can_be_uneven(*way)) && index-- == 0)
			return true;
	}
	return false;
}

static int count_ways(void)
{
	int count = 0;
	struct way way;
	while (find_way(count, &way))
		count++;
	return count;
}

static inline struct way way_of(int index)
{
	struct way way;
	bool found = find_way(index % count_ways(), &way);
	assert_true(found);
	return way;
}

static bool can_scale(struct way way)
{
	return ring_kind_reduces(way.kind) &&
	       ring_algorithm_can(way.algorithm, way.kind, RANKS_MAX, 0, true);
}

static bool can_be_in_order(struct way way, int size)
{
	return ring_kind_reduces(way.kind) && ring_algorithm_adds_in_order(way.algorithm, size);
}

static inline bool is_rooted(enum ring_kind kind)
{
	return kind == RING_KIND_BROADCAST || kind == RING_KIND_REDUCE ||
	       kind == RING_KIND_GATHER || kind == RING_KIND_SCATTER || kind == RING_KIND_SEND;
}

static inline bool is_long(void)
{
	const char *text = getenv("RING_TEST_LONG");
	return text && *text;
}

static inline bool is_quick(void)
{
	const char *text = getenv("RING_TEST_QUICK");
	return text && *text;
}

/* Of so many cases one is taken; a prime, so that each value of what they are counted by meets each other one. */
static inline int stride_of_cases(void)
{
	if (is_long())
		return 1;
	return is_quick() ? 23 : 5;
}

/* Large numbers of ranks share the ways out among them; small ones, and powers of two, have them all. */
static inline bool has_way(int size, int way)
{
	bool is_power = (size & (size - 1)) == 0;
	return size <= 9 || is_power || (size + way) % stride_of_cases() == 0;
}

static uint64_t first_seed(void)
{
	const char *text = getenv("RING_TEST_SEED");
	return text ? strtoull(text, NULL, 0) : 1;
}

static inline void shuffle(int *order, int size, uint64_t *dice)
{
	for (int i = 0; i < size; i++) {
		int j = (int)dice_below(dice, i + 1);
		order[i] = order[j];
		order[j] = i;
	}
}

static const struct way pairs
	__attribute__((unused)) = {.kind = RING_KIND_SEND, .algorithm = RING_ALGORITHM_PAIR};

/* The vector is cut into blocks. */
static bool is_in_blocks(const struct setting *s)
{
	return s->kind == RING_KIND_ALL_REDUCE && s->algorithm != RING_ALGORITHM_ONE_SHOT &&
	       s->algorithm != RING_ALGORITHM_BRUCK && s->algorithm != RING_ALGORITHM_TREE;
}

/*
 * The count's neighbourhoods where schedules go wrong: none, one, about n, about whole chunks; less where
 * there is no plan for so much.
 */
static uint64_t some_count(const struct setting *s, uint64_t pick, uint64_t *dice)
{
	uint64_t n = (uint64_t)s->size, chunks = 1 + dice_below(dice, 3);
	uint64_t parts = is_in_blocks(s) ? n * s->channels : (uint64_t)s->channels;
	const uint64_t counts[] = {0,
				   1,
				   n - 1,
				   n,
				   n + 1,
				   parts * s->chunk * chunks - 1,
				   parts * s->chunk * chunks,
				   parts * s->chunk * chunks + 1};
	uint64_t count = counts[pick % (sizeof(counts) / sizeof(counts[0]))];
	bool few = s->algorithm == RING_ALGORITHM_BRUCK || s->algorithm == RING_ALGORITHM_TREE;
	while (few &&
	       !ring_algorithm_can(s->algorithm, s->kind, s->size, count * s->element_bytes, false))
		count /= 2;
	return count;
}

static struct setting some_setting(struct way way, int size, uint64_t pick, uint64_t *dice)
{
	enum ring_kind kind = way.kind;
	struct setting s = {.kind = kind,
			    .algorithm = way.algorithm,
			    .uneven = way.uneven,
			    .size = size,
			    .channels = 1 + (int)dice_below(dice, 3),
			    .chunks_per_round = 1 + (int)dice_below(dice, 4),
			    .depth = 1 + (int)dice_below(dice, DEPTH_MAX),
			    .chunk = 1 + dice_below(dice, 3),
			    .element_bytes = 1u << dice_below(dice, 4),
			    .in_place = kind != RING_KIND_ALL_TO_ALL && dice_below(dice, 2),
			    .scaled = can_scale(way) && dice_below(dice, 2),
			    .in_order = can_be_in_order(way, size) && dice_below(dice, 2),
			    .boards = dice_below(dice, 2),
			    .apart = ring_algorithm_keeps_apart(way.algorithm, kind) &&
				     dice_below(dice, 3) == 0,
			    .workers = dice_below(dice, UINT64_C(1) << (size < 63 ? size : 63)),
			    .root = (int)dice_below(dice, size),
			    .receiver = (int)dice_below(dice, size),
			    .seed = dice_roll(dice)};
	s.count = kind == RING_KIND_BARRIER ? 0 : some_count(&s, pick, dice);
	uint64_t share = s.count / s.channels;
	if (is_in_blocks(&s))
		share /= size;
	if (size > 8 && share / s.chunk > 3) /* or it takes too long */
		s.chunk = share / 3;
	return s;
}

/* So many elements of a byte, in chunks of one, by ranks in their order. */
static inline struct setting plain_setting(enum ring_kind kind, enum ring_algorithm algorithm,
					   int size, uint64_t count)
{
	struct setting s = {.kind = kind,
			    .algorithm = algorithm,
			    .size = size,
			    .channels = 1,
			    .chunks_per_round = 1,
			    .depth = 1,
			    .count = count,
			    .chunk = 1,
			    .element_bytes = 1};
	for (int rank = 0; rank < size; rank++)
		s.order[rank] = rank;
	return s;
}

#endif
