/* SPDX-License-Identifier: MIT */
/*
 * The plan, proved by carrying it out: results, order of additions, what lands when, progress,
 * bytes, for every number of ranks up to 64; all interleavings of the smallest communicators; both
 * sides of the condition for progress; and the schedule of three and four ranks as a picture.
 *
 * RING_TEST_LONG takes many more cases, RING_TEST_SEED other ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/plan_explore.h"
#include "tests/unit/plan_run.h"

#define KINDS ((int)RING_KIND_SEND + 1) /* a pair is called SEND */

/* A kind, and an algorithm that can do it. */
struct way {
	enum ring_kind kind;
	enum ring_algorithm algorithm;
};

/* Finds way `index` of all there are. Returns false behind the last. */
static bool find_way(int index, struct way *way)
{
	for (int kind = 0; kind < KINDS; kind++)
		for (int algorithm = 0; algorithm < RING_ALGORITHMS; algorithm++) {
			*way = (struct way){(enum ring_kind)kind, (enum ring_algorithm)algorithm};
			if (ring_algorithm_can(way->algorithm, way->kind, RING_STAGED_RANKS, 0,
					       false) &&
			    index-- == 0)
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

static struct way way_of(int index)
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

static bool is_rooted(enum ring_kind kind)
{
	return kind == RING_KIND_BROADCAST || kind == RING_KIND_REDUCE ||
	       kind == RING_KIND_GATHER || kind == RING_KIND_SCATTER || kind == RING_KIND_SEND;
}

static bool is_long(void)
{
	const char *text = getenv("RING_TEST_LONG");
	return text && *text;
}

static uint64_t first_seed(void)
{
	const char *text = getenv("RING_TEST_SEED");
	return text ? strtoull(text, NULL, 0) : 1;
}

static void shuffle(int *order, int size, uint64_t *dice)
{
	for (int i = 0; i < size; i++) {
		int j = (int)dice_below(dice, i + 1);
		order[i] = order[j];
		order[j] = i;
	}
}

/* Returns false if it came to a halt before the end. */
static bool finishes(struct setting *setting)
{
	uint64_t dice = setting->seed;
	shuffle(setting->order, setting->size, &dice);
	struct world *world = make_world(setting);
	run_randomly(world, &dice);
	bool done = all_done(world);
	if (done)
		check_end(world);
	free(world);
	return done;
}

static void must_finish(struct setting *setting)
{
	if (finishes(setting))
		return;
	char text[256];
	describe(setting, text, sizeof(text));
	fail_msg("deadlock (%s)", text);
}

/* ---- every size, kind and count ----------------------------------------------------------- */

/* The vector is cut into blocks. */
static bool is_in_blocks(const struct setting *s)
{
	return s->kind == RING_KIND_ALL_REDUCE && s->algorithm != RING_ALGORITHM_ONE_SHOT &&
	       s->algorithm != RING_ALGORITHM_BRUCK;
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
	while (s->algorithm == RING_ALGORITHM_BRUCK &&
	       !ring_bruck_fits(s->size, count * s->element_bytes))
		count /= 2;
	return count;
}

static struct setting some_setting(struct way way, int size, uint64_t pick, uint64_t *dice)
{
	enum ring_kind kind = way.kind;
	struct setting s = {.kind = kind,
			    .algorithm = way.algorithm,
			    .size = size,
			    .channels = 1 + (int)dice_below(dice, 3),
			    .chunks_per_round = 1 + (int)dice_below(dice, 4),
			    .depth = 1 + (int)dice_below(dice, DEPTH_MAX),
			    .chunk = 1 + dice_below(dice, 3),
			    .element_bytes = 1u << dice_below(dice, 4),
			    .in_place = kind != RING_KIND_ALL_TO_ALL && dice_below(dice, 2),
			    .scaled = can_scale(way) && dice_below(dice, 2),
			    .boards = dice_below(dice, 2),
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

static void any_setting_of_any_size(void **state)
{
	(void)state;
	uint64_t dice = first_seed();
	for (int size = 1; size <= RANKS_MAX; size++) {
		int cases = (is_long() ? 1000 : 50) / size + 1;
		for (int way = 0; way < count_ways(); way++) {
			for (int i = 0; i < cases; i++) {
				struct setting s = some_setting(way_of(way), size, i + size, &dice);
				must_finish(&s);
			}
		}
	}
}

static void all_shapes_of_small_rings(void **state)
{
	(void)state;
	uint64_t dice = first_seed();
	for (int size = 1; size <= 5; size++)
		for (int way = 0; way < count_ways(); way++)
			for (int shape = 0; shape < 3 * 4 * DEPTH_MAX * 2 * 8; shape++) {
				struct setting s = some_setting(way_of(way), size, shape, &dice);
				s.in_place = s.kind != RING_KIND_ALL_TO_ALL && shape / 8 % 2;
				s.channels = 1 + shape / 16 % 3;
				s.chunks_per_round = 1 + shape / 48 % 4;
				s.depth = 1 + shape / 192;
				if (s.kind != RING_KIND_BARRIER)
					s.count = some_count(&s, shape, &dice);
				must_finish(&s);
			}
}

static void every_root(void **state)
{
	(void)state;
	uint64_t dice = first_seed();
	for (int way = 0; way < count_ways(); way++)
		for (int size = 1; is_rooted(way_of(way).kind) && size <= RANKS_MAX; size++) {
			int stride = size <= 16 || is_long() ? 1 : size / 3;
			for (int root = 0; root < size; root += stride) {
				struct setting s = some_setting(way_of(way), size, 5 + root, &dice);
				s.root = root;
				must_finish(&s);
			}
		}
}

static const struct way pairs = {RING_KIND_SEND, RING_ALGORITHM_PAIR};

static void every_pair(void **state)
{
	(void)state;
	uint64_t dice = first_seed();
	for (int size = 1; size <= 8; size++)
		for (int pick = 0; pick < 8 * size * size; pick++) {
			struct setting s = some_setting(pairs, size, pick, &dice);
			s.root = pick / 8 % size;
			s.receiver = pick / 8 / size;
			must_finish(&s);
		}
}

/* ---- every interleaving ------------------------------------------------------------------- */

/* shape counts in bits: in place, scaled, depth, chunks or whether records come with data. */
static struct setting small_setting(struct way way, int size, int shape)
{
	enum ring_kind kind = way.kind;
	bool shoots = way.algorithm == RING_ALGORITHM_ONE_SHOT;
	struct setting s = {.kind = kind,
			    .algorithm = way.algorithm,
			    .size = size,
			    .root = shape % size,
			    .receiver = (shape + 1) % size,
			    .channels = 1,
			    .chunks_per_round = 1 + shape / 8,
			    .depth = 1 + shape / 4 % 2,
			    .count = size == 2 ? 2 : 1,
			    .chunk = size == 2 && shoots ? 1 + shape / 8 : 1,
			    .element_bytes = size == 3 && shape >= 8 ? RING_OPENING_BYTES + 4 : 4,
			    .in_place = shape % 2 && kind != RING_KIND_ALL_TO_ALL,
			    .scaled = shape / 2 % 2 && can_scale(way),
			    .boards = shape / 2 % 2};
	if (is_in_blocks(&s))
		s.count *= (uint64_t)size;
	if (kind == RING_KIND_BARRIER ||
	    !ring_algorithm_can(s.algorithm, kind, size, s.count * s.element_bytes, false))
		s.count = 0;
	return s;
}

/* So many in short: where all send data to all, there are a million states in each. */
static int shapes_of_three(struct way way)
{
	if (way.algorithm == RING_ALGORITHM_RING || is_rooted(way.kind))
		return 3;
	return way.algorithm == RING_ALGORITHM_ONE_SHOT || way.algorithm == RING_ALGORITHM_BRUCK;
}

static void every_interleaving_of_two_and_three(void **state)
{
	(void)state;
	uint64_t states = 0;
	for (int way = 0; way < count_ways(); way++)
		for (int shape = 0; shape < 16; shape++) {
			struct setting s = small_setting(way_of(way), 2, shape);
			if (shape / 2 % 2 == 0 || s.scaled)
				states += explore_setting(&s);
			s = small_setting(way_of(way), 3, shape);
			if (shape < (is_long() ? 16 : shapes_of_three(way_of(way))))
				states += explore_setting(&s);
		}
	print_message("# %llu states\n", (unsigned long long)states);
	assert_true(states > 100000);
}

/* ---- progress ----------------------------------------------------------------------------- */

/*
 * With full chunks, a reducing call of three ranks or more comes to its end if and only if
 * depth + scratch_chunks > chunks; two ranks, which scale only, need one less. Moves never disable
 * one another, so one interleaving tells.
 */
static void try_room(struct setting *s, int rounds)
{
	int room = s->depth + (int)s->scratch_chunks, chunks = s->chunks_per_round;
	s->count = (uint64_t)chunks * rounds;
	if (s->kind == RING_KIND_ALL_REDUCE)
		s->count *= (uint64_t)s->size;
	if (room > chunks || (s->size == 2 && room == chunks))
		must_finish(s);
	else
		demand(&(struct world){.setting = s}, !finishes(s), "too little room deadlocks");
}

static void progress_needs_room_for_a_round(void **state)
{
	(void)state;
	for (int size = 2; size <= 6; size++)
		for (int chunks = 1; chunks <= 8; chunks++)
			for (int depth = 1; depth <= DEPTH_MAX; depth++)
				for (int scratch = 1; scratch <= 2 * chunks; scratch++) {
					struct setting s = {
						.kind = scratch % 2 ? RING_KIND_ALL_REDUCE
								    : RING_KIND_REDUCE_SCATTER,
						.algorithm = RING_ALGORITHM_RING,
						.size = size,
						.channels = 1,
						.chunks_per_round = chunks,
						.depth = depth,
						.chunk = 1,
						.element_bytes = 1,
						.scaled = size == 2 || (depth + scratch / 2) % 2,
						.scratch_chunks = scratch,
						.seed = first_seed() + scratch};
					try_room(&s, 1 + depth % 3);
				}
}

/* A chain needs room for one chunk, and what goes between any two ranks for none. */
static void chains_need_hardly_any_room(void **state)
{
	(void)state;
	const struct way chains = {RING_KIND_REDUCE, RING_ALGORITHM_RING};
	uint64_t dice = first_seed();
	for (int size = 2; size <= 16; size++)
		for (int depth = 1; depth <= 3; depth++)
			for (int scratch = 1; scratch <= 3; scratch++) {
				struct setting s = some_setting(chains, size, 7, &dice);
				s.chunks_per_round = 4;
				s.depth = depth;
				s.chunk = 1;
				s.scratch_chunks = scratch;
				must_finish(&s);
			}
}

/* What channels of a communicator have, beside a direct plan's chunks or Bruck's: every call must do with it. */
static void scratch_is_two_rounds_of_chunks(void **state)
{
	(void)state;
	uint64_t dice = first_seed();
	for (int i = 0; i < 20000; i++) {
		int size = 1 + (int)dice_below(&dice, RANKS_MAX);
		struct setting s = some_setting(way_of(i), size, i, &dice);
		shuffle(s.order, size, &dice);
		struct ring_plan plan = plan_of(&s, 0, 0);
		uint64_t bytes = 2 * s.chunks_per_round * s.chunk * s.element_bytes;
		if (s.algorithm == RING_ALGORITHM_BRUCK)
			bytes = RING_BRUCK_SCRATCH_BYTES;
		if (s.algorithm == RING_ALGORITHM_DIRECT)
			bytes = s.size * s.chunk * s.element_bytes;
		demand(&(struct world){.setting = &s}, ring_plan_scratch_bytes(&plan) <= bytes,
		       "scratch holds two rounds of chunks");
	}
}

/* ---- bytes -------------------------------------------------------------------------------- */

static uint64_t sent_by(const struct setting *s, int position)
{
	uint64_t sum = 0;
	for (int channel = 0; channel < s->channels; channel++) {
		struct ring_plan plan = plan_of(s, position, channel);
		sum += ring_plan_cost(&plan).sent_bytes;
	}
	return sum;
}

/* What each kind is known to send around the ring, in bytes of the vector P or of one part of it. */
static uint64_t ring_formula(const struct setting *s, int position)
{
	uint64_t n = s->size, bytes = s->count * s->element_bytes;
	int rank = s->order[position], next = s->order[(position + 1) % s->size];
	switch (s->kind) {
	case RING_KIND_ALL_REDUCE:
		return 2 * bytes - (ring_share_length(s->count, n, rank) +
				    ring_share_length(s->count, n, next)) *
					   s->element_bytes;
	case RING_KIND_BROADCAST:
		return next == s->root ? 0 : bytes;
	case RING_KIND_REDUCE:
		return rank == s->root ? 0 : bytes;
	default:
		return (n - 1) * bytes;
	}
}

/* ... and straight to whom it is for. */
static uint64_t formula(const struct setting *s, int position)
{
	uint64_t n = s->size, bytes = s->count * s->element_bytes;
	int rank = s->order[position];
	uint64_t block = ring_share_length(s->count, n, rank) * s->element_bytes;
	if (s->algorithm == RING_ALGORITHM_RING)
		return ring_formula(s, position);
	if (is_in_blocks(s))
		return bytes - block + (n - 1) * block;
	if (s->algorithm == RING_ALGORITHM_DIRECT && s->kind == RING_KIND_BROADCAST)
		return rank == s->root ? bytes - block + (n - 1) * block : (n - 2) * block;
	if (s->algorithm == RING_ALGORITHM_DIRECT && s->kind == RING_KIND_REDUCE)
		return bytes - block + (rank == s->root ? 0 : block);
	switch (s->kind) {
	case RING_KIND_REDUCE:
	case RING_KIND_GATHER:
		return rank == s->root ? 0 : bytes;
	case RING_KIND_BROADCAST:
	case RING_KIND_SCATTER:
		return rank == s->root ? (n - 1) * bytes : 0;
	default:
		return (n - 1) * bytes;
	}
}

/* Of a pair, place 0 sends. */
static uint64_t pair_formula(const struct setting *s, int place)
{
	return place == 0 && s->root != s->receiver ? s->count * s->element_bytes : 0;
}

/* Messages one behind the other. */
static uint64_t steps_formula(const struct setting *s)
{
	uint64_t n = s->size;
	switch (s->algorithm) {
	case RING_ALGORITHM_RING:
		return s->kind == RING_KIND_ALL_REDUCE ? 2 * (n - 1) : n - 1;
	case RING_ALGORITHM_TWO_SHOT:
	case RING_ALGORITHM_STAGED:
		return n > 1 ? 2 : 0;
	case RING_ALGORITHM_BRUCK:
		return n > 1 ? 64 - (uint64_t)__builtin_clzll(n - 1) : 0;
	case RING_ALGORITHM_PAIR:
		return s->root != s->receiver;
	default:
		return n > 1;
	}
}

/* That the cost is what moves is checked at the end of every case above. */
static void bytes_are_optimal(void **state)
{
	(void)state;
	uint64_t dice = first_seed();
	for (int i = 0; i < 20000; i++) {
		int size = 1 + (int)dice_below(&dice, RANKS_MAX);
		struct setting s = some_setting(way_of(i), size, i, &dice);
		if (s.kind != RING_KIND_BARRIER && i % 2)
			s.count = dice_below(&dice, UINT64_C(1) << 40);
		shuffle(s.order, size, &dice);
		uint64_t sum = 0;
		for (int place = 0; place < actors_of(&s); place++) {
			uint64_t bytes = is_pair(&s) ? pair_formula(&s, place) : formula(&s, place);
			struct ring_plan plan = plan_of(&s, place, 0);
			demand(&(struct world){.setting = &s}, sent_by(&s, place) == bytes,
			       "a rank sends what its kind is known for");
			demand(&(struct world){.setting = &s},
			       ring_plan_cost(&plan).steps == steps_formula(&s),
			       "a call takes the steps its kind is known for");
			sum += bytes;
		}
		if (is_in_blocks(&s))
			assert_int_equal(sum, 2 * (size - 1) * s.count * s.element_bytes);
	}
}

/* Every vector element has one channel, shares are as equal as can be. */
static void shares_cover_everything(void **state)
{
	(void)state;
	for (uint64_t count = 0; count < 70; count++)
		for (uint64_t parts = 1; parts < 20; parts++) {
			uint64_t end = 0;
			for (uint64_t i = 0; i < parts; i++) {
				uint64_t length = ring_share_length(count, parts, i);
				assert_int_equal(ring_share_begin(count, parts, i), end);
				assert_in_range(length, count / parts, (count + parts - 1) / parts);
				end += length;
			}
			assert_int_equal(end, count);
		}
}

/* ---- pictures ----------------------------------------------------------------------------- */

/* "rank r: which block it sends in each step", blocks of one element; | before the first copy. */
static void draw(enum ring_kind kind, int size, char *text)
{
	struct setting s = {.kind = kind,
			    .size = size,
			    .channels = 1,
			    .chunks_per_round = 1,
			    .depth = 1,
			    .count = kind == RING_KIND_ALL_REDUCE ? (uint64_t)size : 1,
			    .chunk = 1,
			    .element_bytes = 1};
	for (int i = 0; i < size; i++)
		s.order[i] = i;
	for (int rank = 0; rank < size; rank++) {
		text += sprintf(text, "rank %d:", rank);
		struct ring_plan mine = plan_of(&s, rank, 0);
		struct ring_plan next = plan_of(&s, (rank + 1) % size, 0);
		bool copied = false;
		for (uint64_t i = mine.signals; i < mine.outgoing; i++) {
			/* Scratch does not tell which block it holds; what the receiver does tells. */
			struct ring_transfer out = ring_plan_outgoing(&mine, i);
			struct ring_transfer in = ring_plan_incoming(&next, i);
			bool copies = in.action == RING_COPY;
			text += sprintf(text, "%s %d", copies && !copied ? " |" : "",
					(int)(copies ? in.result : in.source).offset);
			copied = copies;
			assert_int_equal(out.step, mine.first + (int)(i - mine.signals));
			assert_int_equal(in.step, out.step);
			if (out.source.buffer != RING_SCRATCH && kind == RING_KIND_ALL_REDUCE)
				assert_int_equal(out.source.offset,
						 (copies ? in.result : in.source).offset);
		}
		text += sprintf(text, "\n");
	}
}

static void pictures_of_three_and_four(void **state)
{
	(void)state;
	char text[256];
	draw(RING_KIND_ALL_REDUCE, 3, text);
	assert_string_equal(text, "rank 0: 2 1 | 0 2\n"
				  "rank 1: 0 2 | 1 0\n"
				  "rank 2: 1 0 | 2 1\n");
	draw(RING_KIND_ALL_REDUCE, 4, text);
	assert_string_equal(text, "rank 0: 3 2 1 | 0 3 2\n"
				  "rank 1: 0 3 2 | 1 0 3\n"
				  "rank 2: 1 0 3 | 2 1 0\n"
				  "rank 3: 2 1 0 | 3 2 1\n");
	draw(RING_KIND_REDUCE_SCATTER, 4, text);
	assert_string_equal(text, "rank 0: 3 2 1\n"
				  "rank 1: 0 3 2\n"
				  "rank 2: 1 0 3\n"
				  "rank 3: 2 1 0\n");
	draw(RING_KIND_ALL_GATHER, 3, text);
	assert_string_equal(text, "rank 0: | 0 2\n"
				  "rank 1: | 1 0\n"
				  "rank 2: | 2 1\n");
}

/* "rank r: to whom its data go, one behind the other; from whom they come", oneself included. */
static void draw_one_shot(enum ring_kind kind, int size, char *text)
{
	struct setting s = {.kind = kind,
			    .algorithm = RING_ALGORITHM_ONE_SHOT,
			    .size = size,
			    .root = 1,
			    .channels = 1,
			    .chunks_per_round = 1,
			    .depth = 1,
			    .count = 1,
			    .chunk = 1,
			    .element_bytes = RING_OPENING_BYTES + 1};
	for (int i = 0; i < size; i++)
		s.order[i] = i;
	for (int rank = 0; rank < size; rank++) {
		struct ring_plan plan = plan_of(&s, rank, 0);
		text += sprintf(text, "rank %d:", rank);
		for (uint64_t i = plan.signals; i < plan.outgoing; i++)
			text += sprintf(text, " %d", ring_plan_outgoing(&plan, i).peer);
		text += sprintf(text, ";");
		for (uint64_t j = plan.signals; j < plan.incoming; j++)
			text += sprintf(text, " %d", ring_plan_incoming(&plan, j).peer);
		text += sprintf(text, "\n");
	}
}

static void pictures_of_one_shot(void **state)
{
	(void)state;
	char text[256];
	draw_one_shot(RING_KIND_ALL_TO_ALL, 4, text);
	assert_string_equal(text, "rank 0: 1 2 3; 3 2 1 0\n"
				  "rank 1: 2 3 0; 0 3 2 1\n"
				  "rank 2: 3 0 1; 1 0 3 2\n"
				  "rank 3: 0 1 2; 2 1 0 3\n");
	draw_one_shot(RING_KIND_GATHER, 3, text);
	assert_string_equal(text, "rank 0: 1;\n"
				  "rank 1:; 0 2 1\n"
				  "rank 2: 1;\n");
	draw_one_shot(RING_KIND_SCATTER, 3, text);
	assert_string_equal(text, "rank 0:; 1\n"
				  "rank 1: 2 0; 1\n"
				  "rank 2:; 1\n");
}

/* "rank r: to whom it sends how many inputs, one behind the other; from whom". */
static void draw_bruck(int size, char *text)
{
	struct setting s = {.kind = RING_KIND_ALL_REDUCE,
			    .algorithm = RING_ALGORITHM_BRUCK,
			    .size = size,
			    .channels = 1,
			    .count = 1,
			    .element_bytes = 1};
	for (int i = 0; i < size; i++)
		s.order[i] = i;
	for (int rank = 0; rank < size; rank++) {
		struct ring_plan plan = plan_of(&s, rank, 0);
		text += sprintf(text, "rank %d:", rank);
		for (uint64_t i = 0; i < plan.outgoing; i++) {
			struct ring_transfer out = ring_plan_outgoing(&plan, i);
			text += sprintf(text, " %dx%d", out.peer, (int)out.bytes);
		}
		text += sprintf(text, ";");
		for (uint64_t j = 1; j <= plan.outgoing; j++)
			text += sprintf(text, " %d", ring_plan_incoming(&plan, j).peer);
		text += sprintf(text, "\n");
	}
}

static void pictures_of_bruck(void **state)
{
	(void)state;
	char text[256];
	draw_bruck(4, text);
	assert_string_equal(text, "rank 0: 1x1 2x2; 3 2\n"
				  "rank 1: 2x1 3x2; 0 3\n"
				  "rank 2: 3x1 0x2; 1 0\n"
				  "rank 3: 0x1 1x2; 2 1\n");
	draw_bruck(5, text);
	assert_string_equal(text, "rank 0: 1x1 2x2 4x1; 4 3 1\n"
				  "rank 1: 2x1 3x2 0x1; 0 4 2\n"
				  "rank 2: 3x1 4x2 1x1; 1 0 3\n"
				  "rank 3: 4x1 0x2 2x1; 2 1 4\n"
				  "rank 4: 0x1 1x2 3x1; 3 2 0\n");
}

/* What is sent last fits behind a record, or there is no such plan. */
static void bruck_carries_what_fits(void **state)
{
	(void)state;
	for (int size = 1; size <= RING_SUM_RANKS; size++)
		for (uint64_t bytes = 0; bytes <= RING_OPENING_BYTES + 1; bytes++) {
			struct setting s = {.algorithm = RING_ALGORITHM_BRUCK,
					    .size = size,
					    .channels = 1,
					    .count = bytes,
					    .element_bytes = 1};
			struct ring_plan plan = plan_of(&s, 0, 0);
			bool fits = bytes <= RING_OPENING_BYTES;
			for (uint64_t i = 0; i < plan.outgoing; i++)
				fits = fits &&
				       ring_plan_outgoing(&plan, i).bytes <= RING_OPENING_BYTES;
			assert_int_equal(ring_algorithm_can(s.algorithm, s.kind, size, bytes, false),
					 fits);
		}
}

static void oneself_needs_no_link_and_no_signal(void **state)
{
	(void)state;
	uint64_t dice = first_seed();
	for (int pick = 0; pick < 100; pick++) {
		struct setting s = some_setting(pairs, 1 + pick % 5, pick, &dice);
		shuffle(s.order, s.size, &dice);
		s.receiver = s.root;
		struct ring_plan sender = plan_of(&s, 0, 0), receiver = plan_of(&s, 1, 0);
		assert_int_equal(sender.outgoing + sender.incoming + receiver.outgoing, 0);
		assert_int_equal(sender.edges + receiver.edges, 0);
		assert_int_equal(receiver.signals, 0);
		assert_int_equal(receiver.incoming, receiver.rounds);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_cover_everything),
		cmocka_unit_test(pictures_of_three_and_four),
		cmocka_unit_test(pictures_of_one_shot),
		cmocka_unit_test(pictures_of_bruck),
		cmocka_unit_test(bruck_carries_what_fits),
		cmocka_unit_test(oneself_needs_no_link_and_no_signal),
		cmocka_unit_test(bytes_are_optimal),
		cmocka_unit_test(scratch_is_two_rounds_of_chunks),
		cmocka_unit_test(progress_needs_room_for_a_round),
		cmocka_unit_test(chains_need_hardly_any_room),
		cmocka_unit_test(every_interleaving_of_two_and_three),
		cmocka_unit_test(all_shapes_of_small_rings),
		cmocka_unit_test(every_root),
		cmocka_unit_test(every_pair),
		cmocka_unit_test(any_setting_of_any_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
