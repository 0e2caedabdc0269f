/* SPDX-License-Identifier: MIT */
/*
 * The kernel engine as threads of the host: every kind, type and operation, for 1 to 8 ranks, at
 * depths 1 to 8 and past the end of the messages' numbers, beside a rank that is a CPU: the
 * reference's bits, and nothing beside. And how its waits end. RING_TEST_SEED repeats a failure;
 * RING_TEST_LONG takes more cases. tests/mutate-fifo weakens its orderings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/engine_world.h"

static uint64_t seed;

static int times(int cases)
{
	const char *text = getenv("RING_TEST_LONG");
	return text && *text ? 20 * cases : cases;
}

static void describe(const struct setting *s, char *text, size_t bytes)
{
	snprintf(text, bytes,
		 "kind %d of %" PRIu64
		 " %s, %s, %d ranks, root %d, %d channels of %d threads, chunk "
		 "%zu, %d per round, depth %u%s%s%s, cpu %d, place %zu, seed %" PRIu64,
		 (int)s->kind, s->count, ring_datatype_name(s->type), ring_op_name(s->op), s->size,
		 s->root, s->channels, s->threads, s->chunk_bytes, s->chunks_per_round, s->depth,
		 s->scaled ? ", scaled" : "", s->in_place ? ", in place" : "",
		 s->scratch ? ", scratch" : "", s->cpu, s->place, s->seed);
}

/* ---- what must come of a call ---------------------------------------------------------------- */

/* Element i of the inputs, added from behind a position around the ring to it. */
static uint64_t sum_up_to(const struct world *world, int position, uint64_t i)
{
	const struct setting *s = &world->setting;
	uint64_t sum = 0;
	for (int k = 1; k <= s->size; k++) {
		const struct rank *rank = &world->ranks[s->order[(position + k) % s->size]];
		const uint64_t scalar = scalar_of(rank);
		const uint64_t divisor = k == s->size && s->op == RING_AVG ? s->size : 1;
		uint64_t sources[2] = {get(rank->kept, i, element_bytes(s)), sum};
		if (k > 1 || s->scaled)
			sum = reference_reduced(s->type, s->op, sources, k > 1 ? 2 : 1, &scalar,
						s->scaled, divisor);
		else
			sum = sources[0];
	}
	return sum;
}

static uint64_t wanted(const struct world *world, const struct rank *rank, uint64_t i)
{
	const struct setting *s = &world->setting;
	int owner = 0;
	switch (s->kind) {
	case RING_KIND_ALL_REDUCE:
		while (owner + 1 < s->size && ring_share_begin(s->count, s->size, owner + 1) <= i)
			owner++;
		return sum_up_to(world, world->ranks[owner].position, i);
	case RING_KIND_REDUCE_SCATTER:
		return sum_up_to(world, rank->position, s->count * rank->number + i);
	case RING_KIND_REDUCE:
		return sum_up_to(world, world->ranks[s->root].position, i);
	case RING_KIND_ALL_GATHER:
		return get(world->ranks[i / s->count].kept, i % s->count, element_bytes(s));
	default:
		return get(world->ranks[s->root].kept, i, element_bytes(s));
	}
}

static bool has_output(const struct rank *rank)
{
	const struct setting *s = &rank->world->setting;
	return s->kind != RING_KIND_BARRIER &&
	       (s->kind != RING_KIND_REDUCE || rank->number == s->root);
}

static void check_rank(const struct rank *rank)
{
	const struct setting *s = &rank->world->setting;
	char text[400];
	describe(s, text, sizeof(text));
	check_buffers(rank, has_output(rank), wanted, text);
	for (int c = 0; c < s->channels; c++) {
		if (rank->report.errors[c].err)
			fail_msg("rank %d, channel %d: error %d (%s)", rank->number, c,
				 (int)rank->report.errors[c].err, text);
		if (rank->number != s->cpu && rank->report.numbers[c] != rank->call.number)
			fail_msg("rank %d, channel %d: call %d is not complete (%s)", rank->number,
				 c, (int)rank->call.number, text);
	}
}

