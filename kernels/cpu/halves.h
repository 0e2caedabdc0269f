/* SPDX-License-Identifier: MIT */
/*
 * float16 on CPUs that know it: converts many at once, float8 by way of it, and, with arithmetic on
 * it, reduces elements without float32. Gives the bits of convert.h.
 *
 * For each family: RING_HAVE_HALVES is 1 if it converts, RING_HAVE_HALF_PAIRS is 1 if it computes.
 */
#ifndef RING_HALVES_H
#define RING_HALVES_H

#include <math.h>
#include <stddef.h>

#include "kernels/convert.h"
#include "cpu.h"

#define RING_HAVE_HALVES 0
#define RING_HAVE_HALF_PAIRS 0

/* ---- what each instruction set calls it ------------------------------------------------------ */

/* HALVES at a time; the rounding is to nearest, whatever the environment says. */
#if defined(__AVX512F__)
#include <immintrin.h>
#undef RING_HAVE_HALVES
#define RING_HAVE_HALVES 1
#define HALVES 16
typedef __m512 ring_floats;

RING_ELEMENT ring_floats widen_halves(const unsigned char *from)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)from));
}

RING_ELEMENT void narrow_halves(unsigned char *to, ring_floats x)
{
	_mm256_storeu_si256((void *)to, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

/* Not worth a check. */
RING_ELEMENT int ring_floats_may_be_nan(ring_floats x, ring_floats y)
{
	(void)x;
	(void)y;
	return 1;
}

/*
 * As below, in one instruction: for NaN, the last two of eight classes, it gives the first operand,
 * else the second.
 */
#define RING_HAVE_ONE_NAN 1
RING_ELEMENT ring_floats ring_floats_one_nan(ring_floats x)
{
	const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(RING_FLOAT32_NAN));
	return _mm512_fixupimm_ps(nan, x, _mm512_set1_epi32(0x11111100), 0);
}

#elif defined(__F16C__)
#include <immintrin.h>
#undef RING_HAVE_HALVES
#define RING_HAVE_HALVES 1
#define HALVES 8
typedef __m256 ring_floats;

RING_ELEMENT ring_floats widen_halves(const unsigned char *from)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const void *)from));
}

RING_ELEMENT void narrow_halves(unsigned char *to, ring_floats x)
{
	_mm_storeu_si128((void *)to, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

/* 0 if no element of either is NaN. */
RING_ELEMENT int ring_floats_may_be_nan(ring_floats x, ring_floats y)
{
	return _mm256_movemask_ps(_mm256_cmp_ps(x, y, _CMP_UNORD_Q));
}

#elif defined(__aarch64__) && defined(RING_NEON)
#include <arm_neon.h>
#undef RING_HAVE_HALVES
#define RING_HAVE_HALVES 1
#define HALVES 4
typedef float32x4_t ring_floats;

RING_ELEMENT ring_floats widen_halves(const unsigned char *from)
{
	return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16((const void *)from)));
}

RING_ELEMENT void narrow_halves(unsigned char *to, ring_floats x)
{
	vst1_u16((void *)to, vreinterpret_u16_f16(vcvt_f16_f32(x)));
}

RING_ELEMENT int ring_floats_may_be_nan(ring_floats x, ring_floats y)
{
	uint32x4_t have_none = vandq_u32(vceqq_f32(x, x), vceqq_f32(y, y));
	return vminvq_u32(have_none) == 0;
}
#endif

#if defined(__AVX512FP16__)
#undef RING_HAVE_HALF_PAIRS
#define RING_HAVE_HALF_PAIRS 1
#endif

#if RING_HAVE_HALVES

/*
 * ---- vectors of float32: what arithmetic.h does to one -----------------------------------------
 */

/* -1: true, 0: false */
typedef int32_t ring_masks __attribute__((vector_size(sizeof(ring_floats))));

RING_ELEMENT ring_floats ring_floats_pick(ring_masks mask, ring_floats a, ring_floats b)
{
	return (ring_floats)(((ring_masks)a & mask) | ((ring_masks)b & ~mask));
}

/* Instructions keep the payload of a NaN, so the canonical one stays canonical. */
RING_ELEMENT ring_floats ring_floats_canonical(ring_masks is_nan, ring_floats x)
{
	const ring_masks nan = (ring_masks){0} + (int32_t)RING_FLOAT32_NAN;
	return ring_floats_pick(is_nan, (ring_floats)nan, x);
}

#ifndef RING_HAVE_ONE_NAN
RING_ELEMENT ring_floats ring_floats_one_nan(ring_floats x)
{
	return ring_floats_canonical(x != x, x);
}
#endif

#if defined(__FMA__) && !defined(__AVX512F__) /* others were not measured */
/*
 * By the multiplying unit, as the adding one also converts (Zen 4: 70 -> 86 GB/s). A compiler that
 * saw the factor would add.
 */
RING_ELEMENT ring_floats ring_floats_sum(ring_floats a, ring_floats b)
{
	ring_floats one = (ring_floats){0} + 1;
	__asm__("" : "+x"(one));
	return _mm256_fmadd_ps(a, one, b);
}
#else
RING_ELEMENT ring_floats ring_floats_sum(ring_floats a, ring_floats b)
{
	return a + b;
}
#endif

RING_ELEMENT ring_floats ring_floats_prod(ring_floats a, ring_floats b)
{
	return a * b;
}

