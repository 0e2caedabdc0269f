/* SPDX-License-Identifier: MIT */
/* When slots are claimed, and that copies past the caches are copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "transport/fill.h"

#define BYTES 32768

static void some_slots_are_left_to_copies(void **state)
{
	(void)state;
	struct ring_fill fill = {0};
	int claimed = 0;
	for (int i = 0; i < 160; i++)
		claimed += ring_fill_claim(&fill);
	assert_int_equal(claimed, 150);
}

static void no_slot_is_claimed_while_copies_go_past(void **state)
{
	(void)state;
	struct ring_fill fill = {.copies.other = 1};
	for (int i = 0; i < 20; i++)
		assert_false(ring_fill_claim(&fill));
	fill.copies.other = 0;
	assert_true(ring_fill_claim(&fill) || ring_fill_claim(&fill));
}

/* As if they had been claimed earlier. */
static void no_slot_is_claimed_where_what_was_made_came_slowly(void **state)
{
	(void)state;
	struct ring_fill fill = {.asked = 1};
	for (int i = 0; i < 2; i++) {
		assert_true(ring_fill_claim(&fill));
		fill.claimed_ns -= BYTES / 2;
		ring_fill_commit(&fill, BYTES);
	}
	for (int i = 0; i < 8; i++)
		assert_false(ring_fill_claim(&fill));
	assert_true(ring_fill_claim(&fill));
	ring_fill_commit(&fill, 1 << 30);
	assert_true(ring_fill_claim(&fill));
	fill.claimed_ns -= 8192;
	ring_fill_commit(&fill, 4096); /* too little to tell */
	assert_true(ring_fill_claim(&fill));
}

static void only_much_goes_past(void **state)
{
	(void)state;
	static unsigned char slot[BYTES], source[BYTES];
	struct ring_fill fill = {.copies = {.slow = 2, .other = 3}};
	for (size_t i = 0; i < BYTES; i++)
		source[i] = (unsigned char)(i * 7 % 251);
	ring_fill_slot(&fill, slot, source, 100);
	assert_int_equal(fill.copies.other, 3);
	for (unsigned left = 3; left-- > 0;) {
		memset(slot, 0, BYTES);
		ring_fill_slot(&fill, slot, source, BYTES);
		assert_int_equal(fill.copies.other, left);
		assert_memory_equal(slot, source, BYTES);
	}
	memset(slot, 0, BYTES);
	ring_fill_slot(&fill, slot, source, BYTES);
	assert_memory_equal(slot, source, BYTES);
}

static void copies_past_the_caches_are_exact(void **state)
{
	(void)state;
	enum { ROOM = 512, GUARD = 0xa5 };
	_Alignas(64) unsigned char slot[ROOM], wanted[ROOM], source[ROOM];
	for (size_t i = 0; i < ROOM; i++)
		source[i] = (unsigned char)(i * 7 % 251);
	for (size_t at = 0; at < 64; at++)
		for (size_t from = 0; from < 64; from += 5)
			for (size_t bytes = 0; bytes <= 300; bytes++) {
				memset(slot, GUARD, ROOM);
				memset(wanted, GUARD, ROOM);
				memcpy(wanted + at, source + from, bytes);
				ring_fill_past(slot + at, source + from, bytes);
				assert_memory_equal(slot, wanted, ROOM);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(some_slots_are_left_to_copies),
		cmocka_unit_test(no_slot_is_claimed_while_copies_go_past),
		cmocka_unit_test(no_slot_is_claimed_where_what_was_made_came_slowly),
		cmocka_unit_test(only_much_goes_past),
		cmocka_unit_test(copies_past_the_caches_are_exact),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
