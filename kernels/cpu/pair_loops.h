/* SPDX-License-Identifier: MIT */
/*
 * The loops over two sources, for every type and operation. loops.c calls each with constants:
 * the sizes of an element and a word, and what is done to one. The compiler makes a separate loop
 * of each call.
 */
#ifndef RING_PAIR_LOOPS_H
#define RING_PAIR_LOOPS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cpu.h"

/* *to = *a op *b; to may be a or b. */
typedef void ring_pair_step(unsigned char *to, const unsigned char *a, const unsigned char *b);

/*
 * What a loop is made for; all constant. A block is of whole words, and a word of whole elements.
 */
struct ring_pair_shape {
	size_t bytes, word_bytes;
	ring_pair_step *element, *word;
};

#define RING_PAIR_LOOP static inline __attribute__((always_inline)) void

/*
 * A block at a time, with prefetches: hardware does not prefetch past a page, nor far ahead of
 * loops that compute for long. Prefetching ends with the vector: another rank may be at work behind
 * it.
 */
#define RING_PAIR_BLOCK 256

/*
 * left: bytes from the block's first to the end. Through an integer: of a pointer gcc would assume
 * that it ends there.
 */
RING_PAIR_LOOP prefetch(const unsigned char *block, size_t left, size_t ahead)
{
	uintptr_t begin = (uintptr_t)block + ahead;
	for (uintptr_t i = 0; i < RING_PAIR_BLOCK && left > ahead; i += 64)
		__builtin_prefetch((const void *)(begin + i));
}

/* to = a op b */
RING_PAIR_LOOP ring_pair_loop(struct ring_pair_shape shape, unsigned char *restrict to,
			      const unsigned char *restrict a, const unsigned char *restrict b,
			      size_t end)
{
	size_t i = 0, ahead = ring_cpu_ahead;
	for (; i + RING_PAIR_BLOCK <= end; i += RING_PAIR_BLOCK) {
		prefetch(a + i, end - i, ahead);
		prefetch(b + i, end - i, ahead);
		for (size_t k = i; k < i + RING_PAIR_BLOCK; k += shape.word_bytes)
			shape.word(to + k, a + k, b + k);
	}
	for (; i < end; i += shape.bytes)
		shape.element(to + i, a + i, b + i);
}

/* to = to op b */
RING_PAIR_LOOP ring_onto_loop(struct ring_pair_shape shape, unsigned char *restrict to,
			      const unsigned char *restrict b, size_t end)
{
	size_t i = 0, ahead = ring_cpu_ahead;
	for (; i + RING_PAIR_BLOCK <= end; i += RING_PAIR_BLOCK) {
		prefetch(to + i, end - i, ahead);
		prefetch(b + i, end - i, ahead);
		for (size_t k = i; k < i + RING_PAIR_BLOCK; k += shape.word_bytes)
			shape.word(to + k, to + k, b + k);
	}
	for (; i < end; i += shape.bytes)
		shape.element(to + i, to + i, b + i);
}

/* a = b = a op b */
RING_PAIR_LOOP ring_both_loop(struct ring_pair_shape shape, unsigned char *restrict a,
			      unsigned char *restrict b, size_t end)
{
	size_t i = 0, ahead = ring_cpu_ahead;
	for (; i + RING_PAIR_BLOCK <= end; i += RING_PAIR_BLOCK) {
		prefetch(a + i, end - i, ahead);
		prefetch(b + i, end - i, ahead);
		for (size_t k = i; k < i + RING_PAIR_BLOCK; k += shape.word_bytes) {
			shape.word(a + k, a + k, b + k);
			memcpy(b + k, a + k, shape.word_bytes);
		}
	}
	for (; i < end; i += shape.bytes) {
		shape.element(a + i, a + i, b + i);
		memcpy(b + i, a + i, shape.bytes);
	}
}

/* to = also = a op b; each of both may be a source. */
RING_PAIR_LOOP ring_two_loop(struct ring_pair_shape shape, unsigned char *to, unsigned char *also,
			     const unsigned char *a, const unsigned char *b, size_t end)
{
	unsigned char sum[RING_PAIR_BLOCK];
	size_t i = 0, ahead = ring_cpu_ahead;
	for (; i + RING_PAIR_BLOCK <= end; i += RING_PAIR_BLOCK) {
		prefetch(a + i, end - i, ahead);
		prefetch(b + i, end - i, ahead);
		for (size_t k = i; k < i + RING_PAIR_BLOCK; k += shape.word_bytes) {
			shape.word(sum, a + k, b + k);
			memcpy(to + k, sum, shape.word_bytes);
			memcpy(also + k, sum, shape.word_bytes);
		}
	}
	for (; i < end; i += shape.bytes) {
		shape.element(sum, a + i, b + i);
		memcpy(to + i, sum, shape.bytes);
		memcpy(also + i, sum, shape.bytes);
	}
}

#endif
