/* SPDX-License-Identifier: MIT */
/*
 * Loading and storing the floats that are computed in float32: exact one way, rounded to nearest,
 * ties to even, the other. Without branches, like arithmetic.h, and without subnormal float32
 * operands, which cost some processors a hundred cycles. GPUs have instructions that give the same
 * bits but for a NaN's: in words of 16 bytes arithmetic by integers would take longer than memory.
 */
#ifndef RING_CONVERT_H
#define RING_CONVERT_H

#include "arithmetic.h"
#include "base/reduce_list.h"

/* Whether this is compiled for a GPU that has the instructions, as 800 for 8.0. */
#ifdef __CUDA_ARCH__
#define RING_CONVERTS(capability) (__CUDA_ARCH__ >= (capability))
#else
#define RING_CONVERTS(capability) 0
#endif

/* ---- bfloat16: the upper half of a float32 --------------------------------------------------- */

RING_ELEMENT float ring_bfloat16_unpack(uint16_t upper)
{
	return ring_float32_from_bits((uint32_t)upper << 16);
}

/* The upper half is the bfloat16; the carry of rounding turns too large a number into infinity. */
RING_ELEMENT uint32_t ring_bfloat16_round(float x)
{
	uint32_t bits = ring_float32_bits(x);
	return x != x ? RING_FLOAT32_NAN : bits + 0x7fff + (bits >> 16 & 1);
}

RING_ELEMENT uint16_t ring_bfloat16_pack(float x)
{
#if RING_CONVERTS(800)
	uint16_t bits;
	asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
	return x != x ? (uint16_t)(RING_FLOAT32_NAN >> 16) : bits;
#else
	return (uint16_t)(ring_bfloat16_round(x) >> 16);
#endif
}

RING_LOAD_STORE(bfloat16, float, uint16_t)

/* Two elements: each half of the word in turn is the upper one. */
#define RING_BFLOAT16_WORD(OP, op, ...)                                                            \
	RING_ELEMENT void word_bfloat16_##op(unsigned char *to, const unsigned char *a,            \
					     const unsigned char *b)                               \
	{                                                                                          \
		uint32_t x, y;                                                                     \
		memcpy(&x, a, sizeof(x));                                                          \
		memcpy(&y, b, sizeof(y));                                                          \
		uint32_t upper = ring_bfloat16_round(                                              \
			ring_float32_##op(ring_float32_from_bits(x & 0xffff0000),                  \
					  ring_float32_from_bits(y & 0xffff0000)));                \
		uint32_t lower = ring_bfloat16_round(ring_float32_##op(                            \
			ring_float32_from_bits(x << 16), ring_float32_from_bits(y << 16)));        \
		uint32_t word = (upper & 0xffff0000) | lower >> 16;                                \
		memcpy(to, &word, sizeof(word));                                                   \
	}
RING_REDUCE_OPS(RING_BFLOAT16_WORD, )

/*
 * ---- floats with fewer bits of exponent -------------------------------------------------------
 */

/* A format's bits, without the sign. */
struct ring_format {
	int bias;          /* of the exponent */
	int fraction_bits; /* of the significand, without its leading one */
	uint32_t most;     /* what a number too large becomes */
	uint32_t nan;      /* what a computed NaN becomes */
	uint32_t infinite; /* from this on nothing is a finite number */
};

/* float16 overflows to infinity; float8 saturates, as CUDA's SATFINITE. */
static const struct ring_format ring_float16_format = {15, 10, 0x7c00, 0x7e00, 0x7c00};
static const struct ring_format ring_float8_e4m3_format = {7, 3, 0x7e, 0x7f, 0x7f};
static const struct ring_format ring_float8_e5m2_format = {15, 2, 0x7b, 0x7f, 0x7c};

/* 2^exponent */
RING_ELEMENT float ring_power(int exponent)
{
	return ring_float32_from_bits((uint32_t)(127 + exponent) << 23);
}

