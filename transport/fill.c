/* SPDX-License-Identifier: MIT */
/* Copies to slots through the cache or past it, as the time of earlier ones suggests. */
#include "fill.h"

#include <string.h>

#include "clock.h"
#include "copy.h"
#include "gate.h"

#define PAST_LEAST_BYTES 4096   /* less stays in a cache anyway                        */
#define TIMED_LEAST_BYTES 16384 /* for less, two looks at the clock (50 ns) would be felt */

/* Bytes a nanosecond: less is slow, and even less was interrupted. */
#define SLOW_BELOW 4.0
#define INTERRUPTED_BELOW 0.5

/*
 * One slow copy may be chance, or the first one to touch a slot. Behind the second, 8 go past the caches before one tries
 * again, and behind each that is still slow twice as many, so that trying costs less and less.
 */
#define SLOW_IN_TURN 2
#define PAST_FIRST 8
#define PAST_MOST 512

#define CLAIMS_PER_COPY 16 /* of so many slots that could be claimed one is copied to */

void ring_fill_note(struct ring_fill *fill, size_t bytes, uint64_t ns)
{
	const double speed = (double)bytes / (double)(ns + 1);
	if (speed < INTERRUPTED_BELOW)
		return;
	fill->slow = speed < SLOW_BELOW ? fill->slow + 1 : 0;
	if (fill->slow < SLOW_IN_TURN)
		return;
	fill->past = PAST_FIRST;
	for (unsigned i = SLOW_IN_TURN; i < fill->slow && fill->past < PAST_MOST; i++)
		fill->past *= 2;
}

bool ring_fill_may_claim(struct ring_fill *fill)
{
	return fill->past == 0 && fill->claims++ % CLAIMS_PER_COPY > 0;
}

#if defined(__SSE2__)
#include <emmintrin.h>

void ring_fill_past(void *slot, const void *source, size_t bytes)
{
	const size_t before = -(uintptr_t)slot % RING_CACHE_LINE;
	if (bytes < before) {
		memcpy(slot, source, bytes);
		return;
	}
	const size_t words = (bytes - before) / RING_CACHE_LINE *
			     (RING_CACHE_LINE / sizeof(__m128i));
	__m128i *to = (__m128i *)((char *)slot + before);
	const __m128i *from = (const __m128i *)((const char *)source + before);
	memcpy(slot, source, before);
	for (size_t i = 0; i < words; i++)
		_mm_stream_si128(to + i, _mm_loadu_si128(from + i));
	memcpy(to + words, from + words, (bytes - before) % RING_CACHE_LINE);
	_mm_sfence(); /* such stores come in any order, and the word that tells of them must be last */
}

#else

void ring_fill_past(void *slot, const void *source, size_t bytes)
{
	memcpy(slot, source, bytes);
}

#endif

void ring_fill_slot(struct ring_fill *fill, void *slot, const void *source, size_t bytes)
{
	if (bytes >= PAST_LEAST_BYTES && fill->past > 0) {
		fill->past--;
		ring_fill_past(slot, source, bytes);
	} else if (bytes >= TIMED_LEAST_BYTES) {
		const uint64_t begin = ring_clock_ns();
		ring_copy(slot, source, bytes);
		ring_fill_note(fill, bytes, ring_clock_ns() - begin);
	} else {
		ring_copy(slot, source, bytes);
	}
}