static void check(const struct setting *s, int calls)
{
	check_calls(s, calls, check_rank);
}

/* ---- settings -------------------------------------------------------------------------------- */

static void shuffle(struct setting *s, uint64_t *dice)
{
	for (int i = 0; i < s->size; i++) {
		int j = (int)dice_below(dice, i + 1);
		s->order[i] = s->order[j];
		s->order[j] = i;
	}
}

static const uint64_t before_the_wrap = UINT32_MAX - 12;

/* Chunks of which some lie behind their flags, and some do not. */
static struct setting some_setting(enum ring_kind kind, int size, uint64_t *dice)
{
	static const int types[] = {RING_FLOAT32, RING_BFLOAT16, RING_INT8, RING_FLOAT64};
	struct setting s = {.kind = kind,
			    .type = (enum ring_datatype)types[dice_below(dice, 4)],
			    .op = (enum ring_op)dice_below(dice, RING_AVG + 1),
			    .size = size,
			    .root = (int)dice_below(dice, size),
			    .channels = 1 + (int)dice_below(dice, size > 4 ? 2 : CHANNELS),
			    .chunks_per_round = 1 + (int)dice_below(dice, 4),
			    .threads = 1 + (int)dice_below(dice, size > 4 ? 2 : THREADS),
			    .depth = 1 + (unsigned)dice_below(dice, RING_DEPTH_MAX),
			    .chunk_bytes = 8 * (1 + dice_below(dice, 20)),
			    .scaled = ring_kind_reduces(kind) && dice_below(dice, 4) == 0,
			    .in_place = dice_below(dice, 2),
			    .scratch = true,
			    .cpu = dice_below(dice, 3) ? -1 : (int)dice_below(dice, size),
			    .place = dice_below(dice, 3) ? 0 : 8 * dice_below(dice, 2),
			    .before = dice_below(dice, 2) ? before_the_wrap : 0,
			    .seed = dice_roll(dice)};
	if (s.scaled)
		s.op = RING_SUM;
	const bool parts = kind == RING_KIND_ALL_GATHER || kind == RING_KIND_REDUCE_SCATTER;
	const uint64_t chunk = s.chunk_bytes / element_bytes(&s);
	s.count = dice_below(dice, (parts ? 3 : 3 * size) * chunk * s.channels + 2);
	s.slot_bytes = s.chunk_bytes + 8 * dice_below(dice, 3);
	if (s.slot_bytes < sizeof(struct ring_record))
		s.slot_bytes = sizeof(struct ring_record);
	if ((int)s.depth > s.chunks_per_round)
		s.scratch = dice_below(dice, 2);
	if (kind == RING_KIND_BARRIER)
		s.count = 0;
	shuffle(&s, dice);
	return s;
}

static void all_kinds_of_all_sizes(void **state)
{
	(void)state;
	uint64_t dice = seed;
	for (int i = 0; i < times(6); i++)
		for (int size = 1; size <= RANKS; size++)
			for (int kind = 0; kind <= RING_KIND_REDUCE; kind++) {
				struct setting s = some_setting((enum ring_kind)kind, size, &dice);
				check(&s, 3);
			}
}

static void all_types_and_operations(void **state)
{
	(void)state;
	uint64_t dice = seed + 1;
	for (int type = 0; type < (int)RING_DATATYPES; type++)
		for (int op = 0; op <= RING_AVG && ring_datatype_bytes((enum ring_datatype)type);
		     op++) {
			struct setting s = some_setting(RING_KIND_ALL_REDUCE, 3, &dice);
			s.type = (enum ring_datatype)type;
			s.op = (enum ring_op)op;
			s.scaled = op == RING_SUM && dice_below(&dice, 2);
			s.count = 50 + dice_below(&dice, 100);
			check(&s, 1);
		}
}

