/* SPDX-License-Identifier: MIT */
/*
 * The simulator where data moves: results are those of the calls, whatever their parameters; as many
 * bytes are sent as the plan counts, and it takes as long as without data. RING_TEST_LONG: of more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/transport/dice.h"
#include "tools/simulate/simulate.h"

#define RATE 1e9 /* bytes per second */

/* One whose plans have links: the others are not simulated. */
static enum ring_algorithm some_algorithm(uint64_t *dice)
{
	enum ring_algorithm algorithm;
	do
		algorithm = (enum ring_algorithm)dice_below(dice, RING_ALGORITHMS);
	while (ring_algorithm_has(algorithm, RING_NEEDS_STAGES | RING_NEEDS_REACH));
	return algorithm;
}

static struct ring_simulation_params some_params(uint64_t *dice, int *order)
{
	int size = 1 + (int)dice_below(dice, 12);
	for (int i = 0; i < size; i++) {
		int j = (int)dice_below(dice, i + 1);
		order[i] = order[j];
		order[j] = i;
	}
	struct ring_simulation_params params = {
		.kind = (enum ring_kind)dice_below(dice, RING_KIND_ALL_TO_ALL + 1),
		.algorithm = some_algorithm(dice),
		.size = size,
		.order = order,
		.root = (int)dice_below(dice, size),
		.type = RING_INT32,
		.op = RING_SUM,
		.count = dice_below(dice, 300),
		.chunk_bytes = 1 + dice_below(dice, 100),
		.chunks_per_round = 1 + (int)dice_below(dice, 4),
		.channels = 1 + (int)dice_below(dice, 3),
		.depth = 1 + (int)dice_below(dice, RING_DEPTH_MAX),
		.link = {dice_below(dice, 1000), (double)dice_below(dice, 3) * RATE},
		.device = {dice_below(dice, 100), (double)dice_below(dice, 2) * RATE, RATE}};
	if (params.kind == RING_KIND_BARRIER)
		params.count = 0;
	return params;
}

static uint64_t planned_bytes(const struct ring_simulation_params *params, int position)
{
	uint64_t sum = 0;
	for (int channel = 0; channel < params->channels; channel++) {
		struct ring_plan_params of = {
			.kind = params->kind,
			.algorithm = ring_algorithm_for(params->algorithm, params->kind,
							params->size, params->count * 4, false),
			.size = params->size,
			.position = position,
			.order = params->order,
			.root = params->root,
			.count = params->count,
			.element_bytes = 4,
			.chunk_bytes = params->chunk_bytes,
			.chunks_per_round = params->chunks_per_round,
			.channel = channel,
			.channels = params->channels};
		struct ring_plan plan = ring_plan_make(&of);
		sum += ring_plan_cost(&plan).sent_bytes;
	}
	return sum;
}

/* Rank r's element i; sums of integers tell who was added, orders are the plan's test. */
static int32_t element(int rank, uint64_t i)
{
	return (int32_t)((i * 37 + 1) << rank);
}

/* 0 where nothing is written. */
static int32_t wanted(const struct ring_simulation_params *params, int rank, uint64_t i)
{
	uint64_t mine = params->count * (uint64_t)rank;
	switch (params->kind) {
	case RING_KIND_BROADCAST:
		return element(params->root, i);
	case RING_KIND_SCATTER:
		return element(params->root, mine + i);
	case RING_KIND_ALL_TO_ALL:
		return element((int)(i / params->count), mine + i % params->count);
	case RING_KIND_GATHER:
	case RING_KIND_ALL_GATHER:
		if (params->kind == RING_KIND_GATHER && rank != params->root)
			return 0;
		return element((int)(i / params->count), i % params->count);
	default:
		break;
	}
	if (params->kind == RING_KIND_REDUCE && rank != params->root)
		return 0;
	int32_t sum = 0;
	for (int other = 0; other < params->size; other++)
		sum += element(other, params->kind == RING_KIND_REDUCE_SCATTER ? mine + i : i);
	return sum;
}

/* Runs with data and without. Both must take the same time and send the plan's bytes. */
static void run_both(struct ring_simulation_params *params)
{
	struct ring_simulation with, without;
	assert_int_equal(ring_simulate(params, &with), 0);
	struct ring_simulation_params sizes = *params;
	sizes.inputs = NULL;
	sizes.outputs = NULL;
	assert_int_equal(ring_simulate(&sizes, &without), 0);
	assert_int_equal(with.end_ns, without.end_ns);
	for (int i = 0; i < params->size; i++) {
		int rank = params->order[i];
		assert_int_equal(with.finish_ns[rank], without.finish_ns[rank]);
		assert_int_equal(with.sent_bytes[rank], planned_bytes(params, i));
		assert_int_equal(without.sent_bytes[rank], planned_bytes(params, i));
	}
	ring_simulation_free(&with);
	ring_simulation_free(&without);
}

static void data_and_bytes_are_right(void **state)
{
	(void)state;
	const int runs = getenv("RING_TEST_LONG") ? 20000 : 1000;
	uint64_t dice = 1;
	for (int i = 0; i < runs; i++) {
		int order[12];
		int32_t *inputs[12], *outputs[12];
		struct ring_simulation_params params = some_params(&dice, order);
		uint64_t in = params.count *
			      (ring_kind_has_parts_in(params.kind) ? (uint64_t)params.size : 1);
		uint64_t out = params.count *
			       (ring_kind_has_parts_out(params.kind) ? (uint64_t)params.size : 1);
		for (int rank = 0; rank < params.size; rank++) {
			inputs[rank] = malloc((in + 1) * sizeof(int32_t));
			outputs[rank] = calloc(out + 1, sizeof(int32_t));
			for (uint64_t k = 0; k < in; k++)
				inputs[rank][k] = element(rank, k);
		}
		params.inputs = (const void *const *)inputs;
		params.outputs = (void *const *)outputs;
		run_both(&params);
		for (int rank = 0; rank < params.size; rank++) {
			for (uint64_t k = 0; k < out; k++)
				assert_int_equal(outputs[rank][k], wanted(&params, rank, k));
			free(inputs[rank]);
			free(outputs[rank]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_and_bytes_are_right),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
