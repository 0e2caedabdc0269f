/* SPDX-License-Identifier: MIT */
/*
 * The kernels that there are: the library's, compiled from the same source as for a GPU, and those
 * that only the tests of the driver use.
 */
#include "kernel.h"

#include <stdint.h>
#include <string.h>
#include <time.h>

static uint64_t fake_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* What is read is constant, and nothing else is. */
#define RING_KERNEL_REACH(address, bytes)                                                          \
	_Generic((address), unsigned char * : fake_reach_to, uint64_t * : fake_reach_to,           \
		 void * : fake_reach_to, default : fake_reach)(address, bytes)
#include "kernels/cuda/gpu/reduce_kernel.h"

#define RING_STOP_FUNCTION static
#define RING_STOP_WRITE(word, value)                                                               \
	__atomic_store_n((uint32_t *)fake_reach_to(word, sizeof(uint32_t)), value, __ATOMIC_RELEASE)
#define RING_STOP_READ(word)                                                                       \
	__atomic_load_n((uint32_t *)fake_reach(word, sizeof(uint32_t)), __ATOMIC_ACQUIRE)
#define RING_STOP_PAUSE() fake_pause()
#include "kernels/cuda/gpu/stop_kernel.h"

/* ring_reduce_TYPE_OP(struct ring_kernel_job job) */
#define REDUCE(OP, op, TYPE, type, ...)                                                            \
	static void reduce_##type##_##op(void **parameters)                                        \
	{                                                                                          \
		const struct fake_place_in_grid *at = fake_place_in_grid();                        \
		ring_reduce_##type##_##op##_share(parameters[0],                                   \
						  (uint64_t)at->block * at->threads + at->thread,  \
						  (uint64_t)at->blocks * at->threads);             \
	}
RING_REDUCE_PAIRS(REDUCE)

/* The first thread of a block does what all of it should. */
#define RING_BLOCK_THREAD() 0u
#define RING_BLOCK_MANY() 1u
#define RING_BLOCK_MEET()
#define RING_BLOCK_ANY(is) (is)
#define RING_BLOCK_FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define RING_BLOCK_REST() fake_pause()
#define RING_BLOCK_NS() fake_ns()
#include "kernels/cuda/gpu/engine.h"
#include "kernels/cuda/gpu/one_shot.h"

/* ring_one_shot_TYPE_OP(struct ring_engine_call call) */
#define ONE_SHOT(OP, op, TYPE, type, ...)                                                          \
	static void one_shot_##type##_##op(void **parameters)                                      \
	{                                                                                          \
		const struct fake_place_in_grid *at = fake_place_in_grid();                        \
		const struct ring_word_kernel kernel = {1,                                         \
							ring_unpack_##type,                        \
							ring_scale_##type,                         \
							ring_fold_##type##_##op,                   \
							ring_divide_##type,                        \
							ring_pack_##type};                         \
		struct ring_shot_block block;                                                      \
		if (at->thread == 0)                                                               \
			ring_shot_run(parameters[0], &block, (int)at->block, kernel);              \
	}
RING_REDUCE_PAIRS(ONE_SHOT)

/* ring_around_TYPE_OP(struct ring_engine_call call) */
#define AROUND(OP, op, TYPE, type, ...)                                                            \
	static void around_##type##_##op(void **parameters)                                        \
	{                                                                                          \
		const struct fake_place_in_grid *at = fake_place_in_grid();                        \
		struct ring_engine_block block;                                                    \
		if (at->thread == 0)                                                               \
			ring_engine_run(parameters[0], &block, (int)at->block,                     \
					ring_reduce_##type##_##op##_share);                        \
	}
RING_REDUCE_PAIRS(AROUND)

/* ring_stop(struct ring_stop_words *words, uint32_t place, uint32_t waits) */
static void stop(void **parameters)
{
	struct ring_stop_words **words = parameters[0];
	ring_stop_at(*words, *(uint32_t *)parameters[1], *(uint32_t *)parameters[2]);
}

/* trap_store(uint32_t *word, uint32_t value) */
static void store(void **parameters)
{
	uint32_t **word = parameters[0], *value = parameters[1];
	*(uint32_t *)fake_reach_to(*word, sizeof(**word)) = *value;
}

/* trap_store_wide(void *sixteen_bytes, uint32_t value) */
static void store_wide(void **parameters)
{
	void **memory = parameters[0];
	uint32_t *value = parameters[1];
	uint32_t words[4] = {*value, *value, *value, *value};
	memcpy(fake_reach_to(*memory, sizeof(words)), words, sizeof(words));
}

#define REDUCE_ROW(OP, op, TYPE, type, ...)                                                        \
	{"ring_reduce_" #type "_" #op,                                                             \
	 reduce_##type##_##op,                                                                     \
	 {sizeof(struct ring_kernel_job)},                                                         \
	 false},

#define ONE_SHOT_ROW(OP, op, TYPE, type, ...)                                                      \
	{"ring_one_shot_" #type "_" #op,                                                           \
	 one_shot_##type##_##op,                                                                   \
	 {sizeof(struct ring_engine_call)},                                                        \
	 true},

#define AROUND_ROW(OP, op, TYPE, type, ...)                                                        \
	{"ring_around_" #type "_" #op,                                                             \
	 around_##type##_##op,                                                                     \
	 {sizeof(struct ring_engine_call)},                                                        \
	 true},

const struct fake_kernel fake_kernels[] = {
	RING_REDUCE_PAIRS(REDUCE_ROW)   /* the library's */
	RING_REDUCE_PAIRS(ONE_SHOT_ROW) /* the same */
	RING_REDUCE_PAIRS(AROUND_ROW)   /* the same */
	{"ring_stop", stop, {sizeof(void *), sizeof(uint32_t), sizeof(uint32_t)}, true},
	{"trap_store", store, {sizeof(void *), sizeof(uint32_t)}, false},
	{"trap_store_wide", store_wide, {sizeof(void *), sizeof(uint32_t)}, false},
	{NULL, NULL, {0}, false},
};