/* Messages of one size take the pages of a roomy slot in turn: both ends must agree where. */
static void roomy_slots(void **state)
{
	(void)state;
	uint64_t dice = seed + 2;
	for (int i = 0; i < times(3); i++) {
		struct setting s = some_setting(RING_KIND_ALL_GATHER, 3, &dice);
		s.type = RING_UINT8;
		s.op = RING_SUM;
		s.channels = 1;
		s.depth = RING_DEPTH_MAX;
		s.slot_bytes = 128 << 10;
		s.chunk_bytes = 3000 + dice_below(&dice, 3000);
		s.count = 40 * s.chunk_bytes;
		s.cpu = i % s.size;
		check(&s, 2);
	}
}

/* ---- how waits end --------------------------------------------------------------------------- */

static struct setting plain_setting(enum ring_kind kind)
{
	struct setting s = {.kind = kind,
			    .type = RING_FLOAT32,
			    .op = RING_SUM,
			    .size = 3,
			    .channels = 2,
			    .chunks_per_round = 1,
			    .threads = 2,
			    .depth = 2,
			    .count = 1000,
			    .chunk_bytes = 64,
			    .slot_bytes = 64,
			    .scratch = true,
			    .cpu = -1,
			    .seed = 1};
	for (int rank = 0; rank < s.size; rank++)
		s.order[rank] = rank;
	return s;
}

static struct world *prepare(const struct setting *s, uint64_t timeout_ms)
{
	struct world *world = make_world(s);
	uint64_t dice = s->seed;
	for (int rank = 0; rank < s->size; rank++) {
		make_buffers(&world->ranks[rank], &dice);
		make_call(&world->ranks[rank], 1);
		world->ranks[rank].call.timeout_ns = timeout_ms * 1000000;
	}
	return world;
}

static void finish(struct world *world)
{
	for (int rank = 0; rank < world->setting.size; rank++)
		free_buffers(&world->ranks[rank]);
	free_world(world);
}

/* Rank 1 never launches: rank 2 hears nothing, and rank 0 gets no slot back once both are full. */
static void a_rank_that_does_not_come(void **state)
{
	(void)state;
	struct setting s = plain_setting(RING_KIND_BROADCAST);
	s.size = 2;
	struct world *world = prepare(&s, 100);
	const struct ring_engine_error *errors = world->ranks[0].report.errors;
	run_calls(world, 1 << 1);
	assert_int_not_equal(world->ranks[0].report.stop, 0);
	const struct ring_engine_error *error = errors[0].err ? &errors[0] : &errors[1];
	assert_int_equal(error->err, RING_ETIMEDOUT);
	assert_int_equal(error->sequence, 1);
	assert_int_equal(error->peer, 1);
	assert_int_equal(error->outgoing, 0); /* its signal */
	assert_int_equal(error->step, -1);
	assert_int_equal(error->want, 1);
	assert_int_equal(error->have, 0);
	finish(world);
}

static void a_peer_that_gives_no_slot_back(void **state)
{
	(void)state;
	struct setting s = plain_setting(RING_KIND_BROADCAST);
	s.size = 2;
	s.channels = 1;
	struct world *world = prepare(&s, 100);
	/* Rank 1 has sent its signal, and then no more. */
	struct ring_fifo_end *end = &world->ranks[1].out[0];
	memcpy(ring_fifo_place(end, 0, sizeof(struct ring_record)), &world->ranks[1].call.record,
	       sizeof(struct ring_record));
	ring_fifo_put(end, sizeof(struct ring_record));
	run_calls(world, 1 << 1);
	const struct ring_engine_error *error = &world->ranks[0].report.errors[0];
	assert_int_equal(error->err, RING_ETIMEDOUT);
	assert_int_equal(error->outgoing, 1);
	assert_int_equal(error->peer, 1);
	assert_int_equal(error->step, 0);
	assert_int_equal(error->want, 1);
	assert_int_equal(error->have, 0);
	finish(world);
}

