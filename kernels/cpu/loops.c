/* SPDX-License-Identifier: MIT */
/*
 * One family of kernels: plain loops over elements (arithmetic.h, convert.h), which compilers turn
 * into vectors, and the family's instructions for 16 and 8 bits. Compiled once per family, with
 * that family's compiler flags, and RING_CPU_FAMILY as its name.
 */
#include "bfloat16s.h"
#include "cpu.h"
#include "halves.h"
#include "pair_loops.h"
#include "stream.h"

#if RING_HAVE_HALF_PAIRS
#include "half_pairs.h"
#endif

#define SYMBOL_OF(family) ring_cpu_##family
#define SYMBOL(family) SYMBOL_OF(family)
#define TEXT_OF(family) #family
#define TEXT(family) TEXT_OF(family)

extern const struct ring_cpu_family SYMBOL(RING_CPU_FAMILY);

/* ---- every type ------------------------------------------------------------------------------ */

#define STEPS_OF_TYPE(TYPE, type, bytes, computed, ...)                                            \
	static void scale_##type(union ring_tile *tile, const void *scalar, size_t count)          \
	{                                                                                          \
		const __typeof__(tile->computed[0]) factor = ring_##type##_load(scalar);           \
		for (size_t i = 0; i < count; i++)                                                 \
			tile->computed[i] = ring_##computed##_prod(factor, tile->computed[i]);     \
	}                                                                                          \
                                                                                                   \
	static void divide_##type(union ring_tile *tile, uint64_t number, size_t count)            \
	{                                                                                          \
		const struct ring_divisor divisor = ring_divisor(number);                          \
		for (size_t i = 0; i < count; i++)                                                 \
			tile->computed[i] = ring_##computed##_divide(tile->computed[i], divisor);  \
	}
RING_REDUCE_TYPES(STEPS_OF_TYPE, )

#define ELEMENTS_OF_TYPE(TYPE, type, bytes, computed, ...)                                         \
	static void load_##type(union ring_tile *restrict tile, const void *restrict source,       \
				size_t count)                                                      \
	{                                                                                          \
		const unsigned char *from = source;                                                \
		for (size_t i = 0; i < count; i++)                                                 \
			tile->computed[i] = ring_##type##_load(from + i * bytes);                  \
	}                                                                                          \
                                                                                                   \
	static void store_##type(void *restrict result, const union ring_tile *restrict tile,      \
				 size_t count)                                                     \
	{                                                                                          \
		unsigned char *to = result;                                                        \
		for (size_t i = 0; i < count; i++)                                                 \
			ring_##type##_store(to + i * bytes, tile->computed[i]);                    \
	}
RING_DIRECT_TYPES(ELEMENTS_OF_TYPE, )
RING_PACKED_TYPES(ELEMENTS_OF_TYPE, )

#if RING_HAVE_HALVES
static void load_float16(union ring_tile *restrict tile, const void *restrict source, size_t count)
{
	ring_load_float16s(tile->float32, source, count);
}

static void store_float16(void *restrict result, const union ring_tile *restrict tile, size_t count)
{
	ring_store_float16s(result, tile->float32, count);
}

#define HALVES_OF_TYPE(type, largest)                                                              \
	static void load_##type(union ring_tile *restrict tile, const void *restrict source,       \
				size_t count)                                                      \
	{                                                                                          \
		ring_load_float8s(ring_##type##_format, tile->float32, source, count);             \
	}                                                                                          \
                                                                                                   \
	static void store_##type(void *restrict result, const union ring_tile *restrict tile,      \
				 size_t count)                                                     \
	{                                                                                          \
		ring_store_float8s(ring_##type##_format, largest, result, tile->float32, count);   \
	}
HALVES_OF_TYPE(float8_e4m3, 448)
HALVES_OF_TYPE(float8_e5m2, 57344)
#else
RING_CONVERTED_TYPES(ELEMENTS_OF_TYPE, )
#endif

/*
 * ---- folding a source into a tile --------------------------------------------------------------
 */

#define FUSED_FOLD(OP, op, TYPE, type, bytes, computed, ...)                                       \
	static void fold_##type##_##op(union ring_tile *restrict tile,                             \
				       const void *restrict source, size_t count)                  \
	{                                                                                          \
		const unsigned char *b = source;                                                   \
		for (size_t i = 0; i < count; i++)                                                 \
			tile->computed[i] = ring_##computed##_##op(                                \
				tile->computed[i], ring_##type##_load(b + i * bytes));             \
	}                                                                                          \
                                                                                                   \
	static void fold_three_##type##_##op(union ring_tile *restrict tile, const void *first,    \
					     const void *second, const void *third, size_t count)  \
	{                                                                                          \
		const unsigned char *b = first, *c = second, *d = third;                           \
		for (size_t i = 0; i < count; i++) {                                               \
			__typeof__(tile->computed[0]) sum = tile->computed[i];                     \
			sum = ring_##computed##_##op(sum, ring_##type##_load(b + i * bytes));      \
			sum = ring_##computed##_##op(sum, ring_##type##_load(c + i * bytes));      \
			sum = ring_##computed##_##op(sum, ring_##type##_load(d + i * bytes));      \
			tile->computed[i] = sum;                                                   \
		}                                                                                  \
	}
