/* SPDX-License-Identifier: MIT */
/*
 * The kernels of a GPU: three for each pair of reduce_list.h, ring_reduce_TYPE_OP, which does a job,
 * and ring_one_shot_TYPE_OP and ring_around_TYPE_OP, which are calls; and ring_stop.
 */
#include "reduce_kernel.h"
#include "engine.h"
#include "one_shot.h"

#include "base/waits.h"

#define RING_STOP_FUNCTION static __device__
#define RING_STOP_WRITE(word, value) (*(volatile uint32_t *)(word) = (value))
#define RING_STOP_READ(word) (*(const volatile uint32_t *)(word))
#define RING_STOP_PAUSE() __nanosleep(RING_STOP_NAP_NS)
#include "stop_kernel.h"

#define KERNEL(OP, op, TYPE, type, ...)                                                            \
	extern "C" __global__ void __launch_bounds__(RING_BLOCK_THREADS, 2)                        \
		ring_reduce_##type##_##op(const __grid_constant__ struct ring_kernel_job job)      \
	{                                                                                          \
		ring_reduce_##type##_##op##_share(&job,                                            \
						  (uint64_t)blockIdx.x *blockDim.x + threadIdx.x,  \
						  (uint64_t)gridDim.x * blockDim.x);               \
	}
RING_REDUCE_PAIRS(KERNEL)

#define ONE_SHOT(OP, op, TYPE, type, ...)                                                          \
	extern "C" __global__ void __launch_bounds__(RING_SHOT_THREADS, 1)                         \
		ring_one_shot_##type##_##op(const __grid_constant__ struct ring_engine_call call)  \
	{                                                                                          \
		__shared__ struct ring_shot_block block;                                           \
		const struct ring_word_kernel kernel = {                                           \
			1,                       ring_unpack_##type, ring_scale_##type,            \
			ring_fold_##type##_##op, ring_divide_##type, ring_pack_##type};            \
		ring_shot_run(&call, &block, (int)blockIdx.x, kernel);                             \
	}
RING_REDUCE_PAIRS(ONE_SHOT)

#define AROUND(OP, op, TYPE, type, ...)                                                            \
	extern "C" __global__ void __launch_bounds__(RING_ENGINE_THREADS, 1)                       \
		ring_around_##type##_##op(const __grid_constant__ struct ring_engine_call call)    \
	{                                                                                          \
		__shared__ struct ring_engine_block block;                                         \
		ring_engine_run(&call, &block, (int)blockIdx.x,                                    \
				ring_reduce_##type##_##op##_share);                                \
	}
RING_REDUCE_PAIRS(AROUND)

extern "C" __global__ void ring_stop(struct ring_stop_words *words, uint32_t place, uint32_t waits)
{
	ring_stop_at(words, place, waits);
	__threadfence_system();
}