static void a_stop_ends_all_waits(void **state)
{
	(void)state;
	struct setting s = plain_setting(RING_KIND_ALL_REDUCE);
	struct world *world = prepare(&s, 60000);
	for (int rank = 0; rank < s.size; rank++)
		world->ranks[rank].report.stop = 1;
	run_calls(world, 1 << 1);
	for (int c = 0; c < s.channels; c++)
		assert_int_equal(world->ranks[0].report.errors[c].err, 0);
	finish(world);
}

/* The one behind the rank that calls something else sees it; all others wait until they are stopped. */
static void a_call_that_differs(void **state)
{
	(void)state;
	for (int kind = 0; kind <= RING_KIND_REDUCE; kind++) {
		struct setting s = plain_setting((enum ring_kind)kind);
		if (kind == RING_KIND_BARRIER)
			s.count = 0;
		struct world *world = prepare(&s, 300);
		struct ring_record *record = &world->ranks[1].call.record;
		record->type = RING_INT32;
		run_calls(world, 0);
		const struct ring_engine_error *errors = world->ranks[2].report.errors;
		const struct ring_engine_error *error = errors[0].err ? &errors[0] : &errors[1];
		assert_int_equal(error->err, RING_EMISMATCH);
		assert_int_equal(error->peer, 1);
		assert_int_equal(error->step, -1);
		assert_memory_equal(&error->record, record, sizeof(*record));
		finish(world);
	}
}

/* ---- peers that are broken ------------------------------------------------------------------- */

/* Runs rank 0 of two, whose peer has done `what`. Returns the error. */
static int error_beside(void (*what)(struct world *world))
{
	struct setting s = plain_setting(RING_KIND_BROADCAST);
	s.size = 2;
	s.channels = 1;
	struct world *world = prepare(&s, 60000);
	what(world);
	run_calls(world, 1 << 1);
	int err = (int)world->ranks[0].report.errors[0].err;
	finish(world);
	return err;
}

static void write_flag(struct world *world, uint64_t word)
{
	atomic_store(&world->fifos[0][0]->flags[0].word, word);
}

static void says_too_much(struct world *world)
{
	write_flag(world, UINT64_C(1) << 32 | 65);
}

static void says_nothing(struct world *world)
{
	write_flag(world, UINT64_C(1) << 32);
}

static void is_ahead(struct world *world)
{
	write_flag(world, UINT64_C(2) << 32 | 32);
}

static void sends_no_record(struct world *world)
{
	write_flag(world, UINT64_C(1) << 32 | 32);
}

static void sends_half_a_record(struct world *world)
{
	write_flag(world, UINT64_C(1) << 32 | 16);
}

static void agrees_and_sets_head(struct world *world, uint64_t head)
{
	struct ring_fifo_end *end = &world->ranks[1].out[0];
	memcpy(ring_fifo_place(end, 0, sizeof(struct ring_record)), &world->ranks[1].call.record,
	       sizeof(struct ring_record));
	ring_fifo_put(end, sizeof(struct ring_record));
	atomic_store(&world->fifos[1][0]->head, head);
}

static void releases_too_much(struct world *world)
{
	agrees_and_sets_head(world, 3);
}

static void closes(struct world *world)
{
	agrees_and_sets_head(world, RING_FIFO_CLOSED | 1);
}

static void broken_peers(void **state)
{
	(void)state;
	void (*const deeds[])(struct world *
			      world) = {says_too_much,   says_nothing,        is_ahead,
					sends_no_record, sends_half_a_record, releases_too_much,
					closes};
	for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++)
		assert_int_equal(error_beside(deeds[i]), RING_EPEER);
}

int main(void)
{
	const char *text = getenv("RING_TEST_SEED");
	seed = text ? strtoull(text, NULL, 0) : 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds_of_all_sizes),
		cmocka_unit_test(all_types_and_operations),
		cmocka_unit_test(roomy_slots),
		cmocka_unit_test(a_rank_that_does_not_come),
		cmocka_unit_test(a_peer_that_gives_no_slot_back),
		cmocka_unit_test(a_stop_ends_all_waits),
		cmocka_unit_test(a_call_that_differs),
		cmocka_unit_test(broken_peers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
