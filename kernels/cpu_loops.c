/* SPDX-License-Identifier: MIT */
/*
 * One family of kernels: plain C for one element after the other, written in arithmetic.h so that
 * compilers make vectors of it. Compiled once per family, with that family's compiler flags, and
 * RING_CPU_FAMILY as its name.
 */
#include "arithmetic.h"
#include "cpu.h"
#include "reduce_list.h"

#define SYMBOL_OF(family) ring_cpu_##family
#define SYMBOL(family) SYMBOL_OF(family)
#define TEXT_OF(family) #family
#define TEXT(family) TEXT_OF(family)

extern const struct ring_cpu_family SYMBOL(RING_CPU_FAMILY);

#define TYPE_LOOPS(TYPE, type, bytes, computed, ...)                                               \
	static void load_##type(union ring_tile *restrict tile, const void *restrict source,       \
				size_t count)                                                      \
	{                                                                                          \
		const unsigned char *from = source;                                                \
		for (size_t i = 0; i < count; i++)                                                 \
			tile->computed[i] = ring_##type##_load(from + i * bytes);                  \
	}                                                                                          \
                                                                                                   \
	static void divide_##type(union ring_tile *tile, double divisor, size_t count)             \
	{                                                                                          \
		for (size_t i = 0; i < count; i++)                                                 \
			tile->computed[i] = ring_##computed##_divide(tile->computed[i], divisor);  \
	}                                                                                          \
                                                                                                   \
	static void store_##type(void *restrict result, const union ring_tile *restrict tile,      \
				 size_t count)                                                     \
	{                                                                                          \
		unsigned char *to = result;                                                        \
		for (size_t i = 0; i < count; i++)                                                 \
			ring_##type##_store(to + i * bytes, tile->computed[i]);                    \
	}
RING_REDUCE_TYPES(TYPE_LOOPS, )

#define OP_LOOPS(OP, op, TYPE, type, bytes, computed, ...)                                         \
	static void pair_##type##_##op(void *restrict result, const void *restrict left,           \
				       const void *restrict right, size_t count)                   \
	{                                                                                          \
		unsigned char *to = result;                                                        \
		const unsigned char *a = left, *b = right;                                         \
		for (size_t i = 0; i < count * bytes; i += bytes)                                  \
			ring_##type##_store(to + i,                                                \
					    ring_##computed##_##op(ring_##type##_load(a + i),      \
								   ring_##type##_load(b + i)));    \
	}                                                                                          \
                                                                                                   \
	static void onto_##type##_##op(void *restrict result, const void *restrict right,          \
				       size_t count)                                               \
	{                                                                                          \
		unsigned char *to = result;                                                        \
		const unsigned char *b = right;                                                    \
		for (size_t i = 0; i < count * bytes; i += bytes)                                  \
			ring_##type##_store(to + i,                                                \
					    ring_##computed##_##op(ring_##type##_load(to + i),     \
								   ring_##type##_load(b + i)));    \
	}                                                                                          \
                                                                                                   \
	static void fold_##type##_##op(union ring_tile *restrict tile,                             \
				       const void *restrict source, size_t count)                  \
	{                                                                                          \
		const unsigned char *b = source;                                                   \
		for (size_t i = 0; i < count; i++)                                                 \
			tile->computed[i] = ring_##computed##_##op(                                \
				tile->computed[i], ring_##type##_load(b + i * bytes));             \
	}
#define LOOPS_OF_TYPE(...) RING_REDUCE_OPS(OP_LOOPS, __VA_ARGS__)
RING_REDUCE_TYPES(LOOPS_OF_TYPE, )

#define KERNEL(OP, op, TYPE, type, ...)                                                            \
	[TYPE][OP] = {pair_##type##_##op, onto_##type##_##op, load_##type,                         \
		      fold_##type##_##op, divide_##type,      store_##type},
#define KERNELS_OF_TYPE(...) RING_REDUCE_OPS(KERNEL, __VA_ARGS__)
const struct ring_cpu_family SYMBOL(RING_CPU_FAMILY) = {
	.name = TEXT(RING_CPU_FAMILY),
	.kernels = {RING_REDUCE_TYPES(KERNELS_OF_TYPE, )},
};
