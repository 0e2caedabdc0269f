/* SPDX-License-Identifier: MIT */
/*
 * What plans cost and what they are like: bytes and steps as formulas have them, shares, what fits where, and
 * the schedules of three and four ranks as pictures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/plan_ways.h"

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
	case RING_KIND_BROADCAST:
		return next == s->root ? 0 : bytes;
	case RING_KIND_REDUCE:
		return rank == s->root ? 0 : bytes;
	default:
		return (n - 1) * bytes;
	}
}

/* A place's parent is the place itself without its lowest bit. Down goes one vector to each child, up one of each below. */
static uint64_t tree_formula(const struct setting *s, int position)
{
	uint64_t children = 0, below = 0;
	int root = 0;
	while (s->kind == RING_KIND_BROADCAST && s->order[root] != s->root)
		root++;
	int place = (position + s->size - root) % s->size;
	for (int other = 0; other < s->size; other++) {
		int above = other;
		children += other > 0 && (other & (other - 1)) == place;
		while (above > place)
			above &= above - 1;
		below += above == place;
	}
	uint64_t up = s->kind != RING_KIND_BROADCAST && place > 0 ? below : 0;
	return (children + up) * s->count * s->element_bytes;
}

/* The longest of those strides for which a rank sends fewest messages: one to each near rank, one for each stride. */
static uint64_t stride_for(uint64_t size)
{
	uint64_t best = size;
	for (uint64_t m = size; m > 0; m--)
		if (m + (size - 1) / m < best + (size - 1) / best)
			best = m;
	return best;
}

/*
 * Of a vector in blocks, around a ring in strides of one position, or of all: inputs and sums of all blocks but one's
 * own, and results of ranks whole strides ahead, to all up to a stride back; a ring sends them on the other way.
 */
static uint64_t blocks_formula(const struct setting *s, int position)
{
	uint64_t n = (uint64_t)s->size, m = n, elements = 0;
	if (s->algorithm == RING_ALGORITHM_RING)
		m = 1;
	if (s->algorithm == RING_ALGORITHM_STRIDE)
		m = stride_for(n);
	for (uint64_t away = 0; away < n; away++) {
		bool back = s->algorithm == RING_ALGORITHM_RING;
		int owner = s->order[((uint64_t)position + (back ? n - away : away)) % n];
		uint64_t block = ring_share_length(s->count, n, owner);
		uint64_t ahead = n - 1 - away < m ? n - 1 - away : m;
		elements += ((away > 0) + (away % m == 0 ? ahead : 0)) * block;
	}
	return elements * s->element_bytes;
}

/* ... and straight to whom it is for. */
static uint64_t formula(const struct setting *s, int position)
{
	uint64_t n = s->size, bytes = s->count * s->element_bytes;
	int rank = s->order[position];
	uint64_t block = ring_share_length(s->count, n, rank) * s->element_bytes;
	if (is_in_blocks(s))
		return blocks_formula(s, position);
	if (s->algorithm == RING_ALGORITHM_RING)
		return ring_formula(s, position);
	if (s->algorithm == RING_ALGORITHM_TREE)
		return tree_formula(s, position);
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
	case RING_ALGORITHM_STRIDE:
		return n > 1 ? 2 + 2 * (s->count > 0 ? (n - 1) / stride_for(n) : 0) : 0;
	case RING_ALGORITHM_TWO_SHOT:
	case RING_ALGORITHM_STAGED:
		return n > 1 ? 2 : 0;
	case RING_ALGORITHM_BRUCK:
		return n > 1 ? 64 - (uint64_t)__builtin_clzll(n - 1) : 0;
	case RING_ALGORITHM_TREE: /* all bits of the deepest place, there and back */
		return (63 - (uint64_t)__builtin_clzll(n)) *
		       (s->kind == RING_KIND_BROADCAST ? 1 : 2);
	case RING_ALGORITHM_PAIR:
		return s->root != s->receiver;
	default:
		return n > 1;
	}
}

