/* SPDX-License-Identifier: MIT */
/* The kernels of a GPU: one for each type and operation, ring_reduce_TYPE_OP, and ring_stop. */
#include "reduce_kernel.h"

#include "base/waits.h"

#define RING_STOP_FUNCTION static __device__
#define RING_STOP_WRITE(word, value) (*(volatile uint32_t *)(word) = (value))
#define RING_STOP_READ(word) (*(const volatile uint32_t *)(word))
#define RING_STOP_PAUSE() __nanosleep(RING_STOP_NAP_NS)
#include "stop_kernel.h"

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

extern "C" __global__ void ring_stop(struct ring_stop_words *words, uint32_t place, uint32_t waits)
{
	ring_stop_at(words, place, waits);
	__threadfence_system();
}
