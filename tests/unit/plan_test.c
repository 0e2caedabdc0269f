/* SPDX-License-Identifier: MIT */
/*
 * The plan, proved by carrying it out: results, order of additions, what lands when, progress,
 * bytes, for every number of ranks up to 64; all interleavings of the smallest communicators; both
 * sides of the condition for progress. Cases are plan_ways.h's, a part of them but in the long form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/plan_explore.h"
#include "tests/unit/plan_ways.h"

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

static void any_setting_of_any_size(void **state)
{
	(void)state;
	uint64_t dice = first_seed();
	for (int size = 1; size <= RANKS_MAX; size++) {
		int cases = (is_long() ? 1000 : 50) / size + 1;
		for (int way = 0; way < count_ways(); way++) {
			for (int i = 0; i < cases && has_way(size, way); i++) {
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
			for (int shape = 0; shape < 3 * 4 * DEPTH_MAX * 2 * 8;
			     shape += stride_of_cases()) {
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
			for (int root = 0; root < size && has_way(size, way); root += stride) {
				struct setting s = some_setting(way_of(way), size, 5 + root, &dice);
				s.root = root;
				must_finish(&s);
			}
		}
}

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
			    .uneven = way.uneven,
			    .seed = (uint64_t)shape,
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
			    .in_order = shape % 2 && can_be_in_order(way, size),
			    .boards = shape / 2 % 2,
			    .apart = shape % 3 == 2 &&
				     ring_algorithm_keeps_apart(way.algorithm, kind),
			    .workers = (uint64_t)shape / 4 % (1u << size)};
	if (is_in_blocks(&s))
		s.count *= (uint64_t)size;
	if (kind == RING_KIND_BARRIER ||
	    !ring_algorithm_can(s.algorithm, kind, size, s.count * s.element_bytes, false))
		s.count = 0;
	return s;
}

/* So many: where all send data to all, there are a million states in each. */
static int shapes_of_three(struct way way)
{
	if (is_long())
		return 16;
	if (is_quick())
		return way.algorithm == RING_ALGORITHM_RING;
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
			if (shape < shapes_of_three(way_of(way)))
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
	const struct way chains = {.kind = RING_KIND_REDUCE, .algorithm = RING_ALGORITHM_RING};
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

/* What channels of a communicator have, beside a direct plan's chunks, Bruck's or a tree's: every call must do with it. */
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
		bool small = s.algorithm == RING_ALGORITHM_STRIDE &&
			     bytes < RING_BRUCK_SCRATCH_BYTES;
		if (s.algorithm == RING_ALGORITHM_BRUCK || s.algorithm == RING_ALGORITHM_TREE ||
		    small)
			bytes = RING_BRUCK_SCRATCH_BYTES;
		if (s.algorithm == RING_ALGORITHM_DIRECT)
			bytes = ring_kind_reduces(s.kind) ? s.size * s.chunk * s.element_bytes : 0;
		demand(&(struct world){.setting = &s}, ring_plan_scratch_bytes(&plan) <= bytes,
		       "scratch holds two rounds of chunks");
	}
}

/* Root is the first of them. */
static void workers_share_a_broadcast(void **state)
{
	(void)state;
	static const struct {
		int size, root;
		uint64_t workers;
		const char *shares; /* by rank: bytes */
	} cases[] = {
		{4, 0, 0x5, "4040"}, {4, 1, 0x5, "0404"}, {5, 4, 0x13, "30023"}, {3, 2, 0x1, "008"},
		{3, 1, 0x6, "404"},  {4, 2, 0x0, "2222"}, {2, 1, 0x3, "44"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct setting s = plain_setting(RING_KIND_BROADCAST, RING_ALGORITHM_DIRECT,
						 cases[i].size, 8);
		s.root = cases[i].root;
		s.workers = cases[i].workers;
		for (int rank = 0; rank < s.size; rank++)
			assert_int_equal(plan_of(&s, rank, 0).share.length,
					 cases[i].shares[rank] - '0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scratch_is_two_rounds_of_chunks),
		cmocka_unit_test(progress_needs_room_for_a_round),
		cmocka_unit_test(chains_need_hardly_any_room),
		cmocka_unit_test(workers_share_a_broadcast),
		cmocka_unit_test(every_interleaving_of_two_and_three),
		cmocka_unit_test(all_shapes_of_small_rings),
		cmocka_unit_test(every_root),
		cmocka_unit_test(every_pair),
		cmocka_unit_test(any_setting_of_any_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
