/* SPDX-License-Identifier: MIT */
/*
 * What the operations do to one element, and how an element's bits become the number that is
 * computed with (unpack) and back (pack); convert.h does this for the types that are computed in
 * float32. Nothing here branches, so compilers turn loops over it into vector instructions. It
 * gives the same bits with every compiler, also on a GPU, if the caller rounds to nearest and keeps
 * subnormals (the engine sees to it) and multiplications and additions are not fused.
 *
 * A sum or product may carry any NaN; packing replaces it by the one that ringccl.h promises.
 */
#ifndef RING_ARITHMETIC_H
#define RING_ARITHMETIC_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define RING_ELEMENT static inline __host__ __device__
#else /* always: compilers stop inlining in large files, and loops that call are no vectors */
#define RING_ELEMENT static inline __attribute__((always_inline))
#endif

/* An element in memory, at any address. */
#define RING_LOAD_STORE(name, number, word)                                                        \
	RING_ELEMENT number ring_##name##_load(const unsigned char *at)                            \
	{                                                                                          \
		word bits;                                                                         \
		memcpy(&bits, at, sizeof(bits));                                                   \
		return ring_##name##_unpack(bits);                                                 \
	}                                                                                          \
	RING_ELEMENT void ring_##name##_store(unsigned char *at, number x)                         \
	{                                                                                          \
		word bits = ring_##name##_pack(x);                                                 \
		memcpy(at, &bits, sizeof(bits));                                                   \
	}

/* ---- dividing by a count of ranks ------------------------------------------------------------ */

/* A divisor from 1 to 2^31 - 1 and what makes dividing by it cheap: floor((2^bits - 1) / count). */
struct ring_divisor {
	uint32_t count;
	uint32_t reciprocal32;
	uint64_t reciprocal64;
};

RING_ELEMENT struct ring_divisor ring_divisor(uint64_t count)
{
	struct ring_divisor divisor = {(uint32_t)count, (uint32_t)(UINT32_MAX / count),
				       UINT64_MAX / count};
	return divisor;
}

/*
 * Vectors have no integer division, and need none. The upper half of x * reciprocal is the quotient
 * or one less: 2^bits - count * reciprocal lies in 1..count, so x / count is missed by at most
 * x / 2^bits < 1.
 */
RING_ELEMENT uint32_t ring_quotient32(uint32_t x, struct ring_divisor divisor)
{
	uint32_t quotient = (uint32_t)((uint64_t)x * divisor.reciprocal32 >> 32);
	return quotient + (x - quotient * divisor.count >= divisor.count);
}

/* The upper half of a product, by halves: vectors multiply 32 bits. */
RING_ELEMENT uint64_t ring_upper_product(uint64_t a, uint64_t b)
{
	uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
	uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
	uint64_t other = a_low * b_high + (uint32_t)middle;
	return a_high * b_high + (middle >> 32) + (other >> 32);
}

RING_ELEMENT uint64_t ring_quotient64(uint64_t x, struct ring_divisor divisor)
{
	uint64_t quotient = ring_upper_product(x, divisor.reciprocal64);
	return quotient + (x - quotient * divisor.count >= divisor.count);
}

/*
 * ---- integers: computed as unsigned numbers, which wrap ---------------------------------------
 */

/* Of name int32: ring_int32_sum(), ring_int32_prod() ... and ring_int32_load(). */
#define RING_INTEGER(name, word, number)                                                           \
	RING_ELEMENT word ring_##name##_unpack(word x)                                             \
	{                                                                                          \
		return x;                                                                          \
	}                                                                                          \
	RING_ELEMENT word ring_##name##_pack(word x)                                               \
	{                                                                                          \
		return x;                                                                          \
	}                                                                                          \
	RING_LOAD_STORE(name, word, word)                                                          \
	RING_ELEMENT word ring_##name##_sum(word a, word b)                                        \
	{                                                                                          \
		return (word)(a + b);                                                              \
	}                                                                                          \
	RING_ELEMENT word ring_##name##_prod(word a, word b)                                       \
	{                                                                                          \
		return (word)(a * b);                                                              \
	}                                                                                          \
	RING_ELEMENT word ring_##name##_max(word a, word b)                                        \
	{                                                                                          \
		return (number)a > (number)b ? a : b;                                              \
	}                                                                                          \
	RING_ELEMENT word ring_##name##_min(word a, word b)                                        \
	{                                                                                          \
		return (number)a < (number)b ? a : b;                                              \
	}

