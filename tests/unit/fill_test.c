/* SPDX-License-Identifier: MIT */
/* What a sender concludes from the time that copies take, and that copies past the caches are copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "transport/fill.h"

#define BYTES 32768
#define FAST_NS (BYTES / 8) /* of a copy of so many bytes */
#define SLOW_NS (BYTES / 2)
#define INTERRUPTED_NS (BYTES * 20)

static void note(struct ring_fill *fill, int times, uint64_t ns)
{
	for (int i = 0; i < times; i++)
		ring_fill_note(fill, BYTES, ns);
}

static void one_slow_copy_is_chance(void **state)
{
	(void)state;
	struct ring_fill fill = {0};
	for (int i = 0; i < 3; i++) {
		note(&fill, 1, SLOW_NS);
		note(&fill, 1, FAST_NS);
	}
	assert_int_equal(fill.past, 0);
}

static void interrupted_copies_tell_nothing(void **state)
{
	(void)state;
	struct ring_fill fill = {0};
	note(&fill, 10, INTERRUPTED_NS);
	assert_int_equal(fill.past, 0);
	note(&fill, 1, SLOW_NS);
	note(&fill, 1, INTERRUPTED_NS);
	note(&fill, 1, SLOW_NS);
	assert_int_equal(fill.past, 8);
}

static void tries_grow_rare_while_they_are_slow(void **state)
{
	(void)state;
	static const unsigned past[] = {0, 8, 16, 32, 64, 128, 256, 512, 512, 512};
	struct ring_fill fill = {0};
	for (size_t i = 0; i < sizeof(past) / sizeof(past[0]); i++) {
		note(&fill, 1, SLOW_NS);
		assert_int_equal(fill.past, past[i]);
		fill.past = 0;
	}
	note(&fill, 1, FAST_NS);
	note(&fill, 2, SLOW_NS);
	assert_int_equal(fill.past, 8);
}

static void some_slots_are_left_to_copies(void **state)
{
	(void)state;
	struct ring_fill fill = {0};
	int claimed = 0;
	for (int i = 0; i < 160; i++)
		claimed += ring_fill_may_claim(&fill);
	assert_int_equal(claimed, 150);
}

static void no_slot_is_claimed_while_copies_go_past(void **state)
{
	(void)state;
	struct ring_fill fill = {.past = 1};
	for (int i = 0; i < 20; i++)
		assert_false(ring_fill_may_claim(&fill));
	fill.past = 0;
	assert_true(ring_fill_may_claim(&fill) || ring_fill_may_claim(&fill));
}

static void only_much_goes_past(void **state)
{
	(void)state;
	static unsigned char slot[BYTES], source[BYTES];
	struct ring_fill fill = {.slow = 2, .past = 3};
	for (size_t i = 0; i < BYTES; i++)
		source[i] = (unsigned char)(i * 7 % 251);
	ring_fill_slot(&fill, slot, source, 100);
	assert_int_equal(fill.past, 3);
	for (unsigned left = 3; left-- > 0;) {
		memset(slot, 0, BYTES);
		ring_fill_slot(&fill, slot, source, BYTES);
		assert_int_equal(fill.past, left);
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
		cmocka_unit_test(one_slow_copy_is_chance),
		cmocka_unit_test(interrupted_copies_tell_nothing),
		cmocka_unit_test(tries_grow_rare_while_they_are_slow),
		cmocka_unit_test(some_slots_are_left_to_copies),
		cmocka_unit_test(no_slot_is_claimed_while_copies_go_past),
		cmocka_unit_test(only_much_goes_past),
		cmocka_unit_test(copies_past_the_caches_are_exact),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
