/* SPDX-License-Identifier: MIT */
/* The kernels of a GPU, one for each type and operation: ring_reduce_TYPE_OP. */
#include "reduce_kernel.h"

#define KERNEL(OP, op, TYPE, type, ...)                                                            \
	extern "C" __global__ void __launch_bounds__(RING_BLOCK_THREADS, 2)              \
		ring_reduce_##type##_##op(const __grid_constant__ struct ring_kernel_job job)      \
	{                                                                                          \
		ring_reduce_##type##_##op##_share(                                                 \
			&job, (uint64_t)blockIdx.x * blockDim.x + threadIdx.x,                     \
			(uint64_t)gridDim.x * blockDim.x);                                         \
	}
#define KERNELS(...) RING_REDUCE_OPS(KERNEL, __VA_ARGS__)
RING_REDUCE_TYPES(KERNELS, )
