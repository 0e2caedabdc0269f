/* SPDX-License-Identifier: MIT */
/*
 * The simulator against closed forms: a message of m bytes takes latency + m / rate, a rank's entry
 * record goes first, and each kind of call is so many of these after one another. Then what has no
 * closed form, as inequalities.
 *
 * RING_TEST_LONG also runs 4096 ranks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "plan/record.h"
#include "tools/simulate/simulate.h"

#define LATENCY 5000u /* ns */
#define RATE 1e9      /* bytes per second: a byte takes a nanosecond */
#define RECORD (sizeof(struct ring_record))
#define HOPS_RANKS 9
#define HOPS_COUNT 3000 /* floats, more than travel with a record */

static bool is_long(void)
{
	const char *text = getenv("RING_TEST_LONG");
	return text && *text;
}

/* Blocks (or parts, or the vector of a broadcast or reduce) of `chunks` chunks of 1024 bytes. */
static struct ring_simulation_params uniform(enum ring_kind kind, int size, int chunks)
{
	struct ring_simulation_params params = {.kind = kind,
						.size = size,
						.count = 256 * (uint64_t)chunks,
						.type = RING_FLOAT32,
						.chunk_bytes = 1024,
						.chunks_per_round = chunks,
						.channels = 1,
						.depth = 8,
						.link = {LATENCY, RATE}};
	if (kind == RING_KIND_ALL_REDUCE)
		params.count *= (uint64_t)size;
	if (kind == RING_KIND_BARRIER)
		params.count = 0;
	return params;
}

static uint64_t end_of(const struct ring_simulation_params *params)
{
	struct ring_simulation simulation;
	assert_int_equal(ring_simulate(params, &simulation), 0);
	uint64_t end_ns = simulation.end_ns;
	for (int rank = 0; rank < params->size; rank++)
		assert_true(simulation.finish_ns[rank] <= end_ns);
	ring_simulation_free(&simulation);
	return end_ns;
}

/* ---- closed forms ------------------------------------------------------------------------- */

static void one_chunk_per_block(void **state)
{
	(void)state;
	const uint64_t hop = LATENCY + 1024, signal = LATENCY + RECORD;
	for (int n = 2; n <= 64; n++) {
		struct ring_simulation_params params = uniform(RING_KIND_ALL_REDUCE, n, 1);
		assert_int_equal(end_of(&params), RECORD + 2 * (n - 1) * hop);
		params = uniform(RING_KIND_REDUCE_SCATTER, n, 1);
		assert_int_equal(end_of(&params), RECORD + (n - 1) * hop);
		params = uniform(RING_KIND_ALL_GATHER, n, 1);
		assert_int_equal(end_of(&params), (n - 2) * signal + RECORD + (n - 1) * hop);
		params = uniform(RING_KIND_BARRIER, n, 1);
		assert_int_equal(end_of(&params), (n - 1) * signal);
	}
}

/* Hops of a vector of one chunk, whose bytes take no time. */
static uint64_t hops_of(const struct ring_plan_params *plan)
{
	static float buffers[2][HOPS_RANKS][HOPS_RANKS * HOPS_COUNT];
	struct ring_simulation_params params = uniform(plan->kind, plan->size, 1);
	const void *inputs[HOPS_RANKS];
	void *outputs[HOPS_RANKS];
	for (int rank = 0; rank < plan->size; rank++) {
		inputs[rank] = buffers[0][rank];
		outputs[rank] = buffers[1][rank];
	}
	params.algorithm = plan->algorithm;
	params.count = plan->count;
	params.chunk_bytes = plan->chunk_bytes;
	params.link.bytes_per_second = 0;
	params.inputs = inputs;
	params.outputs = outputs;
	return end_of(&params) / LATENCY;
}

