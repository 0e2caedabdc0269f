/* SPDX-License-Identifier: MIT */
/*
 * bfloat16, 2 * HALVES at a time, for CPUs with an instruction that makes NaN canonical; faster
 * with one that rounds. Gives the bits of convert.h. (Sums in L1 of an EPYC, by the words of
 * convert.h -> this way: 119 -> 134 GB/s.)
 */
#ifndef RING_BFLOAT16S_H
#define RING_BFLOAT16S_H

#include "halves.h"

#define RING_HAVE_BFLOAT16S 0

#if defined(__AVX512BW__)
#undef RING_HAVE_BFLOAT16S
#define RING_HAVE_BFLOAT16S 1

/* Every other element. */
RING_ELEMENT ring_floats upper_bfloat16s(__m512i words)
{
	return _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32((int)0xffff0000)));
}

RING_ELEMENT ring_floats lower_bfloat16s(__m512i words)
{
	return _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
}

/* As ring_bfloat16_round(): the upper halves are the bfloat16s. */
RING_ELEMENT __m512i round_bfloat16s(ring_floats x)
{
	__m512i bits = _mm512_castps_si512(ring_floats_one_nan(x));
	__mmask16 odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
	__m512i rounded = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
	return _mm512_mask_add_epi32(rounded, odd, bits, _mm512_set1_epi32(0x8000));
}

/* Of all elements. */
RING_ELEMENT __m512i round_all_bfloat16s(ring_floats upper, ring_floats lower)
{
	__m512i low = _mm512_srli_epi32(round_bfloat16s(lower), 16);
	return _mm512_mask_blend_epi16(0xaaaaaaaa, low, round_bfloat16s(upper));
}

#if defined(__AVX512BF16__)
/* Arithmetic gives no signalling NaN. */
RING_ELEMENT bool is_special(ring_floats upper, ring_floats lower)
{
	enum { QUIET_NAN = 0x01, SUBNORMAL = 0x20 };
	return !_kortestz_mask16_u8(_mm512_fpclass_ps_mask(upper, QUIET_NAN | SUBNORMAL),
				    _mm512_fpclass_ps_mask(lower, QUIET_NAN | SUBNORMAL));
}

/*
 * The instruction gives all lower elements, then all upper ones; it treats NaN differently, and
 * makes subnormals zero. (Reordered by bytes, as reordering words takes the CPU two steps.)
 */
RING_ELEMENT __m512i narrow_bfloat16s(ring_floats upper, ring_floats lower)
{
	const __m512i in_turn = _mm512_set_epi64(0x3f3e1f1e3d3c1d1c, 0x3b3a1b1a39381918,
						 0x3736171635341514, 0x3332131231301110,
						 0x2f2e0f0e2d2c0d0c, 0x2b2a0b0a29280908,
						 0x2726070625240504, 0x2322030221200100);
	__m512i narrowed = (__m512i)_mm512_cvtne2ps_pbh(upper, lower);
	if (__builtin_expect(is_special(upper, lower), 0))
		return round_all_bfloat16s(upper, lower);
	return _mm512_permutexvar_epi8(in_turn, narrowed);
}
#else
RING_ELEMENT __m512i narrow_bfloat16s(ring_floats upper, ring_floats lower)
{
	return round_all_bfloat16s(upper, lower);
}
#endif

#define RING_BFLOAT16_WORDS(OP, op, ...)                                                           \
	RING_ELEMENT void words_bfloat16_##op(unsigned char *to, const unsigned char *a,           \
					      const unsigned char *b)                              \
	{                                                                                          \
		const __m512i x = _mm512_loadu_si512(a), y = _mm512_loadu_si512(b);                \
		ring_floats upper = ring_floats_##op(upper_bfloat16s(x), upper_bfloat16s(y));      \
		ring_floats lower = ring_floats_##op(lower_bfloat16s(x), lower_bfloat16s(y));      \
		_mm512_storeu_si512(to, narrow_bfloat16s(upper, lower));                           \
	}
RING_REDUCE_OPS(RING_BFLOAT16_WORDS, )

/*
 * ---- sums, where the CPU compares float16 ------------------------------------------------------
 */

#if defined(__AVX512FP16__)
/*
 * In vectors of 32 bytes, checking a block's operands, not its sums. Read as float16, a bfloat16
 * below 2^-119 is subnormal, and one above 2^121 NaN. An instruction that takes the larger of two
 * such raises a flag, and flags are read once per block. Without such operands no sum is NaN, nor
 * subnormal, as it is a multiple of 2^-126. (64 KiB on 2 ranks of a Xeon, vectors of 64 -> 32
 * bytes: 9.7 -> 8.0 us.)
 */
#define SUMMED_BYTES 32
#define SUMMED_BLOCK 256
enum { FLAGS_OF_SPECIAL = _MM_EXCEPT_INVALID | _MM_EXCEPT_DENORM };

RING_ELEMENT void look_at_larger(__m256i x, __m256i y)
{
	__m256i larger;
	__asm__ volatile("vmaxph %2, %1, %0" : "=v"(larger) : "v"(x), "v"(y));
}

/* As narrow_bfloat16s(), without the check. */
RING_ELEMENT __m256i sum_bfloat16s(__m256i x, __m256i y)
{
	const __m256i above = _mm256_set1_epi32((int)0xffff0000);
	const __m256i in_turn = _mm256_set_epi64x(0x1f1e0f0e1d1c0d0c, 0x1b1a0b0a19180908,
						  0x1716070615140504, 0x1312030211100100);
	__m256 upper = _mm256_add_ps(_mm256_castsi256_ps(_mm256_and_si256(x, above)),
				     _mm256_castsi256_ps(_mm256_and_si256(y, above)));
	__m256 lower = _mm256_add_ps(_mm256_castsi256_ps(_mm256_slli_epi32(x, 16)),
				     _mm256_castsi256_ps(_mm256_slli_epi32(y, 16)));
	return _mm256_permutexvar_epi8(in_turn, (__m256i)_mm256_cvtne2ps_pbh(upper, lower));
}

/* The program's flags are put back at the end of a call (fpenv.h). */
__attribute__((noinline, cold)) static void sum_special_bfloat16s(unsigned char *to,
								  const unsigned char *a,
								  const unsigned char *b)
{
	for (size_t i = 0; i < SUMMED_BLOCK; i += 2 * SUMMED_BYTES)
		words_bfloat16_sum(to + i, a + i, b + i);
	_mm_setcsr(_mm_getcsr() & ~(unsigned)FLAGS_OF_SPECIAL);
}

RING_ELEMENT void block_bfloat16_sum(unsigned char *to, const unsigned char *a,
				     const unsigned char *b)
{
	__m256i sums[SUMMED_BLOCK / SUMMED_BYTES];
	for (size_t i = 0; i < SUMMED_BLOCK / SUMMED_BYTES; i++) {
		__m256i x = _mm256_loadu_si256((const void *)(a + i * SUMMED_BYTES));
		__m256i y = _mm256_loadu_si256((const void *)(b + i * SUMMED_BYTES));
		look_at_larger(x, y);
		sums[i] = sum_bfloat16s(x, y);
	}
	if (__builtin_expect(_mm_getcsr() & FLAGS_OF_SPECIAL, 0)) {
		sum_special_bfloat16s(to, a, b);
		return;
	}
	for (size_t i = 0; i < SUMMED_BLOCK / SUMMED_BYTES; i++)
		_mm256_storeu_si256((void *)(to + i * SUMMED_BYTES), sums[i]);
}
#endif
#endif
#endif
