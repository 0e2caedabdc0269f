/* SPDX-License-Identifier: MIT */
/*
 * The kernels that there are: the library's, compiled from the same source as for a GPU, and those
 * that only the tests of the driver use.
 */
#include "kernel.h"

#include <string.h>

#define RING_KERNEL_REACH(address, bytes) fake_reach(address, bytes)
#include "kernels/cuda/reduce_kernel.h"

#define RING_STOP_FUNCTION static
#define RING_STOP_WRITE(word, value)                                                               \
	__atomic_store_n((uint32_t *)fake_reach(word, sizeof(uint32_t)), value, __ATOMIC_RELEASE)
#define RING_STOP_READ(word)                                                                       \
	__atomic_load_n((uint32_t *)fake_reach(word, sizeof(uint32_t)), __ATOMIC_ACQUIRE)
#define RING_STOP_PAUSE() fake_pause()
#include "kernels/cuda/stop_kernel.h"

/* ring_reduce_TYPE_OP(struct ring_kernel_job job) */
#define REDUCE(OP, op, TYPE, type, ...)                                                            \
	static void reduce_##type##_##op(void **parameters)                                        \
	{                                                                                          \
		const struct fake_place_in_grid *at = fake_place_in_grid();                        \
		ring_reduce_##type##_##op##_share(parameters[0],                                   \
						  (uint64_t)at->block * at->threads + at->thread,  \
						  (uint64_t)at->blocks * at->threads);             \
	}
#define REDUCE_OPS(...) RING_REDUCE_OPS(REDUCE, __VA_ARGS__)
RING_REDUCE_TYPES(REDUCE_OPS, )

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
	*(uint32_t *)fake_reach(*word, sizeof(**word)) = *value;
}

/* trap_store_wide(void *sixteen_bytes, uint32_t value) */
static void store_wide(void **parameters)
{
	void **memory = parameters[0];
	uint32_t *value = parameters[1];
	uint32_t words[4] = {*value, *value, *value, *value};
	memcpy(fake_reach(*memory, sizeof(words)), words, sizeof(words));
}

#define REDUCE_ROW(OP, op, TYPE, type, ...)                                                        \
	{"ring_reduce_" #type "_" #op, reduce_##type##_##op, {sizeof(struct ring_kernel_job)}},
#define REDUCE_ROWS(...) RING_REDUCE_OPS(REDUCE_ROW, __VA_ARGS__)

const struct fake_kernel fake_kernels[] = {
	RING_REDUCE_TYPES(REDUCE_ROWS, ) /* the library's */
	{"ring_stop", stop, {sizeof(void *), sizeof(uint32_t), sizeof(uint32_t)}},
	{"trap_store", store, {sizeof(void *), sizeof(uint32_t)}},
	{"trap_store_wide", store_wide, {sizeof(void *), sizeof(uint32_t)}},
	{NULL, NULL, {0}},
};