#define LOADED_FOLD(OP, op, TYPE, type, bytes, computed, ...)                                      \
	static void fold_##type##_##op(union ring_tile *restrict tile,                             \
				       const void *restrict source, size_t count)                  \
	{                                                                                          \
		union ring_tile other;                                                             \
		load_##type(&other, source, count);                                                \
		for (size_t i = 0; i < count; i++)                                                 \
			tile->computed[i] = ring_##computed##_##op(tile->computed[i],              \
								   other.computed[i]);             \
	}
#define FUSED_FOLDS(...) RING_REDUCE_OPS(FUSED_FOLD, __VA_ARGS__)
#define LOADED_FOLDS(...) RING_REDUCE_OPS(LOADED_FOLD, __VA_ARGS__)
RING_DIRECT_TYPES(FUSED_FOLDS, )
RING_PACKED_TYPES(FUSED_FOLDS, )
RING_CONVERTED_TYPES(LOADED_FOLDS, )

/*
 * ---- pairs: a word of one or two elements at a time, and the element that may be left -----------
 */

#define ELEMENT(OP, op, TYPE, type, bytes, computed, ...)                                          \
	static inline void element_##type##_##op(unsigned char *to, const unsigned char *a,        \
						 const unsigned char *b)                           \
	{                                                                                          \
		ring_##type##_store(to, ring_##computed##_##op(ring_##type##_load(a),              \
							       ring_##type##_load(b)));            \
	}