RING_ELEMENT ring_floats ring_floats_max(ring_floats a, ring_floats b)
{
	ring_masks bits = (ring_masks)ring_floats_pick(a > b, a, b) &
			  (ring_masks)ring_floats_pick(b > a, b, a);
	return ring_floats_canonical((a != a) | (b != b), (ring_floats)bits);
}

RING_ELEMENT ring_floats ring_floats_min(ring_floats a, ring_floats b)
{
	ring_masks bits = (ring_masks)ring_floats_pick(a < b, a, b) |
			  (ring_masks)ring_floats_pick(b < a, b, a);
	return ring_floats_canonical((a != a) | (b != b), (ring_floats)bits);
}

/* ---- float16 --------------------------------------------------------------------------------- */

static inline void ring_load_float16s(float *restrict to, const unsigned char *restrict from,
				      size_t count)
{
	size_t i = 0;
	for (; i + HALVES <= count; i += HALVES) {
		ring_floats x = widen_halves(from + 2 * i);
		memcpy(to + i, &x, sizeof(x));
	}
	for (; i < count; i++)
		to[i] = ring_float16_load(from + 2 * i);
}

static inline void ring_store_float16s(unsigned char *restrict to, const float *restrict from,
				       size_t count)
{
	size_t i = 0;
	for (; i + HALVES <= count; i += HALVES) {
		ring_floats x;
		memcpy(&x, from + i, sizeof(x));
		narrow_halves(to + 2 * i, ring_floats_one_nan(x));
	}
	for (; i < count; i++)
		ring_float16_store(to + 2 * i, from[i]);
}

#if !RING_HAVE_HALF_PAIRS
/*
 * NaN is rare, so where it takes more than one instruction, one check serves two vectors. (Sums in
 * L1, AVX2: 67 -> 82 GB/s.)
 */
RING_ELEMENT void narrow_two(unsigned char *to, ring_floats x, ring_floats y)
{
	if (__builtin_expect(ring_floats_may_be_nan(x, y), 0)) {
		x = ring_floats_one_nan(x);
		y = ring_floats_one_nan(y);
	}
	narrow_halves(to, x);
	narrow_halves(to + 2 * HALVES, y);
}

#define RING_FLOAT16_WORDS(OP, op, ...)                                                            \
	RING_ELEMENT void words_float16_##op(unsigned char *to, const unsigned char *a,            \
					     const unsigned char *b)                               \
	{                                                                                          \
		const unsigned char *c = a + 2 * HALVES, *d = b + 2 * HALVES;                      \
		ring_floats x = ring_floats_##op(widen_halves(a), widen_halves(b));                \
		ring_floats y = ring_floats_##op(widen_halves(c), widen_halves(d));                \
		narrow_two(to, x, y);                                                              \
	}
RING_REDUCE_OPS(RING_FLOAT16_WORDS, )
#endif

/*
 * ---- float8: the upper part of a float16 ------------------------------------------------------
 */

/*
 * A float8_e5m2 is the upper byte of a float16. So is a float8_e4m3, with one more bit in the
 * exponent and the number times 2^-8, as the biases differ by 8; but its NaN would be 480.
 */
static inline void ring_load_float8s(struct ring_format format, float *restrict to,
				     const unsigned char *restrict from, size_t count)
{
	const int shift = 10 - format.fraction_bits;
	const float scale = ring_power(15 - format.bias);
	uint16_t halves[RING_TILE];
	if (count == 0)
		return; /* else compilers warn of halves without values */
	for (size_t i = 0; i < count; i++)
		halves[i] = (uint16_t)((from[i] & 0x80) << 8 | (from[i] & 0x7f) << shift);
	ring_load_float16s(to, (const void *)halves, count);
	if (format.bias == 15)
		return;
	for (size_t i = 0; i < count; i++) {
		float x = to[i] * scale;
		to[i] = fabsf(x) == 480 ? ring_float32_from_bits(RING_FLOAT32_NAN) : x;
	}
}

/*
 * Rounds a magnitude: adds a power of two whose last bit is worth the last bit that the format
 * keeps, and subtracts it again.
 */
RING_ELEMENT float ring_round_magnitude(struct ring_format format, float x, float largest)
{
	const int shift = 23 - format.fraction_bits;
	uint32_t least = ring_float32_bits(ring_power(1 - format.bias));
	uint32_t most = ring_float32_bits(largest);
	uint32_t magnitude = ring_float32_bits(x) & 0x7fffffff;
	uint32_t bounded = magnitude < most ? magnitude : most;
	uint32_t binade = (bounded & 0x7f800000) < least ? least : bounded & 0x7f800000;
	float steps = ring_float32_from_bits((binade | 0x400000) + ((uint32_t)shift << 23));
	return ring_float32_from_bits(bounded) + steps - steps;
}

static inline void ring_store_float8s(struct ring_format format, float largest,
				      unsigned char *restrict to, const float *restrict from,
				      size_t count)
{
	const int shift = 10 - format.fraction_bits;
	const float scale = ring_power(format.bias - 15);
	float rounded[RING_TILE];
	uint16_t halves[RING_TILE];
	if (count == 0)
		return; /* else compilers see `rounded` read before it is written */
	for (size_t i = 0; i < count; i++)
		rounded[i] = ring_round_magnitude(format, from[i], largest) * scale;
	ring_store_float16s((unsigned char *)halves, rounded, count);
	for (size_t i = 0; i < count; i++) {
		uint32_t bits = ring_float32_bits(from[i]);
		uint32_t number = (bits >> 24 & 0x80) | (uint32_t)halves[i] >> shift;
		to[i] = (unsigned char)(isnan(from[i]) ? format.nan : number);
	}
}
#endif
#endif
