/* SPDX-License-Identifier: MIT */
/*
 * ring_model's parts: what text means, closed forms against known values, the training step against worked examples, shapes, causes and late ranks.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tools/model_machine.h"
#include "tools/json.h"
#include "tools/model/algorithms.h"
#include "tools/model/compare.h"
#include "tools/model/json.h"
#include "tools/model/parse.h"
#include "tools/ddp/scaling.h"
#include "tools/ddp/shape.h"
#include "tools/model/world.h"

/* ---- text --------------------------------------------------------------------------------- */

static void numbers_have_units(void **state)
{
	(void)state;
	double value = -1;
	struct model_link link;
	assert_true(model_parse_size("1.5K", &value));
	assert_near(value, 1536, 0);
	assert_true(model_parse_time("20us", &value));
	assert_near(value, 20e-6, 1e-18);
	assert_true(model_parse_rate("10Gbit/s", &value));
	assert_near(value, 1.25e9, 0);
	assert_true(model_parse_link("1GB/s,20us", &link));
	assert_near(link.bandwidth, 1e9, 0);
	assert_near(link.latency, 20e-6, 1e-18);
	assert_true(model_parse_link("2GB/s", &link)); /* as RING_LINK */
	assert_near(link.bandwidth, 2e9, 0);
	assert_near(link.latency, 0, 0);
	static const char *const wrong[] = {"",     "1GB",      "1GB/s,",     "1GB/s,20",
					    ",1us", "0B/s,1us", "1GB/s,1us,", "1GB/s,-1us"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(model_parse_link(wrong[i], &link));
	assert_false(model_parse_size("1x", &value));
	assert_false(model_parse_count("1.5", &value));
	assert_false(model_parse_ranks("65537", &value));
	assert_false(model_parse_time("nan", &value));
}

static void lists_have_ranges(void **state)
{
	(void)state;
	struct model_list list = {0};
	assert_true(model_parse_list("2..4,8,16..64*2", model_parse_ranks, &list));
	static const double expected[] = {2, 3, 4, 8, 16, 32, 64};
	assert_int_equal(list.count, 7);
	for (int i = 0; i < list.count; i++)
		assert_near(list.values[i], expected[i], 0);
	static const char *const wrong[] = {"", "2,", "4..2", "1..8*1", "1..1000", "a..b", "2...3"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(model_parse_list(wrong[i], model_parse_ranks, &list));
	assert_int_equal(list.count, 7);
}

/* ---- closed forms ------------------------------------------------------------------------- */

static double all_reduce_time(const struct model_machine *machine, int ranks, double bytes)
{
	return model_call_of(machine, RING_KIND_ALL_REDUCE, ranks, bytes).seconds;
}

/* 7e9 gradients of two bytes at 50 GB/s. */
static void all_reduce_of_a_large_model(void **state)
{
	(void)state;
	static const struct {
		int ranks;
		double ms;
	} known[] = {{2, 280}, {8, 490}, {16, 525}, {32, 542.5}, {64, 551.25}, {1024, 559.453}};
	struct model_machine machine = link_machine(50e9, 0);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_near(1e3 * all_reduce_time(&machine, known[i].ranks, 14e9), known[i].ms,
			    0.001);
}

/* What the plan says of a vector of 1000 bytes for each of 8 ranks. */
static void calls_are_the_plans(void **state)
{
	(void)state;
	static const struct {
		enum ring_kind kind;
		uint64_t hops, sent;
	} known[] = {
		{RING_KIND_ALL_REDUCE, 14, 14000}, {RING_KIND_REDUCE_SCATTER, 7, 7000},
		{RING_KIND_ALL_GATHER, 13, 7000},  {RING_KIND_BROADCAST, 13, 8000},
		{RING_KIND_REDUCE, 13, 8000},      {RING_KIND_GATHER, 2, 7000},
		{RING_KIND_SCATTER, 2, 7000},      {RING_KIND_ALL_TO_ALL, 1, 7000},
		{RING_KIND_SEND, 1, 8000},         {RING_KIND_BARRIER, 7, 0},
	};
	struct model_machine machine = link_machine(1e9, 20e-6);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		double bytes = known[i].kind == RING_KIND_BARRIER ? 0 : 8000;
		struct model_call call = model_call_of(&machine, known[i].kind, 8, bytes);
		assert_int_equal(call.hops, known[i].hops);
		assert_int_equal(call.sent, known[i].sent);
		bool chain = known[i].kind == RING_KIND_BROADCAST ||
			     known[i].kind == RING_KIND_REDUCE;
		double handed_on = chain ? 7 : 1; /* in one piece, from rank to rank */
		assert_near(call.seconds,
			    (double)call.hops * 20e-6 + handed_on * (double)call.sent * 1e-9, 1e-10);
	}
	struct model_call alone = model_call_of(&machine, RING_KIND_ALL_REDUCE, 1, 8000);
	assert_near(alone.seconds, 0, 0);
	assert_int_equal(alone.hops + alone.sent, 0);
}

/* The library's choice, by the same numbers. */
static void calls_are_the_librarys(void **state)
{
	(void)state;
	struct model_machine machine = {.model = ring_model_built_in[RING_PATH_MEMORY],
					.path = RING_PATH_MEMORY,
					.memory = RING_MEMORY_SHARED,
					.algorithm = -1};
	struct model_call small = model_call_of(&machine, RING_KIND_ALL_REDUCE, 4, 8);
	struct model_call large = model_call_of(&machine, RING_KIND_ALL_REDUCE, 4, 16 << 20);
	assert_int_equal(small.choice.algorithm, RING_ALGORITHM_ONE_SHOT);
	assert_int_equal(large.choice.algorithm, RING_ALGORITHM_DIRECT);
	assert_near(small.seconds * 1e12,
		    (double)small.choice.predicted_ps[RING_ALGORITHM_ONE_SHOT], 0.5);
}

static const struct model_algorithm *algorithm(const char *name)
{
	for (const struct model_algorithm *at = model_algorithms; at->name; at++)
		if (strcmp(at->name, name) == 0)
			return at;
	fail_msg("no algorithm is called %s", name);
	return NULL;
}

/* 16 ranks, 1 MB at 1 GB/s, 10 us, reduced at 2 GB/s: by hand. */
static void algorithms_by_hand(void **state)
{
	(void)state;
	struct model_machine machine = link_machine(1e9, 10e-6);
	machine.model.touch = model_number_of_rate(MODEL_TOUCHED_TO_REDUCE * 2e9);
	machine.chunk = 50000;
	static const struct {
		const char *name;
		double us;
	} known[] = {
		{"ring", 30 * 10 + 1875 + 468.75},
		{"recursive doubling", 4 * (10 + 1000 + 500)},
		{"Rabenseifner", 8 * 10 + 1875 + 468.75},
		{"binomial tree", 8 * (10 + 1000) + 4 * 500},
		{"in network", 20 + 1000 + 50},
		{"two trees", 8 * (10 + 50) + 2000 + 500},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_near(1e6 * algorithm(known[i].name)->time(&machine, 16, 1e6), known[i].us,
			    0.01);
}

/* 4 ranks, blocks of 8 chunks of 50 us: latency shows where it is longer than one of them. */
static void chunks_hide_latency(void **state)
{
	(void)state;
	struct model_machine machine = link_machine(1e9, 20e-6);
	machine.chunk = 50000;
	assert_near(1e6 * all_reduce_time(&machine, 4, 4 * 400e3), 6 * 400 + 20, 0.01);
	machine.model.hop = model_number_of_seconds(80e-6);
	assert_near(1e6 * all_reduce_time(&machine, 4, 4 * 400e3), 6 * 4 * (80 + 50) + 50, 0.01);
	machine.model.hop = 0; /* reducing 150 us in each of 24 steps, half of which reduce */
	machine.model.touch = model_number_of_rate(MODEL_TOUCHED_TO_REDUCE * 0.25e9);
	assert_near(1e6 * all_reduce_time(&machine, 4, 4 * 400e3), 3 * 4 * 400 + 50, 1);
}

static void a_crossover_is_where_times_are_equal(void **state)
{
	(void)state;
	struct model_machine machine = link_machine(1e9, 20e-6);
	const struct model_algorithm *ring = algorithm("ring"),
				     *other = algorithm("recursive doubling");
	for (int ranks = 4; ranks <= 256; ranks *= 2) {
		double bytes = model_crossover(other, &machine, ranks);
		/* (2(N-1) - log2 N) a = (log2 N - 2(N-1)/N) S/B */
		double logs = log2(ranks), steps = 2.0 * (ranks - 1);
		assert_near(bytes / ((steps - logs) * 20e-6 * 1e9 / (logs - steps / ranks)), 1,
			    0.002);
		assert_true(other->time(&machine, ranks, bytes / 2) <
			    ring->time(&machine, ranks, bytes / 2));
	}
	assert_near(model_crossover(algorithm("Rabenseifner"), &machine, 16), 0, 0);
}

static void hosts_slow_the_ring_where_it_leaves_them(void **state)
{
	(void)state;
	struct model_machine machine = link_machine(10e9, 2e-6);
	machine.ranks_per_host = 8;
	machine.between = link_model(1e9, 20e-6);
	assert_int_equal(model_around(&machine, 8).wire, model_number_of_rate(10e9));
	struct ring_model across = model_around(&machine, 32);
	assert_int_equal(across.wire, model_number_of_rate(1e9));
	assert_near(model_seconds(across.hop), (20e-6 + 7 * 2e-6) / 8, 1e-12);
	/* Around 4 hosts only an eighth of the vector leaves each. */
	assert_true(algorithm("hierarchical")->time(&machine, 32, 64e6) <
		    0.5 * algorithm("ring")->time(&machine, 32, 64e6));
}

/* ---- the training step -------------------------------------------------------------------- */

/* All gradients in `count` equal buckets, the last ready at the end of backward. */
static void make_training(struct model_training *training, struct model_bucket buckets[],
			  size_t count, double seconds)
{
	static struct model_tensors tensors;
	model_shape_equal(7e9, count, &tensors);
	tensors.element_bytes = 2;
	*training = (struct model_training){
		.compute = {.forward = seconds / 3, .backward = seconds * 2 / 3},
		.buckets = buckets,
	};
	training->count = model_buckets_of(&tensors, 0, 0, training->compute.backward, buckets);
	assert_int_equal(training->count, count);
}

static struct model_bucket buckets[MODEL_BUCKETS_MAX];

static void efficiencies_of_a_large_model(void **state)
{
	(void)state;
	struct model_machine machine = link_machine(50e9, 0);
	struct model_training training;
	make_training(&training, buckets, 100, 0.2);
	struct model_step step = model_training_step(&training, &machine, 8, MODEL_NO_CAUSE);
	assert_near(step.compute / step.max, 0.408, 0.0005);
	assert_near(step.compute / step.sum, 0.290, 0.0005);
	assert_true(step.event > step.max && step.event < step.sum);

	static const double known[] = {0.918, 0.857, 0.829, 0.816};
	make_training(&training, buckets, 100, 0.45);
	for (int i = 0; i < 4; i++) {
		step = model_training_step(&training, &machine, 8 << i, MODEL_NO_CAUSE);
		assert_near(step.compute / step.max, known[i], 0.0006);
	}
}

/* 226 buckets, each paying 2(N-1) times 20 us: what no bandwidth explains. */
static void efficiency_collapses_by_latency(void **state)
{
	(void)state;
	static const double known[] = {1.0, 0.85, 0.63, 0.41, 0.24};
	struct model_machine machine = link_machine(50e9, 20e-6);
	struct model_training training;
	make_training(&training, buckets, 226, 0.7);
	for (int i = 0; i < 5; i++) {
		struct model_step step = model_training_step(&training, &machine, 16 << i,
							     MODEL_NO_CAUSE);
		assert_near(step.compute / step.max, known[i], 0.006);
	}
	bool enough = false;
	assert_int_equal(model_training_cause(&training, &machine, 16, &enough), MODEL_BUCKET_COUNT);
	assert_true(enough);
}

static void causes_are_told_apart(void **state)
{
	(void)state;
	struct model_training training;
	bool enough = false;
	make_training(&training, buckets, 4, 1.0);

	struct model_machine late = link_machine(1e12, 10e-3);
	assert_int_equal(model_training_cause(&training, &late, 64, &enough), MODEL_LATENCY);
	assert_true(enough);

	struct model_machine tiers = link_machine(1e12, 0);
	tiers.ranks_per_host = 8;
	tiers.between = link_model(10e9, 0);
	assert_true(model_training_efficiency(&training, &tiers, 8, MODEL_NO_CAUSE) > 0.8);
	assert_int_equal(model_training_cause(&training, &tiers, 16, &enough), MODEL_SLOW_TIER);
	assert_true(enough);

	struct model_machine narrow = link_machine(10e9, 0);
	assert_int_equal(model_training_cause(&training, &narrow, 16, &enough), MODEL_BANDWIDTH);
	assert_true(enough);

	struct model_machine both = link_machine(10e9, 50e-3);
	model_training_cause(&training, &both, 64, &enough);
	assert_false(enough);
}

/* Ready at 2, 3, 6 of 8; a bucket waits for its gradients, or for the one before it. */
static void buckets_follow_one_another(void **state)
{
	(void)state;
	struct model_compute compute = {.data = 1, .forward = 4, .backward = 8, .optimizer = 2};
	struct model_bucket three[] = {{.ready = 2, .cost = 3},
				       {.ready = 3, .cost = 1},
				       {.ready = 6, .cost = 4}};
	struct model_step step = model_step_of(&compute, three, 3);
	assert_near(step.compute, 15, 0);
	assert_near(step.communication, 8, 0);
	assert_near(step.sum, 23, 0);
	assert_near(step.max, 15, 0);
	assert_near(step.event, 1 + 4 + 10 + 2, 0); /* 2..5, 5..6, 6..10 */
	assert_near(step.exposed, 2, 0);

	compute.slowdown = 0.5; /* backward ends behind them all */
	step = model_step_of(&compute, three, 3);
	assert_near(step.event, 1 + 4 + 12 + 2, 0);
	assert_near(step.exposed, 0, 0);

	step = model_step_of(&compute, three, 0);
	assert_near(step.event, 15, 0);
}

/* ---- shapes ------------------------------------------------------------------------------- */

static size_t buckets_of_shape(const char *name, double cap)
{
	static struct model_tensors tensors;
	assert_true(model_shape_find(name, &tensors));
	return model_buckets_of(&tensors, 1 << 20, cap, 1, buckets);
}

static void shapes_have_known_buckets(void **state)
{
	(void)state;
	static struct model_tensors tensors;
	assert_true(model_shape_find("llama7b", &tensors));
	assert_int_equal(tensors.count, 291);
	assert_int_equal(buckets_of_shape("llama7b", 25 << 20), 226);
	assert_int_equal(buckets_of_shape("llama7b", 100 << 20), 82);
	assert_int_equal(buckets_of_shape("llama7b", 250 << 20), 44);
	assert_int_equal(buckets_of_shape("mlp40", 25 << 20), 7);
	assert_true(model_shape_find("mlp40", &tensors));
	assert_near(model_shape_parameters(&tensors), 41984000, 0);
	assert_int_equal(buckets_of_shape("seed002", 25 << 20), 40);
	assert_true(model_shape_find("seed002", &tensors));
	assert_near(model_shape_parameters(&tensors), 671252480, 0);

	assert_true(model_shape_find("lab", &tensors));
	assert_near(model_shape_parameters(&tensors), 3124200, 0);
	assert_int_equal(buckets_of_shape("lab", 25 << 20), 2);
	assert_near(buckets[0].bytes / (1 << 20), 3.91, 0.005);
	assert_near(buckets[1].bytes / (1 << 20), 8.01, 0.005);
	assert_near(buckets[1].ready, 1, 1e-12);
	assert_false(model_shape_find("nothing", &tensors));
}

/* ---- the simulated machines --------------------------------------------------------------- */

static void links_differ_as_told(void **state)
{
	(void)state;
	struct model_world world = {.machine = link_machine(1e9, 10e-6)};
	world.machine.ranks_per_host = 4;
	world.machine.between = link_model(1e8, 50e-6);
	assert_true(model_parse_wire("1-2=2GB/s,1us", &world));
	assert_true(model_parse_slow("0=2", &world));
	assert_true(model_parse_late("3=5ms", &world));
	assert_false(model_parse_wire("1=2GB/s,1us", &world));
	assert_false(model_parse_slow("x=2", &world));

	static const struct {
		int from, to;
		uint64_t latency_ns;
		double rate;
	} known[] = {{2, 3, 10000, 1e9}, {3, 4, 50000, 1e8}, {1, 2, 1000, 2e9}, {0, 1, 20000, 5e8}};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct ring_pace_speed speed;
		model_world_link(&world, known[i].from, known[i].to, &speed);
		assert_int_equal(speed.latency_ns, known[i].latency_ns);
		assert_near(speed.bytes_per_second / known[i].rate, 1, 1e-12);
	}
	uint64_t enter_ns[5];
	assert_int_equal(model_world_enter(&world, 0, 5, enter_ns), 5000000);
	assert_int_equal(enter_ns[2], 0);
	assert_int_equal(enter_ns[3], 5000000);
}

/* Half a normal distribution has mean sigma * sqrt(2 / pi), and its seed decides it. */
static void jitter_is_drawn_from_its_seed(void **state)
{
	(void)state;
	enum { RANKS = 20000 };
	static uint64_t enter_ns[RANKS], again[RANKS];
	struct model_world world = {.jitter = 1e-3, .seed = 7};
	double sum = 0, squares = 0;
	model_world_enter(&world, 0, RANKS, enter_ns);
	for (int i = 0; i < RANKS; i++) {
		sum += (double)enter_ns[i];
		squares += (double)enter_ns[i] * (double)enter_ns[i];
	}
	assert_near(sum / RANKS, 1e6 * sqrt(2 / M_PI), 0.02e6);
	assert_near(sqrt(squares / RANKS), 1e6, 0.02e6);
	model_world_enter(&world, 0, RANKS, again);
	assert_memory_equal(enter_ns, again, sizeof(again));
	model_world_enter(&world, 1, RANKS, again);
	assert_memory_not_equal(enter_ns, again, sizeof(again));
}

/* ---- comparing ---------------------------------------------------------------------------- */

static void errors_are_judged(void **state)
{
	(void)state;
	struct model_errors most, summary;
	double errors[] = {-0.3, 0.1, -0.05, 0.0};
	summary = model_errors_of(errors, 4);
	assert_near(summary.median, 0.075, 1e-12);
	assert_near(summary.worst, 0.3, 1e-12);
	assert_true(model_parse_errors("0.10,0.25", &most));
	assert_near(most.median, 0.1, 0);
	assert_near(most.worst, 0.25, 0);
	assert_false(model_parse_errors("0.10", &most));
	assert_false(model_parse_errors("0.1,x", &most));
}

/* ---- files -------------------------------------------------------------------------------- */

/* A file or host whose name is no UTF-8 made records that no parser reads. */
static void names_of_any_bytes_make_valid_json(void **state)
{
	(void)state;
	static const char name[] = "caf\xe9 \"\\\n\x7f\xc2\x9b \xe2\x82\xac \xed\xa0\x80\xc3";
	static const char shown[] = "caf\xef\xbf\xbd \"\\\n\x7f\xc2\x9b \xe2\x82\xac "
				    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd";
	static const char harmless[] =
		"caf\xef\xbf\xbd \"\\\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xe2\x82\xac "
		"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd";
	char *text = NULL, copy[sizeof(harmless)], cut[8];
	size_t bytes;
	struct json json = {.out = open_memstream(&text, &bytes)};
	assert_non_null(json.out);
	json_open(&json, NULL, '{');
	json_put_string(&json, name, name);
	json_close(&json, '}');
	assert_int_equal(fclose(json.out), 0);
	json_t *read = json_loads(text, 0, NULL);
	assert_non_null(read);
	assert_string_equal(json_string_value(json_object_get(read, shown)), shown);
	json_decref(read);
	assert_null(strpbrk(text, "\x7f\x9b\r")); /* no terminal obeys it */
	free(text);
	json_copy_text(copy, sizeof(copy), name);
	assert_string_equal(copy, harmless);
	json_copy_text(cut, sizeof(cut), "12345\xe2\x82\xac");
	assert_string_equal(cut, "12345");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_units),
		cmocka_unit_test(lists_have_ranges),
		cmocka_unit_test(all_reduce_of_a_large_model),
		cmocka_unit_test(calls_are_the_plans),
		cmocka_unit_test(calls_are_the_librarys),
		cmocka_unit_test(algorithms_by_hand),
		cmocka_unit_test(chunks_hide_latency),
		cmocka_unit_test(a_crossover_is_where_times_are_equal),
		cmocka_unit_test(hosts_slow_the_ring_where_it_leaves_them),
		cmocka_unit_test(efficiencies_of_a_large_model),
		cmocka_unit_test(efficiency_collapses_by_latency),
		cmocka_unit_test(causes_are_told_apart),
		cmocka_unit_test(buckets_follow_one_another),
		cmocka_unit_test(shapes_have_known_buckets),
		cmocka_unit_test(links_differ_as_told),
		cmocka_unit_test(jitter_is_drawn_from_its_seed),
		cmocka_unit_test(errors_are_judged),
		cmocka_unit_test(names_of_any_bytes_make_valid_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