#define PAIR_LOOPS(type, op, bytes, word_bytes, word)                                              \
	_Static_assert(RING_PAIR_BLOCK % (word_bytes) == 0, "a block is of whole words");          \
	static const struct ring_pair_shape shape_##type##_##op = {bytes, word_bytes,              \
								   element_##type##_##op, word};   \
                                                                                                   \
	static void pair_##type##_##op(void *restrict result, const void *restrict left,           \
				       const void *restrict right, size_t count)                   \
	{                                                                                          \
		ring_pair_loop(shape_##type##_##op, result, left, right, count *bytes);            \
	}                                                                                          \
                                                                                                   \
	static void onto_##type##_##op(void *restrict result, const void *restrict right,          \
				       size_t count)                                               \
	{                                                                                          \
		ring_onto_loop(shape_##type##_##op, result, right, count *bytes);                  \
	}                                                                                          \
                                                                                                   \
	static void both_##type##_##op(void *restrict left, void *restrict right, size_t count)    \
	{                                                                                          \
		ring_both_loop(shape_##type##_##op, left, right, count *bytes);                    \
	}

/*
 * A sum that goes to two results, which may be sources. It saves a pass; that pays where converting
 * takes so long that storing twice costs little (1 MiB of halves on 2 ranks 51 -> 46 us, Zen 4;
 * floats would lose).
 */
#define TWO_RESULTS_LOOP(type, bytes, word_bytes, word)                                            \
	static void two_##type(void *first, void *second, const void *left, const void *right,     \
			       size_t count)                                                       \
	{                                                                                          \
		const struct ring_pair_shape shape = {bytes, word_bytes, element_##type##_sum,     \
						      word};                                       \
		ring_two_loop(shape, first, second, left, right, count *bytes);                    \
	}

#define DIRECT_PAIR(OP, op, TYPE, type, bytes, ...)                                                \
	ELEMENT(OP, op, TYPE, type, bytes, __VA_ARGS__)                                            \
	PAIR_LOOPS(type, op, bytes, bytes, element_##type##_##op)
#define PACKED_PAIR(OP, op, TYPE, type, bytes, ...)                                                \
	ELEMENT(OP, op, TYPE, type, bytes, __VA_ARGS__)                                            \
	PAIR_LOOPS(type, op, bytes, (2 * bytes), word_##type##_##op)
#define HALVES_PAIR(OP, op, TYPE, type, bytes, ...)                                                \
	ELEMENT(OP, op, TYPE, type, bytes, __VA_ARGS__)                                            \
	PAIR_LOOPS(type, op, bytes, 2, word_##type##_##op)
#define BFLOAT16_PAIR(OP, op, TYPE, type, bytes, ...)                                              \
	ELEMENT(OP, op, TYPE, type, bytes, __VA_ARGS__)                                            \
	PAIR_LOOPS(type, op, bytes, RING_BFLOAT16_STEP_BYTES(OP), RING_BFLOAT16_STEP(OP, op))
#define CONVERTED_PAIR(OP, op, TYPE, type, bytes, ...)                                             \
	ELEMENT(OP, op, TYPE, type, bytes, __VA_ARGS__)                                            \
	PAIR_LOOPS(type, op, bytes, (2 * HALVES * bytes), words_##type##_##op)
#define DIRECT_PAIRS(...) RING_REDUCE_OPS(DIRECT_PAIR, __VA_ARGS__)
#define PACKED_PAIRS(...) RING_REDUCE_OPS(PACKED_PAIR, __VA_ARGS__)
#define HALVES_PAIRS(...) RING_REDUCE_OPS(HALVES_PAIR, __VA_ARGS__)
#define BFLOAT16_PAIRS(...) RING_REDUCE_OPS(BFLOAT16_PAIR, __VA_ARGS__)
#define CONVERTED_PAIRS(...) RING_REDUCE_OPS(CONVERTED_PAIR, __VA_ARGS__)
RING_DIRECT_TYPES(DIRECT_PAIRS, )
#if RING_HAVE_BFLOAT16S
RING_PACKED_TYPES(BFLOAT16_PAIRS, )
#else
RING_PACKED_TYPES(PACKED_PAIRS, )
#endif
#if RING_HAVE_HALF_PAIRS
RING_CONVERTED_TYPES(HALVES_PAIRS, )
#elif RING_HAVE_HALVES
RING_HALF_TYPES(CONVERTED_PAIRS, )
#endif

/* For sums alone, as below, and CPUs without arithmetic on float16; others were not measured. */
#define TWO_RESULTS(TYPE, type, bytes, ...)                                                        \
	TWO_RESULTS_LOOP(type, bytes, (2 * HALVES * bytes), words_##type##_sum)
#define TWO(OP, type) .two = OP == RING_SUM ? two_##type : NULL,
#define PACKED_TWO(OP, type)
#define HALF_TWO(OP, type)
#if RING_HAVE_BFLOAT16S && !RING_HAVE_HALF_PAIRS
#undef PACKED_TWO
#define PACKED_TWO TWO
RING_PACKED_TYPES(TWO_RESULTS, )
#endif
#if RING_HAVE_HALVES && !RING_HAVE_HALF_PAIRS
#undef HALF_TWO
#define HALF_TWO TWO
RING_HALF_TYPES(TWO_RESULTS, )
#endif

/*
 * ---- four or eight sources that all become their sum -------------------------------------------
 */

/*
 * As parameters: compilers ignore restrict on pointers from an array. For sums alone: with loops
 * for all operations the library was larger than 2 MiB, and calls of 8 ranks that share 2 CPUs took
 * 3 to 5 us longer, even broadcasts (64 KiB in shared memory 18.4 -> 21.9 us).
 */
#define ADD(place, type, computed) sum = ring_##computed##_sum(sum, ring_##type##_load(place + i))
#define ADD_THREE(x, y, z, type, computed)                                                         \
	ADD(x, type, computed);                                                                    \
	ADD(y, type, computed);                                                                    \
	ADD(z, type, computed)
#define PUT(w, x, y, z, type)                                                                      \
	ring_##type##_store(w + i, sum), ring_##type##_store(x + i, sum),                          \
		ring_##type##_store(y + i, sum), ring_##type##_store(z + i, sum)
#define REPLACING_LOOPS(TYPE, type, bytes, computed, ...)                                           \
	static void four_##type(unsigned char *restrict a, unsigned char *restrict b,               \
				unsigned char *restrict c, unsigned char *restrict d, size_t count) \
	{                                                                                           \
		for (size_t i = 0; i < count * bytes; i += bytes) {                                 \
			__typeof__(ring_##type##_load(a)) sum = ring_##type##_load(a + i);          \
			ADD_THREE(b, c, d, type, computed);                                         \
			PUT(a, b, c, d, type);                                                      \
		}                                                                                   \
	}                                                                                           \
                                                                                                    \
	static void eight_##type(unsigned char *restrict a, unsigned char *restrict b,              \
				 unsigned char *restrict c, unsigned char *restrict d,              \
				 unsigned char *restrict e, unsigned char *restrict f,              \
				 unsigned char *restrict g, unsigned char *restrict h,              \
				 size_t count)                                                      \
	{                                                                                           \
		for (size_t i = 0; i < count * bytes; i += bytes) {                                 \
			__typeof__(ring_##type##_load(a)) sum = ring_##type##_load(a + i);          \
			ADD_THREE(b, c, d, type, computed);                                         \
			ADD(e, type, computed);                                                     \
			ADD_THREE(f, g, h, type, computed);                                         \
			PUT(a, b, c, d, type);                                                      \
			PUT(e, f, g, h, type);                                                      \
		}                                                                                   \
	}
RING_DIRECT_TYPES(REPLACING_LOOPS, )

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

/*
 * ---- the table --------------------------------------------------------------------------------
 */

#define STEPS(type, op, computed)                                                                  \
	.load = load_##type, .scale = scale_##type, .fold = fold_##type##_##op,                    \
	.fold_tile = fold_##computed##_##op, .divide = divide_##type, .store = store_##type
#define FOLD_THREE(type, op) .fold_three = fold_three_##type##_##op,
#define PAIR(type, op)                                                                             \
	.loops = {pair_##type##_##op, onto_##type##_##op}, .both = both_##type##_##op,
#define REPLACING(OP, type)                                                                        \
	.four = OP == RING_SUM ? four_##type : NULL, .eight = OP == RING_SUM ? eight_##type : NULL,
#define DIRECT_KERNEL(OP, op, TYPE, type, bytes, computed, ...)                                    \
	[TYPE][OP] = {PAIR(type, op) REPLACING(OP, type) FOLD_THREE(type, op)                      \
			      STEPS(type, op, computed)},
#define KERNEL(OP, op, TYPE, type, bytes, computed, ...)                                           \
	[TYPE][OP] = {PAIR(type, op) PACKED_TWO(OP, type) FOLD_THREE(type, op)                     \
			      STEPS(type, op, computed)},
#define HALF_PAIR(type, op)
#define FLOAT8_PAIR(type, op)
#if RING_HAVE_HALVES
#undef HALF_PAIR
#define HALF_PAIR PAIR
#endif
#if RING_HAVE_HALF_PAIRS
#undef FLOAT8_PAIR
#define FLOAT8_PAIR PAIR
#endif
#define HALF_KERNEL(OP, op, TYPE, type, bytes, computed, ...)                                      \
	[TYPE][OP] = {HALF_PAIR(type, op) HALF_TWO(OP, type) STEPS(type, op, computed)},
#define FLOAT8_KERNEL(OP, op, TYPE, type, bytes, computed, ...)                                    \
	[TYPE][OP] = {FLOAT8_PAIR(type, op) STEPS(type, op, computed)},
#define DIRECT_KERNELS(...) RING_REDUCE_OPS(DIRECT_KERNEL, __VA_ARGS__)
#define KERNELS(...) RING_REDUCE_OPS(KERNEL, __VA_ARGS__)
#define HALF_KERNELS(...) RING_REDUCE_OPS(HALF_KERNEL, __VA_ARGS__)
#define FLOAT8_KERNELS(...) RING_REDUCE_OPS(FLOAT8_KERNEL, __VA_ARGS__)
const struct ring_cpu_family SYMBOL(RING_CPU_FAMILY) = {
	.name = TEXT(RING_CPU_FAMILY),
#ifdef RING_CAN_STREAM
	.stream = ring_stream,
	.stream_end = ring_stream_end,
#endif
#ifdef RING_CAN_STREAM_MUCH
	.stream_much = ring_stream_much,
#endif
	.spread = spread,
	.kernels = {RING_DIRECT_TYPES(DIRECT_KERNELS, ) RING_PACKED_TYPES(KERNELS, )
			    RING_HALF_TYPES(HALF_KERNELS, ) RING_FLOAT8_TYPES(FLOAT8_KERNELS, )},
};
