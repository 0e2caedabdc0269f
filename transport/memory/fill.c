/* SPDX-License-Identifier: MIT */
/* Copies to slots through the cache or past it, as the time of earlier ones suggests. */
#include "fill.h"

#include <string.h>

#include "base/clock.h"
#include "base/copy.h"
#include "base/slot_place.h"

#define PAST_LEAST_BYTES 4096 /* less stays in a cache anyway */

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
	/* such stores come in any order, and the word that tells of them must be last */
	_mm_sfence();
}

#else

void ring_fill_past(void *slot, const void *source, size_t bytes)
{
	memcpy(slot, source, bytes);
}

#endif

void ring_fill_slot(struct ring_trial *copies, void *slot, const void *source, size_t bytes)
{
	if (bytes >= PAST_LEAST_BYTES && ring_trial_takes_other(copies)) {
		ring_fill_past(slot, source, bytes);
	} else if (bytes >= RING_TRIAL_LEAST_BYTES) {
		const uint64_t begin = ring_clock_ns();
		ring_copy(slot, source, bytes);
		ring_trial_note(copies, bytes, ring_clock_ns() - begin);
	} else {
		ring_copy(slot, source, bytes);
	}
}
