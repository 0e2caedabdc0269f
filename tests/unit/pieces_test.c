/* SPDX-License-Identifier: MIT */
/* In which pieces a call's bytes go, and which way: as large as what, past the caches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "choose/options.h"
#include "choose/tuning.h"

static const struct ring_tuning any_tuning = {.chunk_bytes = 64 << 10,
					      .depth = 4,
					      .chunks_per_round = 2,
					      .channels = 1,
					      .algorithm = RING_ALGORITHM_RING};

/* From private memory in pieces as large as the system may take at once; where it is added or mapped, as caches have it. */
static void what_is_only_copied_goes_at_once(void **state)
{
	(void)state;
	struct ring_tuning tuning = any_tuning;
	tuning.algorithm = RING_ALGORITHM_DIRECT;
	struct ring_question question = {.kind = RING_KIND_ALL_TO_ALL,
					 .ranks = 4,
					 .bytes = 64 << 20,
					 .path = RING_PATH_MEMORY,
					 .memory = RING_MEMORY_REACHABLE};
	assert_int_equal(ring_tuning_choose(&tuning, &question).chunk_bytes, 31 << 20);
	tuning.chunk_bytes = 1 << 30;
	assert_int_equal(ring_tuning_choose(&tuning, &question).chunk_bytes, 31 << 20);
	question.memory = RING_MEMORY_SHARED;
	assert_int_equal(ring_tuning_choose(&tuning, &question).chunk_bytes, 1 << 20);
	question.memory = RING_MEMORY_REACHABLE;
	tuning.chunk_bytes = 16;
	assert_int_equal(ring_tuning_choose(&tuning, &question).chunk_bytes, 16 << 10);
	tuning.chunk_bytes = 64 << 10;
	question.memory = RING_MEMORY_SHARED;
	assert_int_equal(ring_tuning_choose(&tuning, &question).chunk_bytes, 128 << 10);
	question.memory = RING_MEMORY_REACHABLE;
	question.kind = RING_KIND_REDUCE_SCATTER;
	assert_int_equal(ring_tuning_choose(&tuning, &question).chunk_bytes, 64 << 10);
	question.ranks = 2; /* all that goes at once, not half */
	assert_int_equal(ring_tuning_choose(&tuning, &question).chunk_bytes, 256 << 10);
}

/* What is in few chunks or goes elsewhere is cut as the links allow. */
static void many_chunks_over_loopback_are_whole_segments(void **state)
{
	(void)state;
	struct ring_tuning tuning = any_tuning;
	tuning.chunk_bytes = 256 << 10;
	struct ring_question question = {.kind = RING_KIND_ALL_REDUCE,
					 .ranks = 4,
					 .bytes = 4 << 20,
					 .path = RING_PATH_SOCKET};
	assert_int_equal(ring_tuning_choose(&tuning, &question).chunk_bytes, 4 * 65408);
	question.bytes -= 4 * sizeof(float);
	assert_int_equal(ring_tuning_choose(&tuning, &question).chunk_bytes, 256 << 10);
	question.kind = RING_KIND_ALL_GATHER;
	assert_int_equal(ring_tuning_choose(&tuning, &question).chunk_bytes, 4 * 65408);
	question.path = RING_PATH_NETWORK;
	assert_int_equal(ring_tuning_choose(&tuning, &question).chunk_bytes, 256 << 10);
	question.path = RING_PATH_SOCKET;
	tuning.chunk_bytes = 32 << 10;
	assert_int_equal(ring_tuning_choose(&tuning, &question).chunk_bytes, 32 << 10);
}

/* In memory; sockets want large ones there, too. */
static void chains_have_more_than_one_chunk(void **state)
{
	(void)state;
	struct ring_tuning tuning = {.chunk_bytes = 512 << 10, .algorithm = RING_ALGORITHM_RING};
	struct ring_question question = {
		.kind = RING_KIND_REDUCE, .ranks = 2, .bytes = 512 << 10, .path = RING_PATH_MEMORY};
	assert_int_equal(ring_tuning_choose(&tuning, &question).chunk_bytes, 256 << 10);
	question.kind = RING_KIND_BROADCAST;
	assert_int_equal(ring_tuning_choose(&tuning, &question).chunk_bytes, 256 << 10);
	question.kind = RING_KIND_ALL_REDUCE;
	assert_int_equal(ring_tuning_choose(&tuning, &question).chunk_bytes, 512 << 10);
	question.kind = RING_KIND_REDUCE;
	question.path = RING_PATH_SOCKET;
	assert_int_equal(ring_tuning_choose(&tuning, &question).chunk_bytes, 512 << 10);
}

/* Whether calls of so many bytes go past the caches, and of 8 less don't. */
static void check_past(enum ring_kind kind, int ranks, uint64_t bytes)
{
	struct ring_question question = {.kind = kind, .ranks = ranks, .bytes = bytes};
	assert_true(ring_tuning_choose(&any_tuning, &question).past);
	question.bytes -= 8;
	assert_false(ring_tuning_choose(&any_tuning, &question).past);
}

static void much_goes_past_caches(void **state)
{
	(void)state;
	check_past(RING_KIND_BROADCAST, 2, 4 << 20);
	check_past(RING_KIND_ALL_GATHER, 4, 1 << 20);
	check_past(RING_KIND_REDUCE_SCATTER, 4, 4 << 20);
	check_past(RING_KIND_ALL_TO_ALL, 4, 1 << 20);
}

