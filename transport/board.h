/* SPDX-License-Identifier: MIT */
/*
 * A board: a rank writes what it says to all others once, and they read it, or their parts of it,
 * in place. It lies behind the words of the rank's doorbell, in memory that all of them map.
 *
 *	sheets     2, which exchanges take in turn; the owner writes, all others read
 *	cpu        the owner was last on it, as far as it said; of use to those who share CPUs only
 *
 * In an exchange every rank reads what all others wrote. So two sheets are enough: a rank that
 * writes for exchange k has read what all wrote for k - 1, and by then they had read everything of
 * k - 2. Exchanges count from 1.
 *
 * What is said comes before its word: store-release and load-acquire. A sleeping reader is woken as
 * in doorbell_words.h: the owner rings after it wrote. The owner may be broken: what is read of it
 * is checked before it is used.
 */
#ifndef RING_BOARD_H
#define RING_BOARD_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "gate.h"
#include "transport.h"

#define RING_SHEET_BYTES 256

struct ring_sheet {
	alignas(RING_CACHE_LINE) _Atomic uint64_t word; /* exchange << 32 | bytes */
	unsigned char text[RING_SHEET_BYTES];
};

/* All zero at first. */
struct ring_board {
	struct ring_sheet sheets[2];
	alignas(RING_CACHE_LINE) _Atomic uint32_t cpu;
};

static inline struct ring_sheet *ring_board_sheet(struct ring_board *board, uint64_t exchange)
{
	return &board->sheets[exchange % 2];
}

/*
 * Owner: where to write what it says in an exchange, at most RING_SHEET_BYTES. Write the beginning
 * last: it lies in the line that readers look at all the time, and they take that line away after
 * each write. (64 B on 2 ranks: 0.45 -> 0.24 us.)
 */
static inline unsigned char *ring_board_begin(struct ring_board *board, uint64_t exchange)
{
	return ring_board_sheet(board, exchange)->text;
}

/* Owner: announces that this many bytes were written there. Ring the readers' doorbells next. */
static inline void ring_board_end(struct ring_board *board, uint64_t exchange, size_t bytes)
{
	atomic_store_explicit(&ring_board_sheet(board, exchange)->word, exchange << 32 | bytes,
			      memory_order_release); /* pairs with: read, says */
}

/* Owner: both with two texts, the second of which may be empty. */
static inline void ring_board_write(struct ring_board *board, uint64_t exchange, const void *first,
				    size_t first_bytes, const void *second, size_t second_bytes)
{
	unsigned char *text = ring_board_begin(board, exchange);
	if (second_bytes > 0)
		memcpy(text + first_bytes, second, second_bytes);
	memcpy(text, first, first_bytes);
	ring_board_end(board, exchange, first_bytes + second_bytes);
}

/*
 * Owner: will soon write this many bytes there, so its CPU may take the sheet from earlier readers.
 */
static inline void ring_board_approach(struct ring_board *board, uint64_t exchange, size_t bytes)
{
	const char *sheet = (const char *)ring_board_sheet(board, exchange);
	const size_t end = offsetof(struct ring_sheet, text) + bytes;
	for (size_t line = 0; line < end; line += RING_CACHE_LINE) {
#if defined(__x86_64__) || defined(__i386__)
		__asm__ __volatile__("prefetchw %0" : : "m"(sheet[line]));
#else
		__builtin_prefetch(sheet + line, 1);
#endif
	}
}

/* Owner: is on this CPU. (Mostly it still is, and the line stays with its readers.) */
static inline void ring_board_stay(struct ring_board *board, uint32_t cpu)
{
	if (atomic_load_explicit(&board->cpu, memory_order_relaxed) != cpu)
		atomic_store_explicit(&board->cpu, cpu, memory_order_relaxed);
}

static inline uint32_t ring_board_cpu(struct ring_board *board)
{
	return atomic_load_explicit(&board->cpu, memory_order_relaxed);
}

/* Reader: what was said in an exchange; false if nothing was yet. */
static inline bool ring_board_read(struct ring_board *board, uint64_t exchange,
				   struct ring_arrival *arrival)
{
	struct ring_sheet *sheet = ring_board_sheet(board, exchange);
	uint64_t word = atomic_load_explicit(&sheet->word,
					     memory_order_acquire); /* pairs with: end */
	if (word >> 32 != (uint32_t)exchange)
		return false;
	size_t bytes = (uint32_t)word;
	arrival->data = sheet->text;
	arrival->bytes = bytes <= RING_SHEET_BYTES ? bytes : 0;
	return true;
}

/* Reader: what was said in an exchange if it has this many bytes, else NULL. */
static inline const unsigned char *ring_board_says(struct ring_board *board, uint64_t exchange,
						   size_t bytes)
{
	struct ring_sheet *sheet = ring_board_sheet(board, exchange);
	uint64_t word = atomic_load_explicit(&sheet->word,
					     memory_order_acquire); /* pairs with: end */
	return word == (exchange << 32 | bytes) ? sheet->text : NULL;
}

#endif
