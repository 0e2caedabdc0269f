/* SPDX-License-Identifier: MIT */
/* Which copies go past the caches, and that those are copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "transport/memory/fill.h"

#define BYTES 32768

static void only_much_goes_past(void **state)
{
	(void)state;
	static unsigned char slot[BYTES], source[BYTES];
	struct ring_trial copies = {.slow = 2, .other = 3};
	for (size_t i = 0; i < BYTES; i++)
		source[i] = (unsigned char)(i * 7 % 251);
	ring_fill_slot(&copies, slot, source, 100);
	assert_int_equal(copies.other, 3);
	for (unsigned left = 3; left-- > 0;) {
		memset(slot, 0, BYTES);
		ring_fill_slot(&copies, slot, source, BYTES);
		assert_int_equal(copies.other, left);
		assert_memory_equal(slot, source, BYTES);
	}
	memset(slot, 0, BYTES);
	ring_fill_slot(&copies, slot, source, BYTES);
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
		cmocka_unit_test(only_much_goes_past),
		cmocka_unit_test(copies_past_the_caches_are_exact),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
