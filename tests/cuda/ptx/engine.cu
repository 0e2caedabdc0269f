/* SPDX-License-Identifier: MIT */
/*
 * The engine, each kernel in one function: for ring_test, with each rank a block of one grid; and as
 * a call is launched, for calls_test.
 */
#define RING_BLOCK_APART static __device__ __forceinline__
#include "kernels/cuda/gpu/engine.h"
#include "kernels/cuda/gpu/one_shot.h"

extern "C" __global__ void __launch_bounds__(RING_ENGINE_THREADS, 1)
	ranks(const struct ring_engine_call *calls)
{
	__shared__ struct ring_engine_block block;
	ring_engine_run(&calls[blockIdx.x], &block, 0, ring_reduce_int32_sum_share);
}

extern "C" __global__ void __launch_bounds__(RING_ENGINE_THREADS, 1)
	ranks_in_one_shot(const struct ring_engine_call *calls)
{
	__shared__ struct ring_shot_block block;
	const struct ring_word_kernel kernel = {1,
						ring_unpack_int32,
						ring_scale_int32,
						ring_fold_int32_sum,
						ring_divide_int32,
						ring_pack_int32};
	ring_shot_run(&calls[blockIdx.x], &block, 0, kernel);
}

extern "C" __global__ void __launch_bounds__(RING_ENGINE_THREADS, 1)
	call(const __grid_constant__ struct ring_engine_call call)
{
	__shared__ struct ring_engine_block block;
	ring_engine_run(&call, &block, (int)blockIdx.x, ring_reduce_int32_sum_share);
}
