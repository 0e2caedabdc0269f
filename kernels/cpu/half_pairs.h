/* SPDX-License-Identifier: MIT */
/*
 * Pairs of float16 and float8 on CPUs that compute in float16. Rounding a sum or product of two
 * numbers of p bits to q bits and then to p is the same as rounding it once if q >= 2p + 2
 * [Figueroa 1995, "When is double rounding innocuous?"]. That holds for float32 with its 24 bits
 * and float16 with 11, and for float16 and float8 with 4 or 3. So the bits are those of convert.h.
 * Results that are subnormal in float16 are rounded to multiples of 2^-24; no product of two float8
 * is so close to a tie that this matters. The tests go through all pairs.
 */
#ifndef RING_HALF_PAIRS_H
#define RING_HALF_PAIRS_H

#include <math.h>

#include "kernels/convert.h"

RING_FLOAT(half, _Float16, uint16_t, 0x7e00)

#define RING_FLOAT16_WORD(op)                                                                      \
	RING_ELEMENT void word_float16_##op(unsigned char *to, const unsigned char *a,             \
					    const unsigned char *b)                                \
	{                                                                                          \
		ring_half_store(to, ring_half_##op(ring_half_load(a), ring_half_load(b)));         \
	}

/*
 * ---- float8, as the upper byte of a word of 16 bits -------------------------------------------
 */

/* The nearest float8 of a float16; its fraction begins at bit 8 or 7, the bits below may be any. */
RING_ELEMENT uint16_t ring_half_round(uint16_t bits, int shift, uint16_t most)
{
	uint16_t magnitude = bits & 0x7fff;
	uint16_t odd = magnitude >> shift & 1;
	uint16_t rounded = (uint16_t)(magnitude + (1 << (shift - 1)) - 1 + odd);
	return rounded < most ? rounded : most;
}

RING_ELEMENT _Float16 ring_upper_e5m2(uint16_t word)
{
	return ring_half_from_bits(word & 0xff00);
}

RING_ELEMENT uint16_t ring_e5m2_upper(_Float16 x)
{
	uint16_t bits = ring_half_bits(x);
	uint16_t number = ring_half_round(bits, 8, 0x7b00) | (bits & 0x8000);
	return (isnan(x) ? 0x7f00 : number) & 0xff00;
}

/* 2^-8 times the number: then the bits are the same, with one more in the exponent. */
RING_ELEMENT _Float16 ring_upper_e4m3(uint16_t word)
{
	uint16_t magnitude = (word & 0x7f00) >> 1;
	uint16_t number = magnitude | (word & 0x8000);
	return ring_half_from_bits(magnitude == 0x7f << 7 ? 0x7e00 : number);
}

RING_ELEMENT uint16_t ring_e4m3_upper(_Float16 x)
{
	uint16_t bits = ring_half_bits(x);
	uint16_t magnitude = (uint16_t)(ring_half_round(bits, 7, 0x7e << 7) << 1);
	return isnan(x) ? 0x7f00 : (magnitude & 0x7f00) | (bits & 0x8000);
}

/*
 * Two elements: each byte of the word in turn is the upper one. factor: 2^8 for products of numbers
 * that are both 2^-8 times theirs.
 */
#define RING_FLOAT8_WORD(format, op, factor)                                                       \
	RING_ELEMENT void word_float8_##format##_##op(unsigned char *to, const unsigned char *a,   \
						      const unsigned char *b)                      \
	{                                                                                          \
		uint16_t x, y;                                                                     \
		memcpy(&x, a, sizeof(x));                                                          \
		memcpy(&y, b, sizeof(y));                                                          \
		uint16_t upper = ring_##format##_upper(                                            \
			ring_half_##op(factor * ring_upper_##format(x), ring_upper_##format(y)));  \
		uint16_t lower = ring_##format##_upper(                                            \
			ring_half_##op(factor * ring_upper_##format((uint16_t)(x << 8)),           \
				       ring_upper_##format((uint16_t)(y << 8))));                  \
		uint16_t word = upper | lower >> 8;                                                \
		memcpy(to, &word, sizeof(word));                                                   \
	}

#define RING_HALF_WORDS(OP, op, ...)                                                               \
	RING_FLOAT16_WORD(op)                                                                      \
	RING_FLOAT8_WORD(e4m3, op, (OP == RING_PROD ? (_Float16)256 : (_Float16)1))                \
	RING_FLOAT8_WORD(e5m2, op, (_Float16)1)
RING_REDUCE_OPS(RING_HALF_WORDS, )

#endif
