/* SPDX-License-Identifier: MIT */
/*
 * Storing past the caches: a store to memory that is not in a cache reads it first, which is wasted
 * where all of it is written and nobody will find it in the cache anyway. Whole lines at a time, with
 * the widest stores of the family that includes this.
 */
#ifndef RING_STREAM_H
#define RING_STREAM_H

#include <stddef.h>

#define RING_STREAM_LINE 64

#if defined(__SSE2__)
#include <immintrin.h>
#define RING_CAN_STREAM 1

#if defined(__AVX512F__)
#define RING_STREAM_WORD __m512i
#define RING_STREAM_STORE _mm512_stream_si512
#elif defined(__AVX2__)
#define RING_STREAM_WORD __m256i
#define RING_STREAM_STORE _mm256_stream_si256
#else
#define RING_STREAM_WORD __m128i
#define RING_STREAM_STORE _mm_stream_si128
#endif

/* dst and src begin on lines, bytes is a multiple of one. */
static inline void ring_stream(void *dst, const void *src, size_t bytes)
{
	RING_STREAM_WORD *to = dst;
	const RING_STREAM_WORD *from = src;
	for (size_t i = 0; i < bytes / sizeof(*to); i++)
		RING_STREAM_STORE(to + i, from[i]);
}

/* Before anybody is told that the memory was written. */
static inline void ring_stream_end(void)
{
	_mm_sfence();
}

#endif
#endif
