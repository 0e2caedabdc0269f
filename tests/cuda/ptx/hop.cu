/* SPDX-License-Identifier: MIT */
/*
 * Messages that blocks hand on through one slot, as ranks do through theirs: hop_test runs what the
 * compiler makes of them, whole and with one acquire, release, fence or barrier less.
 */
#include <stdint.h>

struct hop {
	const uint4 *from; /* all messages, one behind the other */
	uint4 *slot, *to;
	uint64_t *sent, *taken; /* messages */
	uint64_t messages;
	uint32_t words; /* of 16 bytes, of each */
};

/* Names what comes next for hop_test, which takes it away. */
#define NEXT(what) asm volatile("/* " what " */" ::: "memory")
#define LOOK(what, word, is)                                                                       \
	asm volatile("/* " what " */ ld.acquire.sys.global.u64 %0, [%1];"                          \
		     : "=l"(is)                                                                    \
		     : "l"(word)                                                                   \
		     : "memory")
#define POST(what, word, value)                                                                    \
	asm volatile("/* " what " */ st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value)  \
		     : "memory")

static __device__ void copy(uint4 *to, const uint4 *from, uint32_t words)
{
	for (uint32_t i = threadIdx.x; i < words; i += blockDim.x)
		to[i] = from[i];
}

/* One thread speaks for its block: barriers order what the others do. */
static __device__ void send(const struct hop *hop, uint64_t message)
{
	if (threadIdx.x == 0) {
		uint64_t taken;
		do
			LOOK("the sender's acquire", hop->taken, taken);
		while (taken < message);
	}
	NEXT("the barrier before the slot is written");
	__syncthreads();
	copy(hop->slot, hop->from + message * hop->words, hop->words);
	NEXT("the barrier before it is sent");
	__syncthreads();
	if (threadIdx.x == 0)
		POST("the sender's release", hop->sent, message + 1);
}

static __device__ void take(const struct hop *hop, uint64_t message)
{
	if (threadIdx.x == 0) {
		uint64_t sent;
		do
			LOOK("the taker's acquire", hop->sent, sent);
		while (sent < message + 1);
	}
	NEXT("the barrier before the slot is read");
	__syncthreads();
	copy(hop->to + message * hop->words, hop->slot, hop->words);
	NEXT("the barrier before it is free");
	__syncthreads();
	if (threadIdx.x == 0)
		POST("the taker's release", hop->taken, message + 1);
}

extern "C" __global__ void hop(const __grid_constant__ struct hop hop)
{
	for (uint64_t message = 0; message < hop.messages; message++) {
		if (blockIdx.x == 0)
			send(&hop, message);
		else
			take(&hop, message);
	}
}

/* Volatile words order nothing: fences do. */
extern "C" __global__ void fenced(const __grid_constant__ struct hop hop)
{
	for (uint64_t message = 0; message < hop.messages; message++) {
		volatile uint64_t *awaited = blockIdx.x == 0 ? hop.taken : hop.sent;
		volatile uint64_t *told = blockIdx.x == 0 ? hop.sent : hop.taken;
		uint4 *const place = hop.to + message * hop.words;
		if (threadIdx.x == 0) {
			while (*awaited < message + blockIdx.x)
				__nanosleep(20);
			NEXT("the fence behind a look");
			__threadfence_system();
		}
		NEXT("the barrier behind a look");
		__syncthreads();
		copy(blockIdx.x == 0 ? hop.slot : place,
		     blockIdx.x == 0 ? hop.from + message * hop.words : hop.slot, hop.words);
		NEXT("the barrier before a word");
		__syncthreads();
		if (threadIdx.x == 0) {
			NEXT("the fence before a word");
			__threadfence_system();
			*told = message + 1;
		}
	}
}
