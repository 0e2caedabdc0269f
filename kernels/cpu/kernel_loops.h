/* SPDX-License-Identifier: MIT */
/*
 * The loops of one type and operation, included once for each (type_loops.h), so without a guard.
 * Makes of float32 and sum: fold_float32_sum(), pair_float32_sum() ... and kernel_float32_sum.
 *
 * OP           the operation's name
 * OP_IS_SUM    1 or 0
 */

/* ---- folding a source into a tile ------------------------------------------------------------ */

#ifdef CONVERTED
static void OF_KERNEL(fold)(union ring_tile *restrict tile, const void *restrict source,
			    size_t count)
{
	union ring_tile other;
	OF_TYPE(load)(&other, source, count);
	for (size_t i = 0; i < count; i++)
		tile->COMPUTED[i] = COMPUTE(OP)(tile->COMPUTED[i], other.COMPUTED[i]);
}
#else
static void OF_KERNEL(fold)(union ring_tile *restrict tile, const void *restrict source,
			    size_t count)
{
	const unsigned char *b = source;
	for (size_t i = 0; i < count; i++)
		tile->COMPUTED[i] = COMPUTE(OP)(tile->COMPUTED[i], LOAD(b + i * BYTES));
}

static void OF_KERNEL(fold_three)(union ring_tile *restrict tile, const void *first,
				  const void *second, const void *third, size_t count)
{
	const unsigned char *b = first, *c = second, *d = third;
	for (size_t i = 0; i < count; i++) {
		NUMBER sum = tile->COMPUTED[i];
		sum = COMPUTE(OP)(sum, LOAD(b + i * BYTES));
		sum = COMPUTE(OP)(sum, LOAD(c + i * BYTES));
		sum = COMPUTE(OP)(sum, LOAD(d + i * BYTES));
		tile->COMPUTED[i] = sum;
	}
}
#endif

/* ---- pairs: blocks of whole words, with prefetches, and the elements that are left ----------- */

#ifdef WORD
_Static_assert(BLOCK % WORD_BYTES == 0 && WORD_BYTES % BYTES == 0, "whole words, whole elements");

RING_ELEMENT void OF_KERNEL(element)(unsigned char *to, const unsigned char *a,
				     const unsigned char *b)
{
	STORE(to, COMPUTE(OP)(LOAD(a), LOAD(b)));
}

/* result = left op right */
static void OF_KERNEL(pair)(void *restrict result, const void *restrict left,
			    const void *restrict right, size_t count)
{
	unsigned char *to = result;
	const unsigned char *a = left, *b = right;
	size_t i = 0, end = count * BYTES, ahead = ring_cpu_ahead;
	for (; i + BLOCK <= end; i += BLOCK) {
		prefetch(a + i, end - i, ahead);
		prefetch(b + i, end - i, ahead);
		for (size_t k = i; k < i + BLOCK; k += WORD_BYTES)
			WORD(to + k, a + k, b + k);
	}
	for (; i < end; i += BYTES)
		OF_KERNEL(element)(to + i, a + i, b + i);
}

/* result = result op right */
static void OF_KERNEL(onto)(void *restrict result, const void *restrict right, size_t count)
{
	unsigned char *to = result;
	const unsigned char *b = right;
	size_t i = 0, end = count * BYTES, ahead = ring_cpu_ahead;
	for (; i + BLOCK <= end; i += BLOCK) {
		prefetch(to + i, end - i, ahead);
		prefetch(b + i, end - i, ahead);
		for (size_t k = i; k < i + BLOCK; k += WORD_BYTES)
			WORD(to + k, to + k, b + k);
	}
	for (; i < end; i += BYTES)
		OF_KERNEL(element)(to + i, to + i, b + i);
}

/* left = right = left op right */
static void OF_KERNEL(both)(void *restrict left, void *restrict right, size_t count)
{
	unsigned char *a = left, *b = right;
	size_t i = 0, end = count * BYTES, ahead = ring_cpu_ahead;
	for (; i + BLOCK <= end; i += BLOCK) {
		prefetch(a + i, end - i, ahead);
		prefetch(b + i, end - i, ahead);
		for (size_t k = i; k < i + BLOCK; k += WORD_BYTES) {
			WORD(a + k, a + k, b + k);
			memcpy(b + k, a + k, WORD_BYTES);
		}
	}
	for (; i < end; i += BYTES) {
		OF_KERNEL(element)(a + i, a + i, b + i);
		memcpy(b + i, a + i, BYTES);
	}
}
#endif

#if defined(TWO_RESULTS) && OP_IS_SUM
/* first = second = left op right; each of both may be a source. */
static void OF_KERNEL(two)(void *first, void *second, const void *left, const void *right,
			   size_t count)
{
	unsigned char *to = first, *also = second, sum[BLOCK];
	const unsigned char *a = left, *b = right;
	size_t i = 0, end = count * BYTES, ahead = ring_cpu_ahead;
	for (; i + BLOCK <= end; i += BLOCK) {
		prefetch(a + i, end - i, ahead);
		prefetch(b + i, end - i, ahead);
		for (size_t k = i; k < i + BLOCK; k += WORD_BYTES) {
			WORD(sum, a + k, b + k);
			memcpy(to + k, sum, WORD_BYTES);
			memcpy(also + k, sum, WORD_BYTES);
		}
	}
	for (; i < end; i += BYTES) {
		OF_KERNEL(element)(sum, a + i, b + i);
		memcpy(to + i, sum, BYTES);
		memcpy(also + i, sum, BYTES);
	}
}
#endif

/* ---- all of them ----------------------------------------------------------------------------- */

static const struct ring_cpu_kernel OF_KERNEL(kernel) = {
#ifdef WORD
	.loops = {OF_KERNEL(pair), OF_KERNEL(onto)},
	.both = OF_KERNEL(both),
#endif
#if defined(TWO_RESULTS) && OP_IS_SUM
	.two = OF_KERNEL(two),
#endif
#if defined(DIRECT) && OP_IS_SUM
	.four = OF_TYPE(four),
	.eight = OF_TYPE(eight),
#endif
#ifndef CONVERTED
	.fold_three = OF_KERNEL(fold_three),
#endif
	.load = OF_TYPE(load),
	.scale = OF_TYPE(scale),
	.fold = OF_KERNEL(fold),
	.fold_tile = NAME(NAME(fold, COMPUTED), OP),
	.divide = OF_TYPE(divide),
	.store = OF_TYPE(store),
};

#undef OP
#undef OP_IS_SUM
