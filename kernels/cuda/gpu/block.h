/* SPDX-License-Identifier: MIT */
/*
 * What the engine needs of whoever runs it: which thread of a block this is, where the block's
 * threads meet, the words that it shares with other ranks, and the time. Here it is a block of a
 * GPU; tests, which run the same engine as threads of the host, say what theirs is before they
 * include it:
 *
 *	RING_BLOCK_THREAD()    which thread, from 0    RING_BLOCK_MEET()    all have come here, and
 *	RING_BLOCK_MANY()      of how many                                  see what any has written
 *	RING_BLOCK_NS()        a clock                 RING_BLOCK_REST()    between two looks
 *	RING_BLOCK_ANY(is)     they meet; it is so for one of them
 *	RING_BLOCK_FENCE()     what was written before it is seen before what is read behind it
 *
 * A word is read before what its writer wrote before it, and written behind what the whole block
 * wrote before it met last; its partner is a rank on another GPU or on the CPU (slot_fifo.h). A
 * line has its data and its flag in one word, so it is looked at and posted without an order.
 */
#ifndef RING_BLOCK_H
#define RING_BLOCK_H

#include <stdint.h>

#ifdef __CUDACC__

#define RING_BLOCK static __device__ __forceinline__
#ifndef RING_BLOCK_APART /* all kernels call the same */
#define RING_BLOCK_APART static __device__ __noinline__
#endif
#define RING_BLOCK_THREAD() (threadIdx.x)
#define RING_BLOCK_MANY() (blockDim.x)
#define RING_BLOCK_MEET() __syncthreads()
#define RING_BLOCK_ANY(is) __syncthreads_or(is)
#define RING_BLOCK_FENCE() __threadfence_system()
#define RING_BLOCK_REST()

RING_BLOCK uint64_t ring_block_ns()
{
	uint64_t ns;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}
#define RING_BLOCK_NS() ring_block_ns()

RING_BLOCK uint64_t ring_block_see(const uint64_t *word)
{
	uint64_t value;
	asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
	return value;
}

RING_BLOCK void ring_block_tell(uint64_t *word, uint64_t value)
{
	asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

RING_BLOCK uint64_t ring_block_look(const uint64_t *line)
{
	uint64_t value;
	asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(line) : "memory");
	return value;
}

RING_BLOCK void ring_block_post(uint64_t *line, uint64_t value)
{
	asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(line), "l"(value) : "memory");
}

#else

#define RING_BLOCK static inline __attribute__((always_inline))
#define RING_BLOCK_APART static inline

RING_BLOCK uint64_t ring_block_see(const uint64_t *word)
{
	return __atomic_load_n((const uint64_t *)RING_KERNEL_REACH(word, sizeof(*word)),
			       __ATOMIC_ACQUIRE); /* pairs with: put, release, tell */
}

RING_BLOCK void ring_block_tell(uint64_t *word, uint64_t value)
{
	__atomic_store_n((uint64_t *)RING_KERNEL_REACH(word, sizeof(*word)), value,
			 __ATOMIC_RELEASE); /* pairs with: see_message, see_head, see */
}

RING_BLOCK uint64_t ring_block_look(const uint64_t *line)
{
	return __atomic_load_n((const uint64_t *)RING_KERNEL_REACH(line, sizeof(*line)),
			       __ATOMIC_RELAXED);
}

RING_BLOCK void ring_block_post(uint64_t *line, uint64_t value)
{
	__atomic_store_n((uint64_t *)RING_KERNEL_REACH(line, sizeof(*line)), value,
			 __ATOMIC_RELAXED);
}

#endif

#endif
