/* SPDX-License-Identifier: MIT */
/*
 * Small calls in one shot, by the kernel engine as threads of the host: the kinds in which all send to
 * all, every type and operation, 2 to 8 ranks, past the end of the flags: the reference's bits, and
 * nothing beside. And how they end that cannot go on. RING_TEST_SEED repeats a failure;
 * RING_TEST_LONG takes more cases.
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

/* ---- what must come of a call ---------------------------------------------------------------- */

/* Element i of the inputs, from the rank behind the owner around the ring to it, or in order. */
static uint64_t sum_for(const struct world *world, int owner, uint64_t i)
{
	const struct setting *s = &world->setting;
	uint64_t sources[RANKS];
	for (int k = 1; k <= s->size; k++) {
		int last = s->in_order ? s->size - 1 : world->ranks[owner].position;
		int position = (last + k) % s->size;
		sources[k - 1] = get(world->ranks[s->order[position]].kept, i, element_bytes(s));
	}
	return reference_reduced(s->type, s->op, sources, s->size, NULL, 0,
				 s->op == RING_AVG ? s->size : 1);
}

static uint64_t wanted(const struct world *world, const struct rank *rank, uint64_t i)
{
	const struct setting *s = &world->setting;
	int owner = 0;
	if (s->kind == RING_KIND_ALL_GATHER)
		return get(world->ranks[i / s->count].kept, i % s->count, element_bytes(s));
	if (s->kind == RING_KIND_REDUCE_SCATTER)
		return sum_for(world, rank->number, s->count * rank->number + i);
	while (owner + 1 < s->size && ring_share_begin(s->count, s->size, owner + 1) <= i)
		owner++;
	return sum_for(world, owner, i);
}

static void check_rank(const struct rank *rank)
{
	const struct setting *s = &rank->world->setting;
	char text[256];
	snprintf(text, sizeof(text),
		 "kind %d of %" PRIu64 " %s, %s, %d ranks, %d channels of %d threads%s, place %zu, "
		 "before %" PRIu64 ", seed %" PRIu64,
		 (int)s->kind, s->count, ring_datatype_name(s->type), ring_op_name(s->op), s->size,
		 s->channels, s->threads, s->in_place ? ", in place" : "", s->place, s->before,
		 s->seed);
	for (int c = 0; c < s->channels; c++)
		if (rank->report.errors[c].err || rank->report.numbers[c] != rank->call.number)
			fail_msg("rank %d, channel %d: error %d (%s)", rank->number, c,
				 (int)rank->report.errors[c].err, text);
	check_buffers(rank, true, wanted, text);
}

static void check(const struct setting *s, int calls)
{
	check_calls(s, calls, check_rank);
}

/* ---- settings -------------------------------------------------------------------------------- */

static struct setting some_setting(enum ring_kind kind, int size, uint64_t *dice)
{
	static const int types[] = {RING_FLOAT32, RING_BFLOAT16, RING_INT8, RING_FLOAT64};
	static const uint64_t befores[] = {1, UINT32_MAX - 2, RING_SHOT_REFRESH - 2};
	struct setting s = {.kind = kind,
			    .type = (enum ring_datatype)types[dice_below(dice, 4)],
			    .op = (enum ring_op)dice_below(dice, RING_AVG + 1),
			    .size = size,
			    .channels = 1 + (int)dice_below(dice, size > 4 ? 2 : CHANNELS),
			    .chunks_per_round = 1,
			    .threads = 1 + (int)dice_below(dice, size > 4 ? 2 : THREADS),
			    .depth = 1,
			    .count = dice_below(dice, 200),
			    .chunk_bytes = 64,
			    .slot_bytes = 64,
			    .in_order = dice_below(dice, 2),
			    .in_place = dice_below(dice, 2),
			    .in_one_shot = true,
			    .cpu = -1,
			    .place = dice_below(dice, 3) ? 0 : 8 * dice_below(dice, 2),
			    .before = befores[dice_below(dice, 3)],
			    .seed = dice_roll(dice)};
	for (int i = 0; i < size; i++) {
		int j = (int)dice_below(dice, i + 1);
		s.order[i] = s.order[j];
		s.order[j] = i;
	}
	return s;
}

static const enum ring_kind kinds[] = {RING_KIND_ALL_REDUCE, RING_KIND_REDUCE_SCATTER,
				       RING_KIND_ALL_GATHER};

static void all_kinds_of_all_sizes(void **state)
{
	(void)state;
	uint64_t dice = seed;
	for (int i = 0; i < times(4); i++)
		for (int size = 2; size <= RANKS; size++)
			for (int kind = 0; kind < 3; kind++) {
				struct setting s = some_setting(kinds[kind], size, &dice);
				check(&s, 5);
			}
}

