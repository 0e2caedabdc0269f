/* SPDX-License-Identifier: MIT */
/* The cost model: the work of plans, numbers as text, times, and what is chosen by them. */
#include "choose/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "choose/options.h"
#include "choose/tuning.h"

#define RANKS 9

static const int order[RANKS] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

/* ---- work ---- */

static struct ring_plan_params params_of(int kind, int algorithm, int size, bool boards)
{
	return (struct ring_plan_params){
		.kind = (enum ring_kind)kind,
		.algorithm = (enum ring_algorithm)algorithm,
		.size = size,
		.order = order,
		.count = 1000,
		.element_bytes = 4,
		.chunk_bytes = 256,
		.chunks_per_round = 2,
		.place_bytes = RING_PLACE_BYTES,
		.channels = 1,
		.boards = boards,
	};
}

static bool can(const struct ring_plan_params *params)
{
	return ring_algorithm_can(params->algorithm, params->kind, params->size,
				  params->count * params->element_bytes, false);
}

/* Messages of the plan as it is, cut into chunks. */
static uint64_t real_messages(const struct ring_plan *plan)
{
	int self = ring_plan_self(plan);
	uint64_t messages = 0;
	for (uint64_t i = 0; i < plan->outgoing; i++) {
		struct ring_transfer out = ring_plan_outgoing(plan, i);
		messages += ring_transfer_is_message(&out, self);
	}
	for (uint64_t j = 0; j < plan->incoming; j++) {
		struct ring_transfer in = ring_plan_incoming(plan, j);
		messages += ring_transfer_is_message(&in, self);
	}
	return messages;
}

/* A plan in one piece has the messages and bytes of the one that is cut into chunks. */
static void check_work(const struct ring_plan_params *params)
{
	struct ring_plan plan = ring_plan_make(params);
	struct ring_work work = ring_work_of(params, RING_MEMORY_SHARED);
	uint64_t sent = ring_plan_cost(&plan).sent_bytes;
	if (params->algorithm == RING_ALGORITHM_STRIDE) /* several blocks together, each cut alone */
		assert_true(work.messages <= real_messages(&plan));
	else
		assert_int_equal(work.messages, real_messages(&plan));
	if (!ring_plan_reaches(&plan))
		assert_true(work.wire >= sent && work.moved >= sent);
	assert_true(work.hops >= ring_plan_cost(&plan).steps);
}

static void work_is_the_plans(void **state)
{
	(void)state;
	for (int kind = 0; kind <= RING_KIND_ALL_TO_ALL; kind++)
		for (int algorithm = 0; algorithm < RING_ALGORITHM_PAIR; algorithm++)
			for (int size = 2; size <= RANKS; size++) {
				struct ring_plan_params params = params_of(kind, algorithm, size,
									   false);
				if (!can(&params) || algorithm == RING_ALGORITHM_STAGED ||
				    algorithm == RING_ALGORITHM_DIRECT)
					continue;
				for (; params.position < size; params.position++)
					check_work(&params);
			}
}

/* By hand: a ring of four, 1000 floats, so three blocks of 250 are sent and added, and three go on. */
static void work_of_a_ring(void **state)
{
	(void)state;
	struct ring_plan_params params = params_of(RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING, 4,
						   false);
	struct ring_work work = ring_work_of(&params, RING_MEMORY_PRIVATE);
	assert_int_equal(work.hops, 6);
	assert_int_equal(work.wire, 6 * 1000);
	assert_int_equal(work.moved, 12 * 1000);
	assert_int_equal(work.touched, 3 * 3 * 1000); /* a sum reads two and writes one */
	assert_int_equal(work.messages, 2 * 6 * 4 + 2);
	params.boards = true; /* sent by way of slots, and copied out of them */
	work = ring_work_of(&params, RING_MEMORY_PRIVATE);
	assert_int_equal(work.moved, 0);
	assert_int_equal(work.touched, (3 * 3 + 3 * 2 + 6 * 2) * 1000);
}

