/* SPDX-License-Identifier: MIT */
/*
 * What the operations do to one element, and how elements are loaded and stored. Everything here
 * is free of branches, so that compilers turn loops over it into vector instructions, and gives the
 * same bits with every compiler, provided that the caller rounds to nearest and keeps subnormals
 * (the engine sees to it) and that multiplications and additions are not fused.
 *
 * A sum or product may carry any NaN; storing replaces it by the one that ringccl.h promises.
 */
#ifndef RING_ARITHMETIC_H
#define RING_ARITHMETIC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define RING_FLOAT32_NAN UINT32_C(0x7fc00000)
#define RING_FLOAT64_NAN UINT64_C(0x7ff8000000000000)

/* ---- int32: computed as unsigned numbers, which wrap ----------------------------------------- */

static inline uint32_t ring_int32_load(const unsigned char *at)
{
	uint32_t x;
	memcpy(&x, at, sizeof(x));
	return x;
}

static inline void ring_int32_store(unsigned char *at, uint32_t x)
{
	memcpy(at, &x, sizeof(x));
}

static inline uint32_t ring_int32_sum(uint32_t a, uint32_t b)
{
	return a + b;
}

static inline uint32_t ring_int32_prod(uint32_t a, uint32_t b)
{
	return a * b;
}

static inline uint32_t ring_int32_max(uint32_t a, uint32_t b)
{
	return (int32_t)a > (int32_t)b ? a : b;
}

static inline uint32_t ring_int32_min(uint32_t a, uint32_t b)
{
	return (int32_t)a < (int32_t)b ? a : b;
}

/*
 * Vectors have no integer division, and need none: a quotient that is no integer is at least
 * 1 / divisor away from the next one, far more than a double's rounding, so truncating it is exact.
 */
static inline uint32_t ring_int32_divide(uint32_t x, double divisor)
{
	return (uint32_t)(int32_t)((double)(int32_t)x / divisor);
}

/* ---- float32 --------------------------------------------------------------------------------- */

static inline uint32_t ring_float32_bits(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static inline float ring_float32_from_bits(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

static inline float ring_float32_load(const unsigned char *at)
{
	float x;
	memcpy(&x, at, sizeof(x));
	return x;
}

static inline void ring_float32_store(unsigned char *at, float x)
{
	uint32_t bits = isnan(x) ? RING_FLOAT32_NAN : ring_float32_bits(x);
	memcpy(at, &bits, sizeof(bits));
}

static inline float ring_float32_sum(float a, float b)
{
	return a + b;
}

static inline float ring_float32_prod(float a, float b)
{
	return a * b;
}

/* Equal numbers have equal bits, but for zeros: `and` makes +0 of two that differ, `or` -0. */
static inline float ring_float32_max(float a, float b)
{
	uint32_t bits = ring_float32_bits(a > b ? a : b) & ring_float32_bits(b > a ? b : a);
	return ring_float32_from_bits(isunordered(a, b) ? RING_FLOAT32_NAN : bits);
}

static inline float ring_float32_min(float a, float b)
{
	uint32_t bits = ring_float32_bits(a < b ? a : b) | ring_float32_bits(b < a ? b : a);
	return ring_float32_from_bits(isunordered(a, b) ? RING_FLOAT32_NAN : bits);
}

static inline float ring_float32_divide(float x, double divisor)
{
	return x / (float)divisor;
}

/* ---- bfloat16: the upper half of a float32, computed as one ---------------------------------- */

static inline float ring_bfloat16_load(const unsigned char *at)
{
	uint16_t upper;
	memcpy(&upper, at, sizeof(upper));
	return ring_float32_from_bits((uint32_t)upper << 16);
}

/* Rounds to nearest, ties to even; too large a number becomes infinity by the same carry. */
static inline void ring_bfloat16_store(unsigned char *at, float x)
{
	uint32_t bits = ring_float32_bits(x);
	uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
	uint16_t upper = (uint16_t)((isnan(x) ? RING_FLOAT32_NAN : rounded) >> 16);
	memcpy(at, &upper, sizeof(upper));
}

/* ---- float64: as float32 --------------------------------------------------------------------- */

static inline uint64_t ring_float64_bits(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static inline double ring_float64_from_bits(uint64_t bits)
{
	double x;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

static inline double ring_float64_load(const unsigned char *at)
{
	double x;
	memcpy(&x, at, sizeof(x));
	return x;
}

static inline void ring_float64_store(unsigned char *at, double x)
{
	uint64_t bits = isnan(x) ? RING_FLOAT64_NAN : ring_float64_bits(x);
	memcpy(at, &bits, sizeof(bits));
}

static inline double ring_float64_sum(double a, double b)
{
	return a + b;
}

static inline double ring_float64_prod(double a, double b)
{
	return a * b;
}

static inline double ring_float64_max(double a, double b)
{
	uint64_t bits = ring_float64_bits(a > b ? a : b) & ring_float64_bits(b > a ? b : a);
	return ring_float64_from_bits(isunordered(a, b) ? RING_FLOAT64_NAN : bits);
}

static inline double ring_float64_min(double a, double b)
{
	uint64_t bits = ring_float64_bits(a < b ? a : b) | ring_float64_bits(b < a ? b : a);
	return ring_float64_from_bits(isunordered(a, b) ? RING_FLOAT64_NAN : bits);
}

static inline double ring_float64_divide(double x, double divisor)
{
	return x / divisor;
}

#endif