/* If the system copies. */
static void few_ranks_hand_out_what_is_copied(void **state)
{
	(void)state;
	struct ring_tuning tuning = any_tuning;
	tuning.algorithm = RING_ALGORITHM_DIRECT;
	tuning.chunk_bytes = 64 << 10;
	const struct ring_question few = {.kind = RING_KIND_BROADCAST,
					  .ranks = 4,
					  .bytes = 4 << 20,
					  .path = RING_PATH_MEMORY,
					  .memory = RING_MEMORY_REACHABLE,
					  .workers = 0x5};
	struct ring_question others[] = {few, few, few};
	others[0].kind = RING_KIND_SCATTER;
	others[1].memory = RING_MEMORY_SHARED;
	others[2].workers = 0;
	struct ring_choice choice = ring_tuning_choose(&tuning, &few);
	assert_int_equal(choice.workers, 0x5);
	assert_int_equal(choice.chunk_bytes, 512 << 10);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		choice = ring_tuning_choose(&tuning, &others[i]);
		assert_int_equal(choice.workers, 0);
		assert_int_not_equal(choice.chunk_bytes, 512 << 10);
	}
	tuning.chunk_bytes = 16;
	assert_int_equal(ring_tuning_choose(&tuning, &few).chunk_bytes, 16 << 10);
}

static uint64_t apart_chunk(const struct ring_tuning *tuning, uint64_t bytes)
{
	const struct ring_question question = {.kind = RING_KIND_ALL_REDUCE,
					       .ranks = 4,
					       .bytes = bytes,
					       .path = RING_PATH_MEMORY,
					       .apart = true};
	return ring_tuning_choose(tuning, &question).chunk_bytes;
}

/* Few large messages, of which some make a block. */
static void what_is_apart_goes_in_large_pieces(void **state)
{
	(void)state;
	struct ring_tuning tuning = any_tuning;
	const struct ring_config config = {0}, small = {.chunk_bytes = 1000};
	tuning.far_chunk_bytes = ring_tuning_far_chunk(&config);
	assert_int_equal(apart_chunk(&tuning, 8), 64 << 10);
	assert_int_equal(apart_chunk(&tuning, 1 << 20), 64 << 10);
	assert_int_equal(apart_chunk(&tuning, 7 << 20), 448 << 10);
	assert_int_equal(apart_chunk(&tuning, 16 << 20), 1 << 20);
	assert_int_equal(apart_chunk(&tuning, 1 << 30), 1 << 20);
	tuning.chunk_bytes = tuning.far_chunk_bytes = ring_tuning_far_chunk(&small);
	assert_int_equal(apart_chunk(&tuning, 1 << 30), 1000);
}

/* All-reduces of buffers that are apart, by ranks that have a CPU each. */
static struct ring_question on_four_chips(struct ring_tuning *tuning, uint64_t bytes)
{
	static const int order[] = {0, 1, 2, 3};
	tuning->model = ring_model_built_in[RING_PATH_MEMORY];
	tuning->turns = RING_TURNS_NONE;
	return (struct ring_question){.kind = RING_KIND_ALL_REDUCE,
				      .ranks = 4,
				      .order = order,
				      .bytes = bytes,
				      .path = RING_PATH_MEMORY,
				      .apart = true};
}

/* Each message takes jobs. */
static void what_is_apart_takes_longer(void **state)
{
	(void)state;
	struct ring_tuning tuning = any_tuning;
	struct ring_question question = on_four_chips(&tuning, 256 << 10);
	question.apart = false;
	struct ring_choice ring = ring_tuning_choose(&tuning, &question);
	uint64_t here = ring_tuning_predict(&tuning, &question, &ring);
	question.apart = true;
	assert_true(ring_tuning_predict(&tuning, &question, &ring) > 2 * here);
}

/* Whoever reaches is as fast as what lies between, and faster than who goes by the host. */
static void what_is_reached_is_as_fast_as_its_link(void **state)
{
	(void)state;
	struct ring_tuning tuning = any_tuning;
	struct ring_question question = on_four_chips(&tuning, 1 << 30);
	question.memory = RING_MEMORY_SHARED;
	tuning.algorithm = RING_ALGORITHM_DIRECT;
	struct ring_choice direct = ring_tuning_choose(&tuning, &question);
	const uint64_t bus = ring_tuning_predict(&tuning, &question, &direct);
	question.distance = RING_DISTANCE_LINK;
	const uint64_t link = ring_tuning_predict(&tuning, &question, &direct);
	question.distance = RING_DISTANCE_NONE;
	const uint64_t none = ring_tuning_predict(&tuning, &question, &direct);
	assert_true(7 * link < bus && bus < 9 * link);
	assert_true(link < none && none < 2 * link);
	question.memory = RING_MEMORY_PRIVATE;
	tuning.algorithm = RING_ALGORITHM_RING;
	struct ring_choice ring = ring_tuning_choose(&tuning, &question);
	assert_true(ring_tuning_predict(&tuning, &question, &ring) > 2 * bus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_only_copied_goes_at_once),
		cmocka_unit_test(many_chunks_over_loopback_are_whole_segments),
		cmocka_unit_test(chains_have_more_than_one_chunk),
		cmocka_unit_test(much_goes_past_caches),
		cmocka_unit_test(few_ranks_hand_out_what_is_copied),
		cmocka_unit_test(what_is_apart_goes_in_large_pieces),
		cmocka_unit_test(what_is_apart_takes_longer),
		cmocka_unit_test(what_is_reached_is_as_fast_as_its_link),
	};
	return cmocka_run_group_tests_name("pieces", tests, NULL, NULL);
}
