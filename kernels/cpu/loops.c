/* SPDX-License-Identifier: MIT */
/*
 * One family of kernels: plain loops over elements (type_loops.h, kernel_loops.h), which compilers
 * turn into vectors, and the family's instructions for 16 and 8 bits. Compiled once per family,
 * with that family's compiler flags, and RING_CPU_FAMILY as its name.
 */
#include "bfloat16s.h"
#include "cpu.h"
#include "halves.h"
#include "stream.h"

#if RING_HAVE_HALF_PAIRS
#include "half_pairs.h"
#endif

/* ---- what the loops are made of -------------------------------------------------------------- */

#define PASTE(name, type) name##_##type
#define NAME(name, type) PASTE(name, type)
#define OF_TYPE(name) NAME(name, TYPE)             /* scale_float32 */
#define OF_KERNEL(name) NAME(NAME(name, TYPE), OP) /* pair_float32_sum */
#define COMPUTE(op) NAME(NAME(ring, COMPUTED), op) /* ring_float32_sum */
#define NUMBER __typeof__(((union ring_tile *)NULL)->COMPUTED[0])
#define LOAD(at) NAME(NAME(ring, TYPE), load)(at)
#define STORE(at, number) NAME(NAME(ring, TYPE), store)(at, number)
#define BYTES sizeof(NAME(NAME(ring, TYPE), pack)(0))

/*
 * Bytes of a pair that are done before the next prefetches: hardware does not prefetch past a page,
 * nor far ahead of loops that compute for long.
 */
#define BLOCK 256

/*
 * left: bytes from the block's first to the end, where prefetching ends: another rank may be at
 * work behind it. Through an integer: of a pointer gcc would assume that it ends there.
 */
static inline __attribute__((always_inline)) void prefetch(const unsigned char *block, size_t left,
							   size_t ahead)
{
	uintptr_t begin = (uintptr_t)block + ahead;
	for (uintptr_t i = 0; i < BLOCK && left > ahead; i += 64)
		__builtin_prefetch((const void *)(begin + i));
}

/* ---- types that are computed as they are ----------------------------------------------------- */

#define TYPE int8
#include "type_loops.h"
#define TYPE uint8
#define OF_BITS
#include "type_loops.h"
#define TYPE int32
#include "type_loops.h"
#define TYPE uint32
#include "type_loops.h"
#define TYPE int64
#include "type_loops.h"
#define TYPE uint64
#include "type_loops.h"
#define TYPE float32
#include "type_loops.h"
#define TYPE float64
#include "type_loops.h"

/*
 * ---- types that are computed in float32 --------------------------------------------------------
 */

/*
 * A sum with two results saves a pass; that pays where converting takes so long that storing twice
 * costs little (1 MiB of halves on 2 ranks 51 -> 46 us, Zen 4; floats would lose). CPUs with
 * arithmetic on float16, and other operations, were not measured.
 */

#define TYPE bfloat16
#define COMPUTED float32
#if RING_HAVE_BFLOAT16S && RING_HAVE_HALF_PAIRS
#define WORD (OP_IS_SUM ? block_bfloat16_sum : OF_KERNEL(words))
#define WORD_BYTES (OP_IS_SUM ? SUMMED_BLOCK : 64)
#elif RING_HAVE_BFLOAT16S
#define WORD OF_KERNEL(words)
#define WORD_BYTES 64
#define TWO_RESULTS
#else
#define WORD OF_KERNEL(word)
#define WORD_BYTES 4
#endif
#include "type_loops.h"

#if RING_HAVE_HALVES
static void load_float16(union ring_tile *restrict tile, const void *restrict source, size_t count)
{
	ring_load_float16s(tile->float32, source, count);
}

static void store_float16(void *restrict result, const union ring_tile *restrict tile, size_t count)
{
	ring_store_float16s(result, tile->float32, count);
}

static void load_float8_e4m3(union ring_tile *restrict tile, const void *restrict source,
			     size_t count)
{
	ring_load_float8s(ring_float8_e4m3_format, tile->float32, source, count);
}

static void store_float8_e4m3(void *restrict result, const union ring_tile *restrict tile,
			      size_t count)
{
	ring_store_float8s(ring_float8_e4m3_format, 448, result, tile->float32, count);
}

static void load_float8_e5m2(union ring_tile *restrict tile, const void *restrict source,
			     size_t count)
{
	ring_load_float8s(ring_float8_e5m2_format, tile->float32, source, count);
}

static void store_float8_e5m2(void *restrict result, const union ring_tile *restrict tile,
			      size_t count)
{
	ring_store_float8s(ring_float8_e5m2_format, 57344, result, tile->float32, count);
}
#endif

#define TYPE float16
#define COMPUTED float32
#define CONVERTED
#if RING_HAVE_HALF_PAIRS
#define WORD OF_KERNEL(word)
#define WORD_BYTES 2
#elif RING_HAVE_HALVES
#define WORD OF_KERNEL(words)
#define WORD_BYTES (4 * HALVES)
#define TWO_RESULTS
#endif
#include "type_loops.h"

#define TYPE float8_e4m3
#define COMPUTED float32
#define CONVERTED
#if RING_HAVE_HALF_PAIRS
#define WORD OF_KERNEL(word)
#define WORD_BYTES 2
#endif
#include "type_loops.h"

#define TYPE float8_e5m2
#define COMPUTED float32
#define CONVERTED
#if RING_HAVE_HALF_PAIRS
#define WORD OF_KERNEL(word)
#define WORD_BYTES 2
#endif
#include "type_loops.h"

/* ---- copying --------------------------------------------------------------------------------- */

/* In words: compilers split a loop over bytes into three. */
static void spread(void *restrict first, void *restrict second, void *restrict third,
		   const void *restrict source, size_t bytes)
{
	unsigned char *a = first, *b = second, *c = third;
	const unsigned char *from = source;
	size_t i = 0;
	for (; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
		uint64_t word = ring_uint64_load(from + i);
		ring_uint64_store(a + i, word);
		ring_uint64_store(b + i, word);
		ring_uint64_store(c + i, word);
	}
	for (; i < bytes; i++)
		a[i] = b[i] = c[i] = from[i];
}

/* ---- the family ------------------------------------------------------------------------------ */

#define TEXT_OF(family) #family
#define TEXT(family) TEXT_OF(family)
#define KERNEL(OP, op, TYPE, type, ...) [TYPE][OP] = &kernel_##type##_##op,

extern const struct ring_cpu_family NAME(ring_cpu, RING_CPU_FAMILY);
const struct ring_cpu_family NAME(ring_cpu, RING_CPU_FAMILY) = {
	.name = TEXT(RING_CPU_FAMILY),
#ifdef RING_CAN_STREAM
	.stream = ring_stream,
	.stream_end = ring_stream_end,
#endif
#ifdef RING_CAN_STREAM_MUCH
	.stream_much = ring_stream_much,
#endif
	.spread = spread,
	.kernels = {RING_REDUCE_PAIRS(KERNEL)},
};
