/* SPDX-License-Identifier: MIT */
/* The trainer's kernels of a GPU, train_NAME of each in jobs.h. */
#define TRAIN_KERNEL static __device__ __forceinline__
#define TRAIN_AT(pointer, count) ((void)(count), (pointer))
#define TRAIN_FUSED(a, b, sum) fmaf(a, b, sum)
#define TRAIN_RANDOM static __device__ __forceinline__
#include "kernels.h"

#define KERNEL(name)                                                                               \
	extern "C" __global__ void train_##name##_kernel(                                          \
		const __grid_constant__ struct train_##name##_job job, uint64_t items)             \
	{                                                                                          \
		uint64_t item = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;                   \
		if (item < items)                                                                  \
			train_##name(&job, item);                                                  \
	}
TRAIN_KERNELS(KERNEL)