/* Towards zero: the magnitude is divided, then it gets the sign back. */
#define RING_INTEGERS(bits, quotient_bits)                                                         \
	RING_INTEGER(uint##bits, uint##bits##_t, uint##bits##_t)                                   \
	RING_INTEGER(int##bits, uint##bits##_t, int##bits##_t)                                     \
	RING_ELEMENT uint##bits##_t ring_uint##bits##_divide(uint##bits##_t x,                     \
							     struct ring_divisor divisor)          \
	{                                                                                          \
		return (uint##bits##_t)ring_quotient##quotient_bits(x, divisor);                   \
	}                                                                                          \
	RING_ELEMENT uint##bits##_t ring_int##bits##_divide(uint##bits##_t x,                      \
							    struct ring_divisor divisor)           \
	{                                                                                          \
		uint##bits##_t negative = (uint##bits##_t) - (x >> (bits - 1));                    \
		uint##bits##_t magnitude = (uint##bits##_t)((x ^ negative) - negative);            \
		uint##bits##_t quotient = ring_uint##bits##_divide(magnitude, divisor);            \
		return (uint##bits##_t)((quotient ^ negative) - negative);                         \
	}
RING_INTEGERS(8, 32)
RING_INTEGERS(32, 32)
RING_INTEGERS(64, 64)

RING_ELEMENT uint8_t ring_uint8_band(uint8_t a, uint8_t b)
{
	return a & b;
}

RING_ELEMENT uint8_t ring_uint8_bor(uint8_t a, uint8_t b)
{
	return a | b;
}

RING_ELEMENT uint8_t ring_uint8_bxor(uint8_t a, uint8_t b)
{
	return a ^ b;
}

/* ---- floats ---------------------------------------------------------------------------------- */

#define RING_FLOAT32_NAN UINT32_C(0x7fc00000)
#define RING_FLOAT64_NAN UINT64_C(0x7ff8000000000000)

/*
 * Of name float32: ring_float32_sum(), ring_float32_prod() ... and ring_float32_load().
 *
 * Maximum and minimum: equal numbers have equal bits, except zeros; of two different zeros `and`
 * makes +0, `or` -0.
 */
#define RING_FLOAT(name, number, word, nan)                                                        \
	RING_ELEMENT word ring_##name##_bits(number x)                                             \
	{                                                                                          \
		word bits;                                                                         \
		memcpy(&bits, &x, sizeof(bits));                                                   \
		return bits;                                                                       \
	}                                                                                          \
	RING_ELEMENT number ring_##name##_from_bits(word bits)                                     \
	{                                                                                          \
		number x;                                                                          \
		memcpy(&x, &bits, sizeof(x));                                                      \
		return x;                                                                          \
	}                                                                                          \
	RING_ELEMENT number ring_##name##_unpack(word bits)                                        \
	{                                                                                          \
		return ring_##name##_from_bits(bits);                                              \
	}                                                                                          \
	RING_ELEMENT word ring_##name##_pack(number x)                                             \
	{                                                                                          \
		return x != x ? nan : ring_##name##_bits(x);                                       \
	}                                                                                          \
	RING_LOAD_STORE(name, number, word)                                                        \
	RING_ELEMENT number ring_##name##_sum(number a, number b)                                  \
	{                                                                                          \
		return a + b;                                                                      \
	}                                                                                          \
	RING_ELEMENT number ring_##name##_prod(number a, number b)                                 \
	{                                                                                          \
		return a * b;                                                                      \
	}                                                                                          \
	RING_ELEMENT number ring_##name##_max(number a, number b)                                  \
	{                                                                                          \
		word bits = ring_##name##_bits(a > b ? a : b) & ring_##name##_bits(b > a ? b : a); \
		return ring_##name##_from_bits(a != a || b != b ? nan : bits);                     \
	}                                                                                          \
	RING_ELEMENT number ring_##name##_min(number a, number b)                                  \
	{                                                                                          \
		word bits = ring_##name##_bits(a < b ? a : b) | ring_##name##_bits(b < a ? b : a); \
		return ring_##name##_from_bits(a != a || b != b ? nan : bits);                     \
	}                                                                                          \
	RING_ELEMENT number ring_##name##_divide(number x, struct ring_divisor divisor)            \
	{                                                                                          \
		return x / (number)divisor.count;                                                  \
	}
RING_FLOAT(float32, float, uint32_t, RING_FLOAT32_NAN)
RING_FLOAT(float64, double, uint64_t, RING_FLOAT64_NAN)

#endif
