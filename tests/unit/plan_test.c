/* SPDX-License-Identifier: MIT */
/*
 * The plan, proved by carrying it out: results, order of additions, what lands when, progress,
 * bytes, for every number of ranks up to 64; all interleavings of the smallest rings; both sides of
 * the condition for progress; and the schedule of three and four ranks as a picture.
 *
 * RING_TEST_LONG takes many more cases, RING_TEST_SEED other ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/plan_run.h"

#define KINDS 5

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

/* The count's neighbourhoods where schedules go wrong: none, one, about n, about whole chunks. */
static uint64_t some_count(const struct setting *s, uint64_t pick, uint64_t *dice)
{
	uint64_t n = (uint64_t)s->size, chunks = 1 + dice_below(dice, 3);
	uint64_t parts = s->kind == RING_KIND_ALL_REDUCE ? n * s->channels : (uint64_t)s->channels;
	const uint64_t counts[] = {0,
				   1,
				   n - 1,
				   n,
				   n + 1,
				   parts * s->chunk * chunks - 1,
				   parts * s->chunk * chunks,
				   parts * s->chunk * chunks + 1};
	return counts[pick % (sizeof(counts) / sizeof(counts[0]))];
}

static struct setting some_setting(enum ring_kind kind, int size, uint64_t pick, uint64_t *dice)
{
	struct setting s = {.kind = kind,
			    .size = size,
			    .channels = 1 + (int)dice_below(dice, 3),
			    .chunks_per_round = 1 + (int)dice_below(dice, 4),
			    .depth = 1 + (int)dice_below(dice, DEPTH_MAX),
			    .chunk = 1 + dice_below(dice, 3),
			    .element_bytes = 1u << dice_below(dice, 4),
			    .in_place = dice_below(dice, 2),
			    .root = (int)dice_below(dice, size),
			    .seed = dice_roll(dice)};
	s.count = kind == RING_KIND_BARRIER ? 0 : some_count(&s, pick, dice);
	uint64_t share = s.count / s.channels;
	if (kind == RING_KIND_ALL_REDUCE)
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
		for (int kind = 0; kind < KINDS; kind++) {
			for (int i = 0; i < cases; i++) {
				struct setting s = some_setting((enum ring_kind)kind, size,
								i + size, &dice);
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
		for (int kind = 0; kind < KINDS; kind++)
			for (int shape = 0; shape < 3 * 4 * DEPTH_MAX * 2 * 8; shape++) {
				struct setting s = some_setting((enum ring_kind)kind, size, shape,
								&dice);
				s.in_place = shape / 8 % 2;
				s.channels = 1 + shape / 16 % 3;
				s.chunks_per_round = 1 + shape / 48 % 4;
				s.depth = 1 + shape / 192;
				if (kind != RING_KIND_BARRIER)
					s.count = some_count(&s, shape, &dice);
				must_finish(&s);
			}
}

static void every_root(void **state)
{
	(void)state;
	uint64_t dice = first_seed();
	for (int size = 1; size <= RANKS_MAX; size++) {
		int stride = size <= 16 || is_long() ? 1 : size / 5;
		for (int root = 0; root < size; root += stride) {
			struct setting s = some_setting(RING_KIND_BROADCAST, size, 5 + root, &dice);
			s.root = root;
			must_finish(&s);
		}
	}
}

/* ---- every interleaving ------------------------------------------------------------------- */

/* States that were visited, as packed counters; open addressing. */
struct visited {
	uint64_t *states, count, room;
};

static uint64_t *place_of(const struct visited *visited, uint64_t state)
{
	uint64_t dice = state, at = dice_roll(&dice) & (visited->room - 1);
	while (visited->states[at] != 0 && visited->states[at] != state)
		at = (at + 1) & (visited->room - 1);
	return &visited->states[at];
}

/* Returns false if it was there. */
static bool visit(struct visited *visited, uint64_t state)
{
	uint64_t *place = place_of(visited, state);
	if (*place)
		return false;
	*place = state;
	if (++visited->count * 2 < visited->room)
		return true;
	struct visited grown = {.count = visited->count, .room = 2 * visited->room};
	grown.states = calloc(grown.room, sizeof(uint64_t));
	assert_non_null(grown.states);
	for (uint64_t i = 0; i < visited->room; i++)
		if (visited->states[i])
			*place_of(&grown, visited->states[i]) = visited->states[i];
	free(visited->states);
	*visited = grown;
	return true;
}

/* All counters in one word; what memory holds follows from them. Never 0. */
static uint64_t pack(const struct world *world)
{
	uint64_t state = 1;
	int bits = 63 / (world->actor_count * MOVES);
	for (int i = 0; i < world->actor_count; i++) {
		const struct actor *a = &world->actors[i];
		const uint64_t counters[] = {a->posted, a->flown, a->sent, a->started, a->reduced};
		for (int k = 0; k < MOVES; k++) {
			demand(world, counters[k] < UINT64_C(1) << bits, "a state fits a word");
			state = state << bits | counters[k];
		}
	}
	return state;
}

/* Makes every possible move from here, goes on from there, and undoes it. */
static void explore(struct world *world, struct visited *visited)
{
	if (!visit(visited, pack(world)))
		return;
	struct world *before = malloc(world->bytes);
	assert_non_null(before);
	memcpy(before, world, world->bytes);
	bool moved = false;
	for (int i = 0; i < world->actor_count; i++) {
		for (int move = 0; move < MOVES; move++) {
			if (!make_move(world, &world->actors[i], (enum move)move))
				continue;
			moved = true;
			explore(world, visited);
			memcpy(world, before, world->bytes);
		}
	}
	free(before);
	if (moved)
		return;
	demand(world, all_done(world), "every interleaving comes to the end");
	check_end(world);
}

static uint64_t explore_setting(struct setting *setting)
{
	for (int i = 0; i < setting->size; i++)
		setting->order[i] = i;
	struct world *world = make_world(setting);
	struct visited visited = {.room = 1 << 16, .states = calloc(1 << 16, sizeof(uint64_t))};
	assert_non_null(visited.states);
	explore(world, &visited);
	free(visited.states);
	free(world);
	return visited.count;
}

static void every_interleaving_of_two_and_three(void **state)
{
	(void)state;
	uint64_t states = 0;
	for (int kind = 0; kind < KINDS; kind++) {
		for (int shape = 0; shape < 8; shape++) {
			struct setting s = {.kind = (enum ring_kind)kind,
					    .size = 2,
					    .channels = 1,
					    .chunks_per_round = 1 + shape / 4,
					    .depth = 1 + shape / 2 % 2,
					    .count = kind == RING_KIND_ALL_REDUCE ? 4 : 2,
					    .chunk = 1,
					    .element_bytes = 4,
					    .in_place = shape % 2};
			if (kind == RING_KIND_BARRIER)
				s.count = 0;
			states += explore_setting(&s);
			s.size = 3;
			s.count = kind == RING_KIND_ALL_REDUCE ? 3 : kind != RING_KIND_BARRIER;
			if (shape < (is_long() ? 8 : 2))
				states += explore_setting(&s);
		}
	}
	assert_true(states > 100000);
}

/* ---- progress ----------------------------------------------------------------------------- */

/*
 * With full chunks, a reducing call of three ranks or more comes to its end if and only if
 * depth + scratch_chunks > chunks. Moves never disable one another, so one interleaving tells.
 */
static void progress_needs_room_for_a_round(void **state)
{
	(void)state;
	for (int size = 3; size <= 6; size++)
		for (int chunks = 1; chunks <= 8; chunks++)
			for (int depth = 1; depth <= DEPTH_MAX; depth++)
				for (int scratch = 1; scratch <= 2 * chunks; scratch++) {
					struct setting s = {
						.kind = scratch % 2 ? RING_KIND_ALL_REDUCE
								    : RING_KIND_REDUCE_SCATTER,
						.size = size,
						.channels = 1,
						.chunks_per_round = chunks,
						.depth = depth,
						.chunk = 1,
						.element_bytes = 1,
						.scratch_chunks = scratch,
						.seed = first_seed() + scratch};
					int rounds = 1 + depth % 3;
					s.count = (uint64_t)chunks * rounds;
					if (s.kind == RING_KIND_ALL_REDUCE)
						s.count *= size;
					if (depth + scratch > chunks)
						must_finish(&s);
					else
						demand(&(struct world){.setting = &s},
						       !finishes(&s), "too little room deadlocks");
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

/* What each kind is known to send, in bytes of the vector P or of one part of it. */
static uint64_t formula(const struct setting *s, int position)
{
	uint64_t n = s->size, bytes = s->count * s->element_bytes;
	int rank = s->order[position], next = s->order[(position + 1) % s->size];
	switch (s->kind) {
	case RING_KIND_ALL_REDUCE:
		return 2 * bytes - (ring_share_length(s->count, n, rank) +
				    ring_share_length(s->count, n, next)) *
					   s->element_bytes;
	case RING_KIND_REDUCE_SCATTER:
	case RING_KIND_ALL_GATHER:
		return (n - 1) * bytes;
	case RING_KIND_BROADCAST:
		return next == s->root ? 0 : bytes;
	case RING_KIND_BARRIER:
		break;
	}
	return 0;
}

/* That the cost is what moves is checked at the end of every case above. */
static void bytes_are_optimal(void **state)
{
	(void)state;
	uint64_t dice = first_seed();
	for (int i = 0; i < 20000; i++) {
		int size = 1 + (int)dice_below(&dice, RANKS_MAX);
		struct setting s = some_setting((enum ring_kind)(i % KINDS), size, i, &dice);
		if (s.kind != RING_KIND_BARRIER && i % 2)
			s.count = dice_below(&dice, UINT64_C(1) << 40);
		shuffle(s.order, size, &dice);
		uint64_t sum = 0;
		for (int position = 0; position < size; position++) {
			demand(&(struct world){.setting = &s},
			       sent_by(&s, position) == formula(&s, position),
			       "a rank sends what its kind is known for");
			sum += sent_by(&s, position);
		}
		if (s.kind == RING_KIND_ALL_REDUCE)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_cover_everything),
		cmocka_unit_test(pictures_of_three_and_four),
		cmocka_unit_test(bytes_are_optimal),
		cmocka_unit_test(progress_needs_room_for_a_round),
		cmocka_unit_test(every_interleaving_of_two_and_three),
		cmocka_unit_test(all_shapes_of_small_rings),
		cmocka_unit_test(every_root),
		cmocka_unit_test(any_setting_of_any_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