/* Four blocks of 3 chunks go around in a round of 2 and one of the rest. */
static void work_in_rounds(void **state)
{
	(void)state;
	struct ring_plan_params params = params_of(RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING, 4,
						   false);
	params.count = 4 * 3 * 64;
	struct ring_work work = ring_work_of(&params, RING_MEMORY_PRIVATE);
	assert_int_equal(work.steps, 6);
	assert_int_equal(work.rounds, 1);
	assert_int_equal(work.round, 2 * 256);
	assert_int_equal(work.rest, 256);
	assert_int_equal(work.piece, 256);
	params.count = 4 * 64; /* blocks of a chunk */
	work = ring_work_of(&params, RING_MEMORY_PRIVATE);
	assert_int_equal(work.rounds + work.rest, 0);
	assert_int_equal(work.lead, work.wire); /* each step waits for all of the last */
	params.algorithm = RING_ALGORITHM_TWO_SHOT;
	work = ring_work_of(&params, RING_MEMORY_PRIVATE);
	assert_int_equal(work.lead, 2 * 256); /* of three messages in each step */
	assert_int_equal(work.wire, 6 * 256);
}

/* Microseconds of that ring, in rounds of 2 chunks of 1 us, where a hop takes so long. */
static uint64_t rounds_with(uint64_t hop_us, uint64_t touch)
{
	struct ring_model model = {.hop = hop_us * 1000000, .wire = 4000000, .touch = touch};
	struct ring_plan_params params = params_of(RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING, 4,
						   false);
	params.count = 4 * 8 * 64; /* 4 rounds of 6 steps */
	struct ring_factors factors = ring_model_factors(&model, &params, RING_MEMORY_PRIVATE, 0);
	return ring_model_time(&model, &factors) / 1000000;
}

/* A hop shows where it is longer than the second chunk; work, where it is longer than the wire. */
static void chunks_hide_hops_and_work(void **state)
{
	(void)state;
	assert_int_equal(rounds_with(0, 0), 24 * 2);
	assert_int_equal(rounds_with(1, 0), 24 * 2 + 1);
	assert_int_equal(rounds_with(5, 0), 24 * (5 + 1) + 1);
	uint64_t all_us = 3 * 3 * 2 * 4; /* a sum touches three times what it sends: 12 of 24 steps */
	assert_in_range(rounds_with(0, 4000000 / 4), 24 * 2, 24 * 2 + 1);
	assert_in_range(rounds_with(0, 4000000 * 4), 4 * all_us, 4 * all_us + 2);
}

/* Each adds a quarter, of three others' memory, and writes it to theirs. */
static void work_in_others_memory(void **state)
{
	(void)state;
	struct ring_plan_params params = params_of(RING_KIND_ALL_REDUCE, RING_ALGORITHM_DIRECT, 4,
						   true);
	params.chunk_bytes = 500;
	struct ring_work work = ring_work_of(&params, RING_MEMORY_SHARED);
	assert_int_equal(work.messages, 0);
	assert_int_equal(work.exchanges, 2);
	assert_int_equal(work.touched, (4 + 4) * 1000);
	assert_int_equal(work.reaches, 0);
	work = ring_work_of(&params, RING_MEMORY_REACHABLE);
	assert_int_equal(work.reaches, (3 + 3) * 2);
	assert_int_equal(work.fetched, (3 + 3) * 1000);
	assert_int_equal(work.touched, (4 + 1) * 1000);
}

/* Of 4 ranks on 2 CPUs two hand a broadcast out: root copies to 3, the other from root and to 2. */
static void few_hand_out_a_broadcast(void **state)
{
	(void)state;
	struct ring_model model = {.reach = 1};
	struct ring_plan_params params = params_of(RING_KIND_BROADCAST, RING_ALGORITHM_DIRECT, 4,
						   true);
	params.chunk_bytes = 4000;
	struct ring_factors factors = ring_model_factors(&model, &params, RING_MEMORY_REACHABLE,
							 2 * RING_TURNS_NONE);
	assert_int_equal(ring_model_time(&model, &factors), (3 + 3) / 2);
	params.kind = RING_KIND_ALL_GATHER;
	factors = ring_model_factors(&model, &params, RING_MEMORY_REACHABLE, 2 * RING_TURNS_NONE);
	assert_int_equal(ring_model_time(&model, &factors), 4 * 3 / 2);
}

/* ---- numbers ---- */

static void numbers_are_read_as_they_are_written(void **state)
{
	(void)state;
	static const uint64_t values[] = {0, 1, 999, 30200, 286000, 653000, 123456789, 999999999};
	for (int number = 0; number < RING_MODEL_COUNT; number++)
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			char text[RING_MODEL_TEXT];
			uint64_t value, most = values[i] / 500 + 1; /* six decimals of GB/s */
			ring_model_write(number, values[i], text);
			assert_true(ring_model_read(number, text, &value));
			assert_in_range(value, values[i] - (values[i] < most ? values[i] : most),
					values[i] + most);
		}
}