static void check_hops(enum ring_kind kind, enum ring_algorithm algorithm, int size, uint64_t count)
{
	const int order[HOPS_RANKS] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
	struct ring_plan_params params = {.kind = kind,
					  .algorithm = algorithm,
					  .size = size,
					  .order = order,
					  .count = kind == RING_KIND_BARRIER ? 0 : count,
					  .element_bytes = sizeof(float),
					  .chunk_bytes = HOPS_COUNT * sizeof(float),
					  .chunks_per_round = 1,
					  .channels = 1};
	if (ring_algorithm_has(algorithm, RING_NEEDS_STAGES | RING_NEEDS_REACH) ||
	    !ring_algorithm_can(algorithm, kind, size, count * sizeof(float), false))
		return;
	struct ring_plan plan = ring_plan_make(&params);
	struct ring_plan_cost cost = ring_plan_cost(&plan);
	assert_int_equal(cost.steps + cost.agreement, hops_of(&params));
}

/* The cost model counts these. Small data travel with records, large ones behind them. */
static void steps_and_agreement_are_the_hops(void **state)
{
	(void)state;
	for (int kind = 0; kind <= (int)RING_KIND_ALL_TO_ALL; kind++)
		for (int algorithm = 0; algorithm < RING_ALGORITHMS; algorithm++)
			for (int size = 2; size <= HOPS_RANKS; size++) {
				check_hops((enum ring_kind)kind, (enum ring_algorithm)algorithm,
					   size, HOPS_RANKS);
				check_hops((enum ring_kind)kind, (enum ring_algorithm)algorithm,
					   size, HOPS_COUNT);
			}
}

/* A chain is a pipeline: the first chunk takes all hops, each other one follows behind it. */
static void chains_are_pipelines(void **state)
{
	(void)state;
	for (int n = 2; n <= 32; n++)
		for (int pick = 0; pick < 8; pick++) {
			int chunks = 1 << pick / 2 * 2;
			enum ring_kind kind = pick % 2 ? RING_KIND_REDUCE : RING_KIND_BROADCAST;
			struct ring_simulation_params params = uniform(kind, n, chunks);
			params.link.latency_ns = 100; /* eight slots hide it */
			params.root = n / 2;
			uint64_t begin = (n - 2) * (100 + RECORD) + RECORD;
			assert_int_equal(end_of(&params),
					 begin + (n - 1) * (100 + 1024) + (chunks - 1) * 1024);
		}
}

/*
 * Parts go straight to their ranks, all at once: what a pair of ranks says to one another follows one
 * behind the other, and nothing else does. In gather and scatter, root has heard everybody after one
 * latency and two records, for the rank before it has two for it; its answers take one more. Two ranks
 * need no answers.
 */
static void one_shot_takes_one_part_and_its_signals(void **state)
{
	(void)state;
	for (int n = 2; n <= 48; n++)
		for (int chunks = 1; chunks <= 6; chunks++) {
			uint64_t part = 1024 * (uint64_t)chunks, root = (uint64_t)n / 3;
			struct ring_simulation_params params = uniform(RING_KIND_ALL_TO_ALL, n,
								       chunks);
			assert_int_equal(end_of(&params), RECORD + LATENCY + part);

			struct ring_simulation simulation;
			params.root = (int)root;
			params.kind = RING_KIND_GATHER;
			if (n == 2) {
				assert_int_equal(end_of(&params), RECORD + LATENCY + part);
				params.kind = RING_KIND_SCATTER;
				assert_int_equal(end_of(&params), RECORD + LATENCY + part);
				continue;
			}
			assert_int_equal(ring_simulate(&params, &simulation), 0);
			assert_int_equal(simulation.steps, 1);
			for (uint64_t rank = 0; rank < (uint64_t)n; rank++)
				assert_int_equal(simulation.finish_ns[rank],
						 rank == root ? 2 * RECORD + LATENCY + part
							      : 3 * RECORD + 2 * LATENCY);
			ring_simulation_free(&simulation);

			params.kind = RING_KIND_SCATTER;
			assert_int_equal(ring_simulate(&params, &simulation), 0);
			for (uint64_t rank = 0; rank < (uint64_t)n; rank++)
				assert_int_equal(simulation.finish_ns[rank],
						 3 * RECORD + part +
							 (rank == root ? 1 : 2) * LATENCY);
			ring_simulation_free(&simulation);
		}
}

