/* SPDX-License-Identifier: MIT */
/* The hash that compares ranks: no change of a few bits goes unseen, wherever they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "train/model/hash.h"

#define BYTES 77 /* not a multiple of what is taken at once */

static void flip(unsigned char *bytes, int bit)
{
	bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
}

/* Signs are the bits that products carry nowhere. */
static void one_or_two_flipped_bits_are_seen(void **state)
{
	unsigned char bytes[BYTES] = {0};
	uint64_t right = train_hash(bytes, BYTES);
	(void)state;
	for (int a = 0; a < BYTES * 8; a++) {
		flip(bytes, a);
		assert_true(train_hash(bytes, BYTES) != right);
		for (int b = a + 1; b < BYTES * 8; b++) {
			flip(bytes, b);
			assert_true(train_hash(bytes, BYTES) != right);
			flip(bytes, b);
		}
		flip(bytes, a);
	}
	assert_true(train_hash(bytes, BYTES) == right);
}

static void lengths_are_seen(void **state)
{
	static const unsigned char bytes[BYTES];
	(void)state;
	for (size_t a = 0; a < BYTES; a++)
		for (size_t b = a + 1; b < BYTES; b++)
			assert_true(train_hash(bytes, a) != train_hash(bytes, b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_or_two_flipped_bits_are_seen),
		cmocka_unit_test(lengths_are_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
