/* SPDX-License-Identifier: MIT */
/*
 * Boards of several threads: everybody reads what everybody said, however far apart they run. mutate-fifo
 * takes the orderings of board.h away one by one and wants this test to fail.
 */
#include "transport/board.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#define RANKS 3
#define EXCHANGES 20000

static struct ring_board boards[RANKS];

struct rank {
	int rank;
	int wrong; /* texts */
};

/* What a rank says, and how much. */
static unsigned char letter(int rank, uint64_t exchange)
{
	return (unsigned char)(exchange * 31 + (uint64_t)rank * 7);
}

static size_t length(int rank, uint64_t exchange)
{
	return 1 + (exchange * 13 + (uint64_t)rank * 101) % RING_SHEET_BYTES;
}

static bool is_right(const struct ring_arrival *arrival, int rank, uint64_t exchange)
{
	const unsigned char *text = arrival->data;
	size_t equal = 0;
	while (equal < arrival->bytes && text[equal] == letter(rank, exchange))
		equal++;
	return arrival->bytes == length(rank, exchange) && equal == arrival->bytes;
}

/* What a rank said, if it is there: by one of the two ways to look. */
static bool look(int rank, uint64_t exchange, struct ring_arrival *arrival)
{
	if (exchange / 2 % 2)
		return ring_board_read(&boards[rank], exchange, arrival);
	arrival->bytes = length(rank, exchange);
	arrival->data = ring_board_says(&boards[rank], exchange, arrival->bytes);
	return arrival->data != NULL;
}

static void *take_part(void *argument)
{
	struct rank *self = argument;
	unsigned char text[RING_SHEET_BYTES];
	for (uint64_t exchange = 1; exchange <= EXCHANGES; exchange++) {
		size_t bytes = length(self->rank, exchange);
		memset(text, letter(self->rank, exchange), bytes);
		ring_board_write(&boards[self->rank], exchange, text, bytes / 3, text + bytes / 3,
				 bytes - bytes / 3);
		for (int peer = 0; peer < RANKS; peer++) {
			struct ring_arrival arrival;
			while (!look(peer, exchange, &arrival))
				sched_yield();
			self->wrong += !is_right(&arrival, peer, exchange);
		}
	}
	return NULL;
}

static void all_read_what_all_said(void **state)
{
	(void)state;
	pthread_t threads[RANKS];
	struct rank ranks[RANKS];
	memset(boards, 0, sizeof(boards));
	for (int i = 0; i < RANKS; i++) {
		ranks[i] = (struct rank){.rank = i};
		assert_int_equal(pthread_create(&threads[i], NULL, take_part, &ranks[i]), 0);
	}
	for (int i = 0; i < RANKS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(ranks[i].wrong, 0);
	}
}

static void what_was_not_said_is_not_read(void **state)
{
	(void)state;
	static struct ring_board board;
	struct ring_arrival arrival;
	const uint64_t first = 1;
	assert_false(ring_board_read(&board, first, &arrival));
	ring_board_write(&board, first, "one", 4, NULL, 0);
	assert_true(ring_board_read(&board, first, &arrival));
	assert_string_equal(arrival.data, "one");
	assert_string_equal(ring_board_says(&board, first, 4), "one");
	assert_null(ring_board_says(&board, first, 3));
	assert_false(ring_board_read(&board, 3, &arrival));
	assert_false(ring_board_read(&board, 2, &arrival));
}

static void a_size_that_cannot_be_is_none(void **state)
{
	(void)state;
	static struct ring_board board;
	struct ring_arrival arrival;
	const uint64_t number = 7;
	atomic_store(&ring_board_sheet(&board, number)->word, number << 32 | (RING_SHEET_BYTES + 1));
	assert_true(ring_board_read(&board, number, &arrival));
	assert_int_equal(arrival.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_not_said_is_not_read),
		cmocka_unit_test(a_size_that_cannot_be_is_none),
		cmocka_unit_test(all_read_what_all_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