/*
 * Where all send to all, the last chunk is there one latency behind its sending, and added at once. Two
 * shots are one behind the other, and the second of a chunk need not wait for the first of the next.
 */
static void shots_of_reductions(void **state)
{
	(void)state;
	for (int n = 2; n <= 48; n++)
		for (int chunks = 1; chunks <= 3; chunks++) {
			struct ring_simulation_params params = uniform(RING_KIND_ALL_REDUCE, n,
								       chunks);
			const uint64_t blocks = 1024 * (uint64_t)chunks;
			params.algorithm = RING_ALGORITHM_ONE_SHOT;
			params.count /= (uint64_t)n;
			assert_int_equal(end_of(&params), RECORD + LATENCY + blocks);
			params.kind = RING_KIND_BARRIER;
			params.count = 0;
			assert_int_equal(end_of(&params), RECORD + LATENCY);

			params = uniform(RING_KIND_ALL_REDUCE, n, chunks);
			params.algorithm = RING_ALGORITHM_TWO_SHOT;
			uint64_t first = RECORD + LATENCY + 1024;
			uint64_t second = RECORD + blocks > first ? RECORD + blocks : first;
			assert_int_equal(end_of(&params), second + LATENCY + blocks);
		}
}

/* Every step waits for the one before it, and takes so many inputs along. */
static void bruck_takes_a_latency_for_each_step(void **state)
{
	(void)state;
	for (int n = 2; n <= 48; n++) {
		uint64_t end = 0;
		for (int step = 1; step < n; step *= 2)
			end += RECORD + LATENCY + 4 * (uint64_t)(step < n - step ? step : n - step);
		struct ring_simulation_params params = uniform(RING_KIND_ALL_REDUCE, n, 1);
		params.algorithm = RING_ALGORITHM_BRUCK;
		params.count = 1;
		assert_int_equal(end_of(&params), end);
	}
}

/* What arrives at once is copied one after the other: n parts at a root, and at all of all-to-all. */
static void the_device_takes_parts_in_turn(void **state)
{
	(void)state;
	for (int n = 2; n <= 48; n++) {
		struct ring_simulation_params params = uniform(RING_KIND_ALL_TO_ALL, n, 1);
		params.device = (struct ring_simulated_device){.overhead_ns = 300,
							       .copy_bytes_per_second = RATE / 2};
		const uint64_t hop = LATENCY + 1024, copy = 300 + 2048, parts = (uint64_t)n;
		assert_int_equal(end_of(&params), RECORD + hop + parts * copy);
		params.kind = RING_KIND_GATHER;
		uint64_t answered = n > 2 ? 3 * RECORD + 2 * LATENCY : 0;
		uint64_t gathered = (n > 2 ? 2 : 1) * RECORD + hop + parts * copy;
		assert_int_equal(end_of(&params), gathered > answered ? gathered : answered);
		params.kind = RING_KIND_SCATTER;
		uint64_t agreed = n > 2 ? 3 * RECORD + LATENCY : RECORD;
		assert_int_equal(end_of(&params), agreed + hop + copy);
		params.kind = RING_KIND_REDUCE;
		params.device.reduce_bytes_per_second = RATE / 4;
		assert_int_equal(end_of(&params), (parts - 2) * (LATENCY + RECORD) + RECORD +
							  (parts - 1) * (hop + 300 + 4096));
	}
}