/* That the cost is what moves is checked at the end of every case of plan_test. */
static void bytes_are_optimal(void **state)
{
	(void)state;
	uint64_t dice = first_seed();
	for (int i = 0; i < 20000; i++) {
		int size = 1 + (int)dice_below(&dice, RANKS_MAX);
		struct setting s = some_setting(way_of(i), size, i, &dice);
		if (s.uneven) /* plan_run.h counts what goes to others */
			continue;
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

/* ---- what fits, and what needs nothing ------------------------------------------------------ */

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

/* ---- pictures ----------------------------------------------------------------------------- */

/* "rank r: which block it sends in each step", blocks of one element; | before the first copy. */
static void draw(enum ring_kind kind, int size, char *text)
{
	uint64_t count = kind == RING_KIND_ALL_REDUCE ? (uint64_t)size : 1;
	struct setting s = plain_setting(kind, RING_ALGORITHM_RING, size, count);
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
			assert_int_equal(out.step, mine.around.first + (int)(i - mine.signals));
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

/* Chunks of one element each, which is too large to travel with a record. */
static struct setting large_setting(enum ring_kind kind, enum ring_algorithm algorithm, int size,
				    uint64_t chunks)
{
	struct setting s = plain_setting(kind, algorithm, size, chunks);
	s.root = 1;
	s.element_bytes = RING_OPENING_BYTES + 1;
	return s;
}

/* "rank r: to whom its data go, one behind the other; from whom they come", oneself included. */
static void draw_one_shot(enum ring_kind kind, int size, uint64_t chunks, char *text)
{
	struct setting s = large_setting(kind, RING_ALGORITHM_ONE_SHOT, size, chunks);
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
	draw_one_shot(RING_KIND_ALL_TO_ALL, 4, 1, text);
	assert_string_equal(text, "rank 0: 1 2 3; 3 2 1 0\n"
				  "rank 1: 2 3 0; 0 3 2 1\n"
				  "rank 2: 3 0 1; 1 0 3 2\n"
				  "rank 3: 0 1 2; 2 1 0 3\n");
	draw_one_shot(RING_KIND_ALL_TO_ALL, 3, 2, text);
	assert_string_equal(text, "rank 0: 1 1 2 2; 2 2 1 1 0\n"
				  "rank 1: 2 2 0 0; 0 0 2 2 1\n"
				  "rank 2: 0 0 1 1; 1 1 0 0 2\n");
	draw_one_shot(RING_KIND_GATHER, 3, 1, text);
	assert_string_equal(text, "rank 0: 1;\n"
				  "rank 1:; 0 2 1\n"
				  "rank 2: 1;\n");
	draw_one_shot(RING_KIND_SCATTER, 3, 1, text);
	assert_string_equal(text, "rank 0:; 1\n"
				  "rank 1: 2 0; 1\n"
				  "rank 2:; 1\n");
	draw_one_shot(RING_KIND_SCATTER, 3, 2, text);
	assert_string_equal(text, "rank 0:; 1 1\n"
				  "rank 1: 2 0 2 0; 1\n"
				  "rank 2:; 1 1\n");
}

/* "rank r: to whom it sends how many inputs, one behind the other; from whom". */
static void draw_bruck(int size, char *text)
{
	struct setting s = plain_setting(RING_KIND_ALL_REDUCE, RING_ALGORITHM_BRUCK, size, 1);
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
	assert_string_equal(text, "rank 0: 1x1 2x2; 1 2\n"
				  "rank 1: 0x1 3x2; 0 3\n"
				  "rank 2: 3x1 0x2; 3 0\n"
				  "rank 3: 2x1 1x2; 2 1\n");
	draw_bruck(5, text);
	assert_string_equal(text, "rank 0: 1x1 2x2 4x1; 4 3 1\n"
				  "rank 1: 2x1 3x2 0x1; 0 4 2\n"
				  "rank 2: 3x1 4x2 1x1; 1 0 3\n"
				  "rank 3: 4x1 0x2 2x1; 2 1 4\n"
				  "rank 4: 0x1 1x2 3x1; 3 2 0\n");
}

/* "rank r: to whom it sends whose block, one behind the other" */
static void draw_strides(int size, char *text)
{
	struct setting s = plain_setting(RING_KIND_ALL_REDUCE, RING_ALGORITHM_STRIDE, size,
					 (uint64_t)size);
	s.chunks_per_round = size;
	for (int rank = 0; rank < size; rank++) {
		struct ring_plan plan = plan_of(&s, rank, 0);
		text += sprintf(text, "rank %d:", rank);
		for (uint64_t i = 0; i < plan.outgoing; i++) {
			struct ring_transfer out = ring_plan_outgoing(&plan, i);
			struct ring_stride_hop hop = ring_stride_find(&plan, i);
			int away = hop.strides * plan.stride.positions + (hop.back ? 0 : hop.apart);
			if (out.bytes > 0)
				text += sprintf(text, " %d:%d", out.peer, ring_plan_at(&plan, away));
		}
		text += sprintf(text, "\n");
	}
}

static void pictures_of_strides(void **state)
{
	(void)state;
	char text[512];
	draw_strides(3, text);
	assert_string_equal(text, "rank 0: 1:1 2:2 2:0 1:0\n"
				  "rank 1: 2:2 0:0 0:1 2:1\n"
				  "rank 2: 0:0 1:1 1:2 0:2\n");
	draw_strides(4, text);
	assert_string_equal(text, "rank 0: 1:3 1:1 2:2 2:0 3:0 3:2\n"
				  "rank 1: 2:0 2:2 3:3 3:1 0:1 0:3\n"
				  "rank 2: 3:1 3:3 0:0 0:2 1:2 1:0\n"
				  "rank 3: 0:2 0:0 1:1 1:3 2:3 2:1\n");
	draw_strides(5, text);
	assert_non_null(strstr(text, "rank 0: 1:4 1:1 2:2 3:3 2:0 4:0 4:3 3:0\n"));
}

/* "rank r: from whom; to whom, one behind the other, how many vectors if several" */
static void draw_tree(enum ring_kind kind, int size, char *text)
{
	struct setting s = plain_setting(kind, RING_ALGORITHM_TREE, size, 1);
	s.root = 1;
	for (int rank = 0; rank < size; rank++) {
		struct ring_plan plan = plan_of(&s, rank, 0);
		text += sprintf(text, "rank %d:", rank);
		for (uint64_t j = 0; j < plan.incoming; j++) {
			struct ring_transfer in = ring_plan_incoming(&plan, j);
			if (in.opens)
				text += sprintf(text, " %d", in.peer);
		}
		text += sprintf(text, ";");
		for (uint64_t i = 0; i < plan.outgoing; i++) {
			struct ring_transfer out = ring_plan_outgoing(&plan, i);
			if (out.opens)
				text += sprintf(text, out.bytes > 1 ? " %dx%d" : " %d", out.peer,
						(int)out.bytes);
		}
		text += sprintf(text, "\n");
	}
}

/* "rank r: to whom", of a signal, of a chunk with its number */
static void draw_chunks(int size, uint64_t chunks, char *text)
{
	struct setting s = large_setting(RING_KIND_BROADCAST, RING_ALGORITHM_TREE, size, chunks);
	for (int rank = 0; rank < size; rank++) {
		struct ring_plan plan = plan_of(&s, rank, 0);
		text += sprintf(text, "rank %d:", rank);
		for (uint64_t i = 0; i < plan.outgoing; i++) {
			struct ring_transfer out = ring_plan_outgoing(&plan, i);
			text += sprintf(text, " %d", out.peer);
			if (!out.opens)
				text += sprintf(text, ":%d",
						(int)(out.source.offset / s.element_bytes));
		}
		text += sprintf(text, "\n");
	}
}

static void pictures_of_trees(void **state)
{
	(void)state;
	char text[256];
	draw_tree(RING_KIND_BROADCAST, 4, text);
	assert_string_equal(text, "rank 0: 3; 3\n"
				  "rank 1: 3 2; 3 2\n"
				  "rank 2: 1; 1\n"
				  "rank 3: 0 1; 1 0\n");
	draw_tree(RING_KIND_BROADCAST, 7, text);
	assert_string_equal(text, "rank 0: 5; 5\n"
				  "rank 1: 5 3 2; 5 3 2\n"
				  "rank 2: 1; 1\n"
				  "rank 3: 4 1; 1 4\n"
				  "rank 4: 3; 3\n"
				  "rank 5: 0 6 1; 1 0 6\n"
				  "rank 6: 5; 5\n");
	draw_tree(RING_KIND_ALL_REDUCE, 4, text);
	assert_string_equal(text, "rank 0: 1 2; 2 1\n"
				  "rank 1: 0; 0\n"
				  "rank 2: 3 0; 0x2 3\n"
				  "rank 3: 2; 2\n");
	draw_tree(RING_KIND_ALL_REDUCE, 7, text);
	assert_string_equal(text, "rank 0: 1 2 4; 4 2 1\n"
				  "rank 1: 0; 0\n"
				  "rank 2: 3 0; 0x2 3\n"
				  "rank 3: 2; 2\n"
				  "rank 4: 5 6 0; 0x3 6 5\n"
				  "rank 5: 4; 4\n"
				  "rank 6: 4; 4\n");
	draw_chunks(4, 2, text);
	assert_string_equal(text, "rank 0: 3\n"
				  "rank 1: 3 2 3:0 2:0 3:1 2:1\n"
				  "rank 2: 1\n"
				  "rank 3: 1 0 0:0 0:1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_cover_everything),
		cmocka_unit_test(pictures_of_three_and_four),
		cmocka_unit_test(pictures_of_one_shot),
		cmocka_unit_test(pictures_of_bruck),
		cmocka_unit_test(pictures_of_strides),
		cmocka_unit_test(pictures_of_trees),
		cmocka_unit_test(bruck_carries_what_fits),
		cmocka_unit_test(oneself_needs_no_link_and_no_signal),
		cmocka_unit_test(bytes_are_optimal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
