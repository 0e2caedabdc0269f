/* SPDX-License-Identifier: MIT */
/*
 * The loops of one type, included once for each (loops.c), so without a guard. Makes of float32
 * load_float32(), scale_float32() ... and, by kernel_loops.h, the kernel of each operation.
 *
 * TYPE           the type's name
 * COMPUTED       what it is computed in; not defined: in itself, element by element
 * WORD           what does WORD_BYTES of a pair at once; not defined: there are no such loops
 * CONVERTED      defined if loading and storing take loops of their own
 * TWO_RESULTS    defined if pairs have a loop with two results
 * OF_BITS        defined if operations on bits have kernels of this type
 */
#ifndef COMPUTED
#define DIRECT
#define COMPUTED TYPE
#define WORD OF_KERNEL(element)
#define WORD_BYTES BYTES
#endif

#if !defined(CONVERTED) || !RING_HAVE_HALVES
static void OF_TYPE(load)(union ring_tile *restrict tile, const void *restrict source, size_t count)
{
	const unsigned char *from = source;
	for (size_t i = 0; i < count; i++)
		tile->COMPUTED[i] = LOAD(from + i * BYTES);
}

static void OF_TYPE(store)(void *restrict result, const union ring_tile *restrict tile, size_t count)
{
	unsigned char *to = result;
	for (size_t i = 0; i < count; i++)
		STORE(to + i * BYTES, tile->COMPUTED[i]);
}
#endif

static void OF_TYPE(scale)(union ring_tile *tile, const void *scalar, size_t count)
{
	const NUMBER factor = LOAD(scalar);
	for (size_t i = 0; i < count; i++)
		tile->COMPUTED[i] = COMPUTE(prod)(factor, tile->COMPUTED[i]);
}

static void OF_TYPE(divide)(union ring_tile *tile, uint64_t number, size_t count)
{
	const struct ring_divisor divisor = ring_divisor(number);
	for (size_t i = 0; i < count; i++)
		tile->COMPUTED[i] = COMPUTE(divide)(tile->COMPUTED[i], divisor);
}

#ifdef DIRECT
/*
 * Four or eight sources that all become their sum. As parameters: compilers ignore restrict on
 * pointers from an array. For sums alone: with loops for all operations the library was larger than
 * 2 MiB, and calls of 8 ranks that share 2 CPUs took 3 to 5 us longer, even broadcasts (64 KiB in
 * shared memory 18.4 -> 21.9 us).
 */
#define ADD(place) sum = COMPUTE(sum)(sum, LOAD(place + i))
#define PUT(place) STORE(place + i, sum)
static void OF_TYPE(four)(unsigned char *restrict a, unsigned char *restrict b,
			  unsigned char *restrict c, unsigned char *restrict d, size_t count)
{
	for (size_t i = 0; i < count * BYTES; i += BYTES) {
		NUMBER sum = LOAD(a + i);
		ADD(b), ADD(c), ADD(d);
		PUT(a), PUT(b), PUT(c), PUT(d);
	}
}

static void OF_TYPE(eight)(unsigned char *restrict a, unsigned char *restrict b,
			   unsigned char *restrict c, unsigned char *restrict d,
			   unsigned char *restrict e, unsigned char *restrict f,
			   unsigned char *restrict g, unsigned char *restrict h, size_t count)
{
	for (size_t i = 0; i < count * BYTES; i += BYTES) {
		NUMBER sum = LOAD(a + i);
		ADD(b), ADD(c), ADD(d), ADD(e), ADD(f), ADD(g), ADD(h);
		PUT(a), PUT(b), PUT(c), PUT(d), PUT(e), PUT(f), PUT(g), PUT(h);
	}
}
#undef ADD
#undef PUT
#endif

#define OP sum
#define OP_IS_SUM 1
#include "kernel_loops.h"
#define OP prod
#define OP_IS_SUM 0
#include "kernel_loops.h"
#define OP max
#define OP_IS_SUM 0
#include "kernel_loops.h"
#define OP min
#define OP_IS_SUM 0
#include "kernel_loops.h"

#ifdef OF_BITS
#define OP band
#define OP_IS_SUM 0
#include "kernel_loops.h"
#define OP bor
#define OP_IS_SUM 0
#include "kernel_loops.h"
#define OP bxor
#define OP_IS_SUM 0
#include "kernel_loops.h"
#endif

#undef TYPE
#undef COMPUTED
#undef WORD
#undef WORD_BYTES
#undef CONVERTED
#undef TWO_RESULTS
#undef OF_BITS
#undef DIRECT