static void the_device_adds_its_time(void **state)
{
	(void)state;
	for (int n = 2; n <= 32; n++) {
		struct ring_simulation_params params = uniform(RING_KIND_ALL_REDUCE, n, 1);
		params.device = (struct ring_simulated_device){.overhead_ns = 300,
							       .reduce_bytes_per_second = RATE / 4,
							       .copy_bytes_per_second = RATE / 2};
		uint64_t hop = LATENCY + 1024;
		assert_int_equal(end_of(&params), RECORD + (n - 1) * (hop + 300 + 4096) +
							  (n - 1) * (hop + 300 + 2048));
	}
}

static void one_rank_only_copies(void **state)
{
	(void)state;
	struct ring_simulation_params params = uniform(RING_KIND_ALL_REDUCE, 1, 16);
	assert_int_equal(end_of(&params), 0);
	params.device.overhead_ns = 10;
	params.device.copy_bytes_per_second = RATE;
	assert_int_equal(end_of(&params), 16 * (10 + 1024));
}

/* ---- inequalities ------------------------------------------------------------------------- */

/* Chunks overlap what a single one does in turn; no number of them beats the wire. */
static void chunks_and_channels_fill_gaps(void **state)
{
	(void)state;
	struct ring_simulation_params params = uniform(RING_KIND_ALL_REDUCE, 8, 1);
	params.count = 8 * 65536;
	params.device.reduce_bytes_per_second = params.device.copy_bytes_per_second = RATE;
	const uint64_t block = params.count / 8 * 4;
	const uint64_t wire = 2 * 7 * block;

	params.chunk_bytes = block;
	uint64_t whole = end_of(&params);
	assert_true(whole > 2 * wire);

	params.chunk_bytes = block / 8;
	params.chunks_per_round = 8;
	uint64_t chunked = end_of(&params);
	assert_in_range(chunked, wire, whole * 2 / 3);

	params.chunk_bytes = block / 4;
	params.chunks_per_round = 4;
	params.channels = 2;
	assert_in_range(end_of(&params), wire, whole * 2 / 3);
}

static void more_slots_never_hurt(void **state)
{
	(void)state;
	uint64_t before = UINT64_MAX;
	for (int depth = 1; depth <= RING_DEPTH_MAX; depth++) {
		struct ring_simulation_params params = uniform(RING_KIND_ALL_REDUCE, 6, 8);
		params.depth = depth;
		uint64_t end = end_of(&params);
		assert_true(end <= before);
		before = end;
	}
	/* With one slot every message waits for the news that the last one is gone: two latencies. */
	struct ring_simulation_params params = uniform(RING_KIND_ALL_REDUCE, 6, 8);
	params.depth = 1;
	assert_true(end_of(&params) >= 2 * 5 * 8 * 2 * LATENCY);
}

static void all_wait_for_a_straggler(void **state)
{
	(void)state;
	for (int kind = RING_KIND_ALL_REDUCE; kind <= RING_KIND_ALL_TO_ALL; kind++) {
		uint64_t enter_ns[16] = {[5] = 1000000};
		struct ring_simulation_params params = uniform((enum ring_kind)kind, 16, 2);
		uint64_t alone = end_of(&params);
		params.enter_ns = enter_ns;
		struct ring_simulation simulation;
		assert_int_equal(ring_simulate(&params, &simulation), 0);
		assert_in_range(simulation.end_ns, 1000000, 1000000 + alone);
		for (int rank = 0; rank < 16 && kind != RING_KIND_REDUCE_SCATTER; rank++)
			assert_true(simulation.finish_ns[rank] >= 1000000);
		ring_simulation_free(&simulation);
	}
}

static void slow_out_of_three(void *context, int from, int to, struct ring_pace_speed *speed)
{
	assert_ptr_equal(context, &slow_out_of_three);
	assert_true(to == (from + 1) % 8);
	if (from == 3)
		speed->bytes_per_second /= 10;
}

