/* SPDX-License-Identifier: MIT */
/*
 * Brief calls of ranks that share two CPUs, all in one thread: giving a CPU away is to make the call of the next rank
 * there that has not begun it.
 */
#include "engine/brief.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/lazy.h"

#define RANKS 4
#define YIELDS 3

struct member {
	struct ring_channel channel;
	struct ring_doorbell_page page;
	struct ring_brief brief;
	struct ring_operands operands;
	float input[2], output[2];
	int cpu;
	bool begun; /* the current call */
	int done;   /* ... what ring_brief_run() said */
};

static struct member members[RANKS];
static const int order[RANKS] = {0, 1, 2, 3};
static int running, yields;
static bool others_run; /* ... once somebody yields */
static uint64_t sequence;

/* ---- ranks and their CPUs ----------------------------------------------------------------- */

static void begin(int rank)
{
	struct member *member = &members[rank];
	int before = running;
	running = rank;
	member->begun = true;
	member->done = ring_brief_run(&member->brief, &member->channel, &member->operands, sequence);
	running = before;
}

int sched_getcpu(void)
{
	return members[running].cpu;
}

int sched_yield(void)
{
	int rank = 0;
	yields++;
	while (rank < RANKS && (members[rank].begun || members[rank].cpu != members[running].cpu))
		rank++;
	if (others_run && rank < RANKS)
		begin(rank);
	return 0;
}

/* ---- calls -------------------------------------------------------------------------------- */

static void link_all(void)
{
	for (int from = 0; from < RANKS; from++)
		for (int to = 0; to < RANKS; to++)
			if (from != to) {
				struct lazy_wire *wire = lazy_wire_make(from, to, 1,
									sizeof(struct ring_opening));
				wire->bell.page = &members[from].page;
				ring_channel_add_link(&members[from].channel, &wire->sender.base);
				ring_channel_add_link(&members[to].channel, &wire->receiver.base);
			}
}

static void new_call(void)
{
	sequence++;
	yields = 0;
	for (int rank = 0; rank < RANKS; rank++) {
		struct member *member = &members[rank];
		member->begun = false;
		for (int i = 0; i < 2; i++)
			member->input[i] = (float)(sequence << rank);
		member->operands = (struct ring_operands){.input = (char *)member->input,
							  .output = (char *)member->output,
							  .type = RING_FLOAT32,
							  .op = RING_SUM,
							  .divisor = 1};
	}
}

static void check_sums(void)
{
	for (int rank = 0; rank < RANKS; rank++)
		for (int i = 0; i < 2; i++)
			assert_true(members[rank].output[i] == (float)(sequence * 15));
}

static void advance(void)
{
	int left = 1;
	for (int round = 0; left > 0; round++) {
		assert_true(round < 1000);
		left = 0;
		for (int rank = 0; rank < RANKS; rank++) {
			assert_true(ring_channel_advance(&members[rank].channel) >= 0);
			left += !ring_channel_is_done(&members[rank].channel);
		}
	}
}

/* For a rank that did not come to the end by itself: the engine. */
static void resume(int rank)
{
	struct member *member = &members[rank];
	assert_true(member->begun && member->done == 0);
	ring_brief_resume(&member->brief, &member->channel, &member->operands);
	assert_true(ring_channel_advance(&member->channel) >= 0);
	member->done = 1;
}

static void finish(void)
{
	for (int rank = 0; rank < RANKS; rank++)
		if (members[rank].done == 0)
			resume(rank);
	advance();
	check_sums();
}

/* The call that brief ones repeat. */
static void start(int rank)
{
	struct ring_channel *channel = &members[rank].channel;
	const struct ring_plan_params params = {.kind = RING_KIND_ALL_REDUCE,
						.algorithm = RING_ALGORITHM_ONE_SHOT,
						.size = RANKS,
						.position = rank,
						.order = order,
						.count = 2,
						.element_bytes = sizeof(float),
						.chunk_bytes = 64,
						.place_bytes = 64,
						.chunks_per_round = 1,
						.channels = 1,
						.boards = true};
	const struct ring_plan plan = ring_plan_make(&params);
	const struct ring_record record = ring_record_make(RING_KIND_ALL_REDUCE, sequence, 2,
							   RING_FLOAT32, RING_SUM, -1);
	ring_channel_start(channel, &plan, &members[rank].operands, &record);
}