/* Whatever is accepted is accepted again as it is written. */
static void extreme_numbers_are_read_again(void **state)
{
	(void)state;
	static const char *const texts[][2] = {
		[RING_EACH] = {"0.000001us", "999999.999998us"},
		[RING_BYTES] = {"1024000GB/s", "0.00000095GB/s"},
	};
	for (int number = 0; number < RING_MODEL_COUNT; number++)
		for (int i = 0; i < 2; i++) {
			char text[RING_MODEL_TEXT];
			uint64_t value, again;
			assert_true(ring_model_read(
				number, texts[ring_model_numbers[number].unit][i], &value));
			assert_true(value > 0);
			ring_model_write(number, value, text);
			assert_true(ring_model_read(number, text, &again));
		}
}

static void assert_never_falls(const struct ring_model *model, struct ring_plan_params params,
			       int turns)
{
	uint64_t before = 0;
	for (int bits = 0; bits < 36; bits++) {
		params.count = (uint64_t)1 << bits;
		struct ring_factors factors = ring_model_factors(model, &params,
								 RING_MEMORY_PRIVATE, turns);
		uint64_t time = ring_model_time(model, &factors);
		assert_true(time >= before);
		before = time;
	}
}

/* Very long vectors take longer than long ones. */
static void time_does_not_wrap(void **state)
{
	(void)state;
	assert_never_falls(&ring_model_built_in[RING_PATH_NETWORK],
			   params_of(RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING, RANKS, false), 0);
}

/* Nor if each number is the largest that a file may have. */
static void time_has_an_end(void **state)
{
	(void)state;
	struct ring_model model;
	for (int number = 0; number < RING_MODEL_COUNT; number++)
		ring_model_set(&model, number, UINT64_C(999999999999));
	assert_never_falls(&model,
			   params_of(RING_KIND_ALL_TO_ALL, RING_ALGORITHM_ONE_SHOT, RANKS, false),
			   4096);
}

/* ---- what is chosen ---- */

static struct ring_tuning tuning_of(enum ring_path path, int turns)
{
	struct ring_config config = {0};
	bool memory = path == RING_PATH_MEMORY;
	struct ring_tuning tuning = ring_tuning_make(&config, memory, 4);
	tuning.turns = turns;
	ring_tuning_load(&tuning, NULL, path, NULL);
	return tuning;
}

static struct ring_question question_of(int kind, enum ring_path path, int ranks, uint64_t bytes)
{
	return (struct ring_question){.kind = (enum ring_kind)kind,
				      .path = path,
				      .ranks = ranks,
				      .order = order,
				      .bytes = bytes,
				      .memory = RING_MEMORY_PRIVATE};
}

static void the_least_time_is_chosen(void **state)
{
	(void)state;
	for (int kind = 0; kind <= RING_KIND_ALL_TO_ALL; kind++)
		for (int path = 0; path < RING_PATHS; path++)
			for (uint64_t bytes = 4; bytes < 64 << 20; bytes *= 16) {
				struct ring_tuning tuning = tuning_of((enum ring_path)path, 2048);
				struct ring_question question =
					question_of(kind, (enum ring_path)path, 4, bytes);
				struct ring_choice choice = ring_tuning_choose(&tuning, &question);
				uint64_t chosen = choice.predicted_ps[choice.algorithm];
				assert_true(chosen > 0);
				for (int a = 0; a < RING_ALGORITHMS; a++)
					assert_true(choice.predicted_ps[a] == 0 ||
						    choice.predicted_ps[a] >= chosen);
			}
}

static enum ring_algorithm chosen(struct ring_tuning tuning, struct ring_question question)
{
	return ring_tuning_choose(&tuning, &question).algorithm;
}