RING_ELEMENT float ring_widen(struct ring_format format, uint32_t sign, uint32_t magnitude)
{
	const int shift = 23 - format.fraction_bits;
	const uint32_t rebias = (uint32_t)(127 - format.bias) << 23;
	uint32_t normal = (magnitude << shift) + rebias;
	uint32_t infinite = magnitude << shift | UINT32_C(0xff) << 23;
	float step = ring_power(1 - format.bias - format.fraction_bits);
	uint32_t subnormal = ring_float32_bits((float)(int32_t)magnitude * step);
	uint32_t bits = magnitude >> format.fraction_bits == 0 ? subnormal : normal;
	return ring_float32_from_bits((magnitude >= format.infinite ? infinite : bits) | sign << 31);
}

/*
 * Normal numbers round by a carry into the bits that stay. Subnormal ones are multiples of one
 * step, and so are the sums of a float32 whose last bit is that step.
 */
RING_ELEMENT uint32_t ring_narrow(struct ring_format format, float x)
{
	const int shift = 23 - format.fraction_bits;
	const uint32_t rebias = (uint32_t)(127 - format.bias) << 23;
	const uint32_t least_normal = rebias + (UINT32_C(1) << 23);
	const float steps = ring_power(24 - format.bias - format.fraction_bits);
	uint32_t magnitude = ring_float32_bits(x) & 0x7fffffff;
	uint32_t half = (UINT32_C(1) << (shift - 1)) - 1 + (magnitude >> shift & 1);
	uint32_t normal = (magnitude - rebias + half) >> shift;
	uint32_t subnormal = ring_float32_bits(ring_float32_from_bits(magnitude) + steps) -
			     ring_float32_bits(steps);
	uint32_t rounded = magnitude < least_normal ? subnormal : normal;
	uint32_t bounded = rounded > format.most ? format.most : rounded;
	return x != x ? format.nan : bounded;
}

/* The sign of a number; a NaN is stored without. */
RING_ELEMENT uint32_t ring_sign(float x)
{
	return x != x ? 0 : ring_float32_bits(x) >> 31;
}

/* The sign is the word's first bit. */
#define RING_NARROW_FLOAT(name, word, sign_bit)                                                    \
	RING_ELEMENT float ring_##name##_unpack(word bits)                                         \
	{                                                                                          \
		return ring_widen(ring_##name##_format, bits >> sign_bit,                          \
				  bits & ((1U << sign_bit) - 1));                                  \
	}                                                                                          \
	RING_ELEMENT word ring_##name##_pack(float x)                                              \
	{                                                                                          \
		return (word)(ring_sign(x) << sign_bit | ring_narrow(ring_##name##_format, x));    \
	}                                                                                          \
	RING_LOAD_STORE(name, float, word)

#if RING_CONVERTS(530)
RING_ELEMENT float ring_float16_unpack(uint16_t bits)
{
	float x;
	asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
	return x;
}

RING_ELEMENT uint16_t ring_float16_pack(float x)
{
	uint16_t bits;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
	return x != x ? (uint16_t)ring_float16_format.nan : bits;
}
RING_LOAD_STORE(float16, float, uint16_t)
#else
RING_NARROW_FLOAT(float16, uint16_t, 15)
#endif

/* Instructions convert two at once, from and to float16 and float32; the upper one is not used. */
#if RING_CONVERTS(890)
#define RING_FLOAT8(name, pair_type)                                                               \
	RING_ELEMENT float ring_##name##_unpack(uint8_t bits)                                      \
	{                                                                                          \
		uint32_t pair;                                                                     \
		asm("cvt.rn.f16x2." pair_type " %0, %1;" : "=r"(pair) : "h"((uint16_t)bits));      \
		return ring_float16_unpack((uint16_t)pair);                                        \
	}                                                                                          \
	RING_ELEMENT uint8_t ring_##name##_pack(float x)                                           \
	{                                                                                          \
		uint16_t pair;                                                                     \
		asm("cvt.rn.satfinite." pair_type ".f32 %0, %1, %2;"                               \
		    : "=h"(pair)                                                                   \
		    : "f"(0.0f), "f"(x));                                                          \
		return (uint8_t)(x != x ? ring_##name##_format.nan : pair);                        \
	}                                                                                          \
	RING_LOAD_STORE(name, float, uint8_t)
RING_FLOAT8(float8_e4m3, "e4m3x2")
RING_FLOAT8(float8_e5m2, "e5m2x2")
#else
RING_NARROW_FLOAT(float8_e4m3, uint8_t, 7)
RING_NARROW_FLOAT(float8_e5m2, uint8_t, 7)
#endif

#endif