/* A first call by the engine, and a second one in which all say where they are. */
static int set_up(void **state)
{
	(void)state;
	sequence = 0;
	others_run = false;
	new_call();
	for (int rank = 0; rank < RANKS; rank++)
		assert_int_equal(ring_channel_open(&members[rank].channel, rank, &lazy_device, 0, 0),
				 0);
	for (int rank = 0; rank < RANKS; rank++) {
		members[rank].page = (struct ring_doorbell_page){0};
		members[rank].brief = (struct ring_brief){0};
		assert_int_equal(ring_channel_reserve(&members[rank].channel, RANKS), 0);
		ring_channel_use_board(&members[rank].channel, &members[rank].page);
		members[rank].channel.yields = YIELDS;
	}
	link_all();
	for (int rank = 0; rank < RANKS; rank++)
		start(rank);
	advance();
	check_sums();
	for (int rank = 0; rank < RANKS; rank++) {
		ring_brief_prepare(&members[rank].brief, &members[rank].channel);
		assert_true(members[rank].brief.ready);
	}
	new_call();
	for (int rank = 0; rank < RANKS; rank++)
		begin(rank);
	finish();
	others_run = true;
	new_call();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int rank = 0; rank < RANKS; rank++)
		ring_channel_close(&members[rank].channel);
	return 0;
}

static void place(int first, int second, int third, int fourth)
{
	const int cpus[RANKS] = {first, second, third, fourth};
	for (int rank = 0; rank < RANKS; rank++)
		members[rank].cpu = cpus[rank];
}

static int set_up_two_cpus(void **state)
{
	place(1, 2, 1, 2);
	return set_up(state);
}

static int set_up_one_cpu(void **state)
{
	place(7, 7, 7, 7);
	return set_up(state);
}

/* ---- tests -------------------------------------------------------------------------------- */

static void n_ranks_of_a_cpu_take_one_turn_less(void **state)
{
	(void)state;
	begin(2);
	assert_int_equal(yields, RANKS - 1);
	for (int rank = 0; rank < RANKS; rank++)
		assert_int_equal(members[rank].done, 1);
	check_sums();
}

static void nobody_gives_a_cpu_to_who_waits_for_the_same(void **state)
{
	(void)state;
	begin(0);
	assert_int_equal(yields, 1); /* to rank 2; both wait for 1 and 3 */
	assert_true(members[2].begun && members[0].done == 0 && members[2].done == 0);
	resume(0);
	assert_true(ring_channel_waits_elsewhere(&members[0].channel));
	begin(3);
	assert_int_equal(yields, 2);
	assert_true(members[1].done == 1 && members[3].done == 1);
	finish();
}

static void a_rank_of_this_cpu_is_waited_for_so_often(void **state)
{
	(void)state;
	others_run = false;
	for (int rank = 0; rank + 1 < RANKS; rank++) {
		begin(rank);
		assert_int_equal(yields, (rank + 1) * YIELDS);
		resume(rank);
		assert_false(ring_channel_waits_elsewhere(&members[rank].channel));
	}
	begin(RANKS - 1);
	assert_int_equal(members[RANKS - 1].done, 1);
	finish();
}

static void who_moved_is_waited_for_where_it_is(void **state)
{
	(void)state;
	others_run = false;
	begin(3);
	members[2].cpu = 2;
	begin(2); /* says so, and that 1 is not there */
	members[1].cpu = 1;
	begin(1);
	begin(0);
	finish();
	others_run = true;
	new_call();
	begin(0);
	assert_true(members[1].begun && !members[2].begun && yields == 1);
	begin(2);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(n_ranks_of_a_cpu_take_one_turn_less, set_up_one_cpu,
						tear_down),
		cmocka_unit_test_setup_teardown(nobody_gives_a_cpu_to_who_waits_for_the_same,
						set_up_two_cpus, tear_down),
		cmocka_unit_test_setup_teardown(a_rank_of_this_cpu_is_waited_for_so_often,
						set_up_one_cpu, tear_down),
		cmocka_unit_test_setup_teardown(who_moved_is_waited_for_where_it_is,
						set_up_two_cpus, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