/* Where nobody would doubt what is fastest. */
static void choices_make_sense(void **state)
{
	(void)state;
	struct ring_tuning memory = tuning_of(RING_PATH_MEMORY, RING_TURNS_NONE);
	struct ring_tuning network = tuning_of(RING_PATH_NETWORK, RING_TURNS_NONE);
	struct ring_question small = question_of(RING_KIND_ALL_REDUCE, RING_PATH_MEMORY, 4, 8);
	struct ring_question large = question_of(RING_KIND_ALL_REDUCE, RING_PATH_MEMORY, 4,
						 64 << 20);
	assert_int_equal(chosen(memory, small), RING_ALGORITHM_ONE_SHOT);
	assert_int_not_equal(chosen(memory, large), RING_ALGORITHM_ONE_SHOT);
	large.memory = RING_MEMORY_SHARED;
	assert_int_equal(chosen(memory, large), RING_ALGORITHM_DIRECT);
	large.path = small.path = RING_PATH_NETWORK;
	assert_int_not_equal(chosen(network, large), RING_ALGORITHM_ONE_SHOT);
	assert_int_not_equal(chosen(network, small), RING_ALGORITHM_RING);
}

/*
 * A first message that needs nothing goes out beside the boards: 512 B in memory that all map go in
 * one shot, on CPUs of their own and in turns. (Counted behind them, directly: 2 ranks 0.14 -> 0.26
 * us, 4 ranks on 2 CPUs 2.6 -> 4.2 us.)
 */
static void early_messages_do_not_wait_for_boards(void **state)
{
	(void)state;
	struct ring_tuning alone = tuning_of(RING_PATH_MEMORY, RING_TURNS_NONE);
	struct ring_tuning shared = tuning_of(RING_PATH_MEMORY, 2 * RING_TURNS_NONE);
	struct ring_question two = question_of(RING_KIND_ALL_REDUCE, RING_PATH_MEMORY, 2, 512);
	struct ring_question four = question_of(RING_KIND_ALL_REDUCE, RING_PATH_MEMORY, 4, 512);
	two.memory = four.memory = RING_MEMORY_SHARED;
	assert_int_equal(chosen(alone, two), RING_ALGORITHM_ONE_SHOT);
	assert_int_equal(chosen(shared, four), RING_ALGORITHM_ONE_SHOT);
}

/* The numbers decide: a system that hardly lets ranks reach into memory is not asked to. */
static void numbers_change_the_choice(void **state)
{
	(void)state;
	struct ring_tuning tuning = tuning_of(RING_PATH_MEMORY, RING_TURNS_NONE);
	struct ring_question question = question_of(RING_KIND_ALL_REDUCE, RING_PATH_MEMORY, 2,
						    1 << 20);
	question.memory = RING_MEMORY_REACHABLE;
	tuning.model.fetch = tuning.model.touch;
	assert_int_equal(chosen(tuning, question), RING_ALGORITHM_DIRECT);
	assert_true(ring_tuning_reaches(&tuning, &question));
	tuning.model.reach *= 1000;
	assert_int_not_equal(chosen(tuning, question), RING_ALGORITHM_DIRECT);
}

static void reasons_list_all_that_could(void **state)
{
	(void)state;
	struct ring_tuning tuning = tuning_of(RING_PATH_SOCKET, 2048);
	struct ring_question question = question_of(RING_KIND_ALL_GATHER, RING_PATH_SOCKET, 4,
						    64 << 10);
	struct ring_choice choice = ring_tuning_choose(&tuning, &question);
	char reason[RING_REASON_TEXT];
	ring_choice_reason(&choice, reason);
	assert_memory_equal(reason, "predicted: ", 11);
	assert_non_null(strstr(reason, "ring "));
	assert_non_null(strstr(reason, "oneshot "));
	assert_null(strstr(reason, "twoshot "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_is_the_plans),
		cmocka_unit_test(work_of_a_ring),
		cmocka_unit_test(work_in_rounds),
		cmocka_unit_test(chunks_hide_hops_and_work),
		cmocka_unit_test(work_in_others_memory),
		cmocka_unit_test(few_hand_out_a_broadcast),
		cmocka_unit_test(numbers_are_read_as_they_are_written),
		cmocka_unit_test(extreme_numbers_are_read_again),
		cmocka_unit_test(time_does_not_wrap),
		cmocka_unit_test(time_has_an_end),
		cmocka_unit_test(the_least_time_is_chosen),
		cmocka_unit_test(choices_make_sense),
		cmocka_unit_test(early_messages_do_not_wait_for_boards),
		cmocka_unit_test(numbers_change_the_choice),
		cmocka_unit_test(reasons_list_all_that_could),
	};
	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