static void all_types_and_operations(void **state)
{
	(void)state;
	uint64_t dice = seed + 1;
	for (int type = 0; type < (int)RING_DATATYPES; type++)
		for (int op = 0; op <= RING_AVG; op++) {
			struct setting s = some_setting(RING_KIND_ALL_REDUCE, 3, &dice);
			s.type = (enum ring_datatype)type;
			s.op = (enum ring_op)op;
			s.count = 50 + dice_below(&dice, 100);
			s.before = 1;
			check(&s, 1);
		}
}

static void the_largest(void **state)
{
	(void)state;
	uint64_t dice = seed + 2;
	for (int kind = 0; kind < 3; kind++) {
		struct setting s = some_setting(kinds[kind], 2, &dice);
		s.type = RING_INT64;
		s.op = RING_SUM;
		s.count = RING_SHOT_BYTES / sizeof(int64_t);
		s.before = 1;
		check(&s, 2);
	}
}

/* Flags wrap, so lines that are hardly ever used are written now and then. */
static void some_calls_write_all_lines(void **state)
{
	(void)state;
	uint64_t dice = seed + 3;
	struct setting s = some_setting(RING_KIND_ALL_REDUCE, 2, &dice);
	s.count = 1;
	s.before = RING_SHOT_REFRESH - 1;
	struct world *world = make_world(&s);
	for (int rank = 0; rank < s.size; rank++) {
		make_buffers(&world->ranks[rank], &dice);
		make_call(&world->ranks[rank], 1);
	}
	run_calls(world, 0);
	const uint64_t *last = (const uint64_t *)(world->inboxes[0][1] + RING_SHOT_BUFFER) - 1;
	assert_int_equal(*last >> 32, RING_SHOT_REFRESH);
	for (int rank = 0; rank < s.size; rank++)
		free_buffers(&world->ranks[rank]);
	free_world(world);
}

/* ---- calls that follow one another at once --------------------------------------------------- */

#define ROW 300
#define ROW_COUNT 20

struct row {
	struct world *world;
	struct ring_engine_call calls[RANKS][ROW];
	int32_t inputs[RANKS][ROW][ROW_COUNT], outputs[RANKS][ROW][ROW_COUNT];
};

static struct row row;

/* As kernels on a stream, which begin when all threads of the one before have ended. */
static void *run_row(void *argument)
{
	const struct thread *thread = argument;
	this_block = thread->block;
	this_thread = thread->number;
	this_many = thread->many;
	for (int k = 0; k < ROW; k++) {
		ring_shot_run(&row.calls[thread->rank->number][k], this_block->shared, 0,
			      kernels[RING_INT32][RING_SUM]);
		RING_BLOCK_MEET();
	}
	return NULL;
}

static void prepare_row(struct rank *rank, uint64_t *dice)
{
	make_call(rank, 1);
	for (int k = 0; k < ROW; k++) {
		struct ring_engine_call *call = &row.calls[rank->number][k];
		*call = rank->call;
		call->number = (uint64_t)k + 1;
		call->input = (const unsigned char *)row.inputs[rank->number][k];
		call->output = (unsigned char *)row.outputs[rank->number][k];
		for (int i = 0; i < ROW_COUNT; i++)
			row.inputs[rank->number][k][i] = (int32_t)dice_below(dice, 1000000);
	}
}

static void run_rows(struct world *world)
{
	static struct thread threads[RANKS * 2];
	static struct ring_shot_block shared[RANKS];
	static struct block_of_threads blocks[RANKS];
	const int size = world->setting.size;
	for (int i = 0; i < 2 * size; i++) {
		struct block_of_threads *block = &blocks[i / 2];
		if (i % 2 == 0) {
			block->shared = &shared[i / 2];
			pthread_barrier_init(&block->barrier, NULL, 2);
		}
		threads[i] = (struct thread){.rank = &world->ranks[i / 2],
					     .number = (unsigned)i % 2,
					     .many = 2,
					     .block = block};
		assert_int_equal(pthread_create(&threads[i].id, NULL, run_row, &threads[i]), 0);
	}
	for (int i = 0; i < 2 * size; i++)
		pthread_join(threads[i].id, NULL);
	for (int r = 0; r < size; r++)
		pthread_barrier_destroy(&blocks[r].barrier);
}

