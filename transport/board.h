/* SPDX-License-Identifier: MIT */
/*
 * A board: where a rank writes what it says to all others, so that it is written once, and they read it,
 * or their parts of it, in place. It lies on the page of the rank's doorbell, which they all map.
 *
 *	sheet 0 | what was said in exchanges 2, 4, 6 ...      one writer, who owns the board
 *	sheet 1 | what was said in exchanges 1, 3, 5 ...      many readers
 *
 * In an exchange every rank writes and reads what all others wrote. So two sheets are enough: whoever
 * writes for exchange k has read what all wrote for k - 1, and they had read everything of k - 2 by then.
 *
 * What is said comes before its word: store-release and load-acquire. A reader who sleeps is woken as
 * doorbell_words.h has it: a board's owner rings behind what it wrote. The owner may be broken: what is
 * read of it is checked before it is used.
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
	alignas(RING_CACHE_LINE) _Atomic uint64_t word; /* number of the exchange << 32 | bytes */
	unsigned char text[RING_SHEET_BYTES];
};

/* All zero at first; exchanges count from 1. */
struct ring_board {
	struct ring_sheet sheets[2];
};

static inline struct ring_sheet *ring_board_sheet(struct ring_board *board, uint64_t exchange)
{
	return &board->sheets[exchange % 2];
}

/*
 * Owner: says two texts, of at most RING_SHEET_BYTES together, in an exchange; the second one may be empty. Ring
 * the readers' doorbells next.
 */
static inline void ring_board_write(struct ring_board *board, uint64_t exchange, const void *first,
				    size_t first_bytes, const void *second, size_t second_bytes)
{
	struct ring_sheet *sheet = ring_board_sheet(board, exchange);
	memcpy(sheet->text, first, first_bytes);
	if (second_bytes > 0)
		memcpy(sheet->text + first_bytes, second, second_bytes);
	atomic_store_explicit(&sheet->word, exchange << 32 | (first_bytes + second_bytes),
			      memory_order_release); /* pairs with: read, says */
}

/* Reader: what was said in an exchange; false if nothing was yet. */
static inline bool ring_board_read(struct ring_board *board, uint64_t exchange,
				   struct ring_arrival *arrival)
{
	struct ring_sheet *sheet = ring_board_sheet(board, exchange);
	uint64_t word = atomic_load_explicit(&sheet->word,
					     memory_order_acquire); /* pairs with: write */
	if (word >> 32 != (uint32_t)exchange)
		return false;
	size_t bytes = (uint32_t)word;
	arrival->data = sheet->text;
	arrival->bytes = bytes <= RING_SHEET_BYTES ? bytes : 0;
	return true;
}

/* Reader: what was said in an exchange if it has so many bytes, else NULL. */
static inline const unsigned char *ring_board_says(struct ring_board *board, uint64_t exchange,
						   size_t bytes)
{
	struct ring_sheet *sheet = ring_board_sheet(board, exchange);
	uint64_t word = atomic_load_explicit(&sheet->word,
					     memory_order_acquire); /* pairs with: write */
	return word == (exchange << 32 | bytes) ? sheet->text : NULL;
}

#endif