static void one_slow_link_slows_all(void **state)
{
	(void)state;
	struct ring_simulation_params params = uniform(RING_KIND_ALL_REDUCE, 8, 16);
	uint64_t fast = end_of(&params);
	params.link_between = slow_out_of_three;
	params.context = (void *)&slow_out_of_three;
	uint64_t bytes = params.count * 4;
	uint64_t slow_wire = (2 * bytes - 2 * bytes / 8) * 10;
	assert_in_range(end_of(&params), slow_wire, slow_wire + 2 * fast);
}

/* ---- many, and none --------------------------------------------------------------------------- */

static void bad_parameters_are_refused(void **state)
{
	(void)state;
	struct ring_simulation simulation;
	struct ring_simulation_params params = uniform(RING_KIND_ALL_REDUCE, 2, 1);
	params.depth = RING_DEPTH_MAX + 1;
	assert_int_equal(ring_simulate(&params, &simulation), RING_EINVAL);
	params = uniform(RING_KIND_ALL_REDUCE, 0, 1);
	assert_int_equal(ring_simulate(&params, &simulation), RING_EINVAL);
	params = uniform(RING_KIND_BROADCAST, 2, 1);
	params.root = 2;
	assert_int_equal(ring_simulate(&params, &simulation), RING_EINVAL);
	params = uniform(RING_KIND_SEND, 2, 1);
	assert_int_equal(ring_simulate(&params, &simulation), RING_EINVAL);
}

static void many_ranks(void **state)
{
	(void)state;
	uint64_t n = is_long() ? 4096 : 512;
	struct ring_simulation_params params = uniform(RING_KIND_ALL_REDUCE, (int)n, 1);
	struct ring_simulation simulation;
	uint64_t begin_ms = ring_clock_ms();
	assert_int_equal(ring_simulate(&params, &simulation), 0);
	assert_int_equal(simulation.end_ns, RECORD + 2 * (n - 1) * (LATENCY + 1024));
	assert_int_equal(simulation.steps, 2 * (n - 1));
	uint64_t sum = 0;
	for (uint64_t rank = 0; rank < n; rank++)
		sum += simulation.sent_bytes[rank];
	assert_int_equal(sum, 2 * (n - 1) * params.count * 4);
	print_message("# %u ranks, %llu wakes: %llu ms\n", (unsigned)n,
		      (unsigned long long)simulation.wakes,
		      (unsigned long long)(ring_clock_ms() - begin_ms));
	ring_simulation_free(&simulation);
}

/* Links between any two of them. */
static void many_ranks_and_all_links(void **state)
{
	(void)state;
	uint64_t n = is_long() ? 256 : 96;
	struct ring_simulation_params params = uniform(RING_KIND_ALL_TO_ALL, (int)n, 2);
	struct ring_simulation simulation;
	assert_int_equal(ring_simulate(&params, &simulation), 0);
	assert_int_equal(simulation.end_ns, RECORD + LATENCY + 2048);
	for (uint64_t rank = 0; rank < n; rank++)
		assert_int_equal(simulation.sent_bytes[rank], (n - 1) * params.count * 4);
	ring_simulation_free(&simulation);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_chunk_per_block),
		cmocka_unit_test(steps_and_agreement_are_the_hops),
		cmocka_unit_test(chains_are_pipelines),
		cmocka_unit_test(one_shot_takes_one_part_and_its_signals),
		cmocka_unit_test(shots_of_reductions),
		cmocka_unit_test(bruck_takes_a_latency_for_each_step),
		cmocka_unit_test(the_device_takes_parts_in_turn),
		cmocka_unit_test(the_device_adds_its_time),
		cmocka_unit_test(one_rank_only_copies),
		cmocka_unit_test(chunks_and_channels_fill_gaps),
		cmocka_unit_test(more_slots_never_hurt),
		cmocka_unit_test(all_wait_for_a_straggler),
		cmocka_unit_test(one_slow_link_slows_all),
		cmocka_unit_test(bad_parameters_are_refused),
		cmocka_unit_test(many_ranks),
		cmocka_unit_test(many_ranks_and_all_links),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