/* A rank that is ahead writes to those that are behind. */
static void a_row_of_calls(void **state)
{
	(void)state;
	uint64_t dice = seed + 4;
	struct setting s = some_setting(RING_KIND_ALL_REDUCE, 3, &dice);
	s.type = RING_INT32;
	s.op = RING_SUM;
	s.channels = 1;
	s.count = ROW_COUNT;
	s.before = 1;
	struct world *world = make_world(&s);
	for (int r = 0; r < s.size; r++)
		prepare_row(&world->ranks[r], &dice);
	run_rows(world);
	for (int r = 0; r < s.size; r++) {
		assert_int_equal(world->ranks[r].report.numbers[0], ROW);
		for (int k = 0; k < ROW; k++)
			for (int i = 0; i < ROW_COUNT; i++)
				assert_int_equal(row.outputs[r][k][i], row.inputs[0][k][i] +
									       row.inputs[1][k][i] +
									       row.inputs[2][k][i]);
	}
	free_world(world);
}

/* ---- how they end ---------------------------------------------------------------------------- */

static struct world *prepare(uint64_t timeout_ms)
{
	uint64_t dice = 1;
	struct setting s = some_setting(RING_KIND_ALL_REDUCE, 3, &dice);
	s.type = RING_FLOAT32;
	s.op = RING_SUM;
	s.channels = 2;
	s.count = 1000;
	s.before = 1;
	struct world *world = make_world(&s);
	for (int rank = 0; rank < s.size; rank++) {
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

/* Of the channel that was first to say so. */
static const struct ring_engine_error *error_of(const struct rank *rank)
{
	const struct ring_engine_error *errors = rank->report.errors;
	return errors[0].err ? &errors[0] : &errors[1];
}

static void assert_untouched(const struct rank *rank)
{
	const uint64_t bytes = rank->world->setting.count * sizeof(float);
	if (rank->world->setting.in_place)
		assert_memory_equal(rank->output, rank->kept, bytes);
	for (uint64_t i = 0; !rank->world->setting.in_place && i < bytes; i++)
		assert_int_equal(rank->output[i], GUARD_BYTE);
	assert_int_equal(rank->report.numbers[0], 0);
}

static void a_rank_that_does_not_come(void **state)
{
	(void)state;
	struct world *world = prepare(100);
	run_calls(world, 1 << 1);
	for (int rank = 0; rank < 3; rank += 2) {
		const struct ring_engine_error *error = error_of(&world->ranks[rank]);
		assert_int_equal(error->err, RING_ETIMEDOUT);
		assert_int_equal(error->peer, 1);
		assert_int_equal(error->step, -1);
		assert_int_equal(error->sequence, 2);
		assert_int_equal(error->want, 2);
		assert_int_equal(error->have, 1);
		assert_untouched(&world->ranks[rank]);
	}
	finish(world);
}

static void a_call_that_differs(void **state)
{
	(void)state;
	struct world *world = prepare(60000);
	world->ranks[1].call.record.op = RING_MAX;
	run_calls(world, 0);
	for (int rank = 0; rank < 3; rank += 2) {
		const struct ring_engine_error *error = error_of(&world->ranks[rank]);
		assert_int_equal(error->err, RING_EMISMATCH);
		assert_int_equal(error->peer, 1);
		assert_int_equal(error->record.op, RING_MAX);
		assert_int_equal(error->record.sequence, 2);
		assert_untouched(&world->ranks[rank]);
	}
	assert_int_equal(error_of(&world->ranks[1])->err, RING_EMISMATCH);
	finish(world);
}

/* One of the two looks at the late rank first, but that rank 1 differs is certain. */
static void a_call_that_differs_before_one_that_is_late(void **state)
{
	(void)state;
	for (int late = 0; late < 3; late += 2) {
		struct world *world = prepare(100);
		const struct rank *rank = &world->ranks[2 - late];
		world->ranks[1].call.record.op = RING_MAX;
		run_calls(world, 1 << late);
		assert_int_equal(error_of(rank)->err, RING_EMISMATCH);
		assert_int_equal(error_of(rank)->peer, 1);
		assert_untouched(rank);
		finish(world);
	}
}

static void a_stop_ends_all_waits(void **state)
{
	(void)state;
	struct world *world = prepare(60000);
	for (int rank = 0; rank < 3; rank++)
		world->ranks[rank].report.stop = 1;
	run_calls(world, 1 << 1);
	assert_int_equal(error_of(&world->ranks[0])->err, 0);
	assert_untouched(&world->ranks[0]);
	finish(world);
}

int main(void)
{
	const char *text = getenv("RING_TEST_SEED");
	seed = text ? strtoull(text, NULL, 0) : 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds_of_all_sizes),
		cmocka_unit_test(all_types_and_operations),
		cmocka_unit_test(the_largest),
		cmocka_unit_test(some_calls_write_all_lines),
		cmocka_unit_test(a_row_of_calls),
		cmocka_unit_test(a_rank_that_does_not_come),
		cmocka_unit_test(a_call_that_differs),
		cmocka_unit_test(a_call_that_differs_before_one_that_is_late),
		cmocka_unit_test(a_stop_ends_all_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
