/* SPDX-License-Identifier: MIT */
/*
 * The engine's kernel, from what the compiler made of it and in memory as weak as PTX allows: ranks
 * that are blocks of one grid reduce around the ring, right in every run, and wrong, or stuck, in
 * every one without its acquires, its releases, or one of its barriers. In one shot, none
 * but the lines themselves are needed. The same source runs as threads of the host in
 * tests/unit/engine_test and one_shot_test.
 *
 *	ring_test [--seed N] [--long]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/gpu/engine_call.h"
#include "runs.h"
#include "tests/harness.h"
#include "transport/slot_fifo.h"
#include "weaken.h"

#define RANKS 3
#define THREADS 32
#define DEPTH 2
#define SLOT_BYTES 128
#define SLOTS_BYTES (sizeof(struct ring_fifo) + DEPTH * SLOT_BYTES)
#define COUNT 250
#define PATIENCE 3000 /* looks, each after a thousand turns */

static _Alignas(64) struct memory {
	_Alignas(64) unsigned char fifos[RANKS][SLOTS_BYTES]; /* to a rank */
	int32_t inputs[RANKS][COUNT], outputs[RANKS][COUNT];
	struct ring_engine_call calls[RANKS];
	struct ring_engine_channel channels[RANKS];
	struct ring_engine_report reports[RANKS];
	struct ring_engine_shots shots[RANKS];
	unsigned char inboxes[RANKS][RANKS][2 * RING_SHOT_BUFFER]; /* of a rank, from another */
} memory;

static const int order[RANKS] = {0, 2, 1};

static bool find(void *context, uint64_t address, struct ptx_range *range)
{
	(void)context;
	*range = (struct ptx_range){(uintptr_t)&memory, sizeof(memory), (char *)&memory, NULL, NULL};
	return address - range->address < range->bytes;
}

static bool is_over(void *context)
{
	return ++*(unsigned *)context > PATIENCE;
}

static struct ring_fifo *fifo_to(int rank)
{
	return (struct ring_fifo *)memory.fifos[rank];
}

static struct ring_engine_link link_to(int rank)
{
	struct ring_fifo *fifo = fifo_to(rank);
	return (struct ring_engine_link){.flags = (unsigned char *)fifo->flags,
					 .slots = fifo->slots,
					 .head = (uint64_t *)&fifo->head,
					 .depth = DEPTH,
					 .slot_bytes = SLOT_BYTES};
}

static void prepare(int position, uint64_t *seed)
{
	const int rank = order[position], next = order[(position + 1) % RANKS];
	struct ring_engine_call *call = &memory.calls[rank];
	memory.channels[rank] = (struct ring_engine_channel){link_to(next), link_to(rank), 0, 0};
	*call = (struct ring_engine_call){
		.params = {.kind = RING_KIND_ALL_REDUCE,
			   .algorithm = RING_ALGORITHM_RING,
			   .size = RANKS,
			   .position = position,
			   .count = COUNT,
			   .element_bytes = sizeof(int32_t),
			   .chunk_bytes = SLOT_BYTES,
			   .chunks_per_round = DEPTH - 1,
			   .channels = 1},
		.record = ring_record_make(RING_KIND_ALL_REDUCE, 0, COUNT, RING_INT32, RING_SUM, -1),
		.input = (const unsigned char *)memory.inputs[rank],
		.output = (unsigned char *)memory.outputs[rank],
		.timeout_ns = UINT64_MAX,
		.number = 1,
		.channels = &memory.channels[rank],
		.shots = &memory.shots[rank],
		.report = &memory.reports[rank],
	};
	memcpy(call->order, order, sizeof(order));
	for (int peer = 0; peer < RANKS; peer++) {
		memory.shots[rank].to[peer] = memory.inboxes[peer][rank];
		memory.shots[rank].from[peer] = memory.inboxes[rank][peer];
	}
	memory.shots[rank].calls[0] = 1; /* the first of all writes all lines */
	for (int i = 0; i < COUNT; i++)
		memory.inputs[rank][i] = (int32_t)harness_random(seed) / RANKS;
}

/* returns whether it went wrong */
static bool run(const struct ptx_function *function, uint64_t seed)
{
	unsigned looks = 0;
	struct ptx_error error;
	const struct ring_engine_call *calls = memory.calls;
	const struct ptx_host host = {.find = find, .is_over = is_over, .context = &looks};
	const struct ptx_launch launch = {.function = function,
					  .blocks = RANKS,
					  .threads = THREADS,
					  .parameters = &calls,
					  .seed = seed,
					  .host = &host};
	memset(&memory, 0, sizeof(memory));
	for (int position = 0; position < RANKS; position++)
		prepare(position, &seed);
	if (ptx_run(&launch, &error)) {
		if (getenv("RING_TEST_VERBOSE"))
			printf("# %s\n", error.text);
		return true;
	}
	for (int rank = 0; rank < RANKS; rank++)
		for (int i = 0; i < COUNT; i++)
			if (memory.outputs[rank][i] !=
			    memory.inputs[0][i] + memory.inputs[1][i] + memory.inputs[2][i])
				return true;
	return false;
}

int main(int argc, char **argv)
{
	static const char *const orders[] = {"ld.acquire", "st.release"};
	const int count = harness_is_long(argc, argv) ? 400 : harness_is_quick() ? 10 : 40;
	struct runs runs = {.run = run, .seed = harness_seed(argc, argv)};
	if (!runs_read(&runs, "tests/cuda/ptx/engine.ptx"))
		return 77;
	bool good = runs_are_right(&runs, "ranks", count);
	good &= runs_are_right(&runs, "ranks_in_one_shot", count);
	for (int k = 0; k < 2; k++)
		good &= runs_are_wrong(&runs, "ranks", orders[k], 0,
				       ptx_weaken_count(runs.text, runs.bytes, "ranks", orders[k]));
	const size_t barriers = ptx_weaken_count(runs.text, runs.bytes, "ranks", "bar.sync");
	for (size_t k = 0; k < barriers; k++)
		good &= runs_are_wrong(&runs, "ranks", "bar.sync", k, 1);
	free(runs.text);
	printf("--seed %ju\n", (uintmax_t)runs.seed);
	return !good;
}
