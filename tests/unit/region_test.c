/* SPDX-License-Identifier: MIT */
/* The registry of memory: which region a place is in, what owners make of it, and when both end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/region.h"

#define BYTES 4096

static char memory[4 * BYTES];

static struct ring_region *add(size_t at, size_t bytes, int fd, bool allocated)
{
	struct ring_region *region = ring_region_add(&(struct ring_region){
		.start = memory + at, .bytes = bytes, .fd = fd, .allocated = allocated});
	assert_non_null(region);
	return region;
}

/* ---- finding --------------------------------------------------------------------------------- */

static void the_most_useful_of_several_is_found(void **state)
{
	(void)state;
	struct ring_region *whole = add(0, sizeof(memory), -1, false);
	struct ring_region *ours = add(BYTES, 2 * BYTES, -1, true);
	struct ring_region *shared = add(BYTES, BYTES, 1000, true);
	for (int again = 0; again < 2; again++) {
		assert_ptr_equal(ring_region_find(memory, 1), whole);
		assert_ptr_equal(ring_region_find(memory + BYTES, BYTES), shared);
		assert_ptr_equal(ring_region_find(memory + BYTES, BYTES + 1), ours);
		assert_ptr_equal(ring_region_find(memory + BYTES, 3 * BYTES), whole);
		assert_null(ring_region_find(memory + BYTES, 3 * BYTES + 1));
		assert_null(ring_region_find(memory, SIZE_MAX));
	}
	ring_region_forget(shared);
	assert_ptr_equal(ring_region_find(memory + BYTES, BYTES), ours);
	ring_region_release(ours);
	assert_ptr_equal(ring_region_find(memory + BYTES, BYTES), whole);
	ring_region_release(shared);
	ring_region_release(whole);
	assert_null(ring_region_find(memory, 1));
}

/* ---- holders --------------------------------------------------------------------------------- */

static int freed;

static void count_freed(struct ring_region *region)
{
	(void)region;
	freed++;
}

static void the_last_holder_frees_it(void **state)
{
	(void)state;
	struct ring_region *region = ring_region_add(&(
		struct ring_region){.start = memory, .bytes = BYTES, .fd = -1, .free = count_freed});
	freed = 0;
	assert_ptr_equal(ring_region_hold_number(region->number), region);
	assert_true(ring_region_withdraw(region)); /* its owner and one more */
	assert_false(ring_region_hold(region));
	assert_null(ring_region_hold_number(region->number));
	ring_region_release(region);
	assert_int_equal(freed, 0);
	ring_region_release(region);
	assert_int_equal(freed, 1);
}

static void what_several_hold_is_not_withdrawn(void **state)
{
	(void)state;
	struct ring_region *region = add(0, BYTES, -1, true);
	assert_true(ring_region_hold(region));
	assert_true(ring_region_hold(region));
	assert_false(ring_region_withdraw(region));
	assert_true(ring_region_is_known(region));
	for (int i = 0; i < 3; i++)
		ring_region_release(region);
}

/* ---- accesses -------------------------------------------------------------------------------- */

static int made, dropped;

static void drop(struct ring_access *access)
{
	dropped++;
	free(access);
}

static struct ring_access *make(void *owner, const struct ring_region *region)
{
	(void)region;
	struct ring_access *access = malloc(sizeof(*access));
	*access = (struct ring_access){.owner = owner, .drop = drop};
	made++;
	return access;
}

static const struct ring_access *access_of(int *owner)
{
	return ring_region_access(memory + 5, 10, owner, make);
}

static void accesses_are_made_once_and_go_with_either(void **state)
{
	(void)state;
	int one, other;
	made = dropped = 0;
	assert_null(access_of(&one));
	struct ring_region *region = add(0, BYTES, -1, false);
	const struct ring_access *access = access_of(&one);
	assert_ptr_equal(access_of(&one), access);
	assert_ptr_not_equal(access_of(&other), access);
	assert_ptr_equal(access_of(&one), access);
	assert_int_equal(made, 2);
	ring_region_drop_accesses(&one);
	assert_int_equal(dropped, 1);
	assert_non_null(access_of(&one)); /* a new owner at the same address */
	assert_int_equal(made, 3);
	ring_region_forget(region);
	assert_int_equal(dropped, 3);
	assert_null(access_of(&other));
	ring_region_release(region);
}

static void devices_memory_is_not_the_hosts(void **state)
{
	(void)state;
	int owner;
	const struct ring_device *device = (const struct ring_device *)memory;
	struct ring_region *region = ring_region_add(&(struct ring_region){
		.start = memory, .bytes = BYTES, .fd = -1, .device = device, .allocated = true});
	assert_null(access_of(&owner));
	assert_ptr_equal(ring_region_find(memory, 1)->device, device);
	ring_region_release(region);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_most_useful_of_several_is_found),
		cmocka_unit_test(the_last_holder_frees_it),
		cmocka_unit_test(what_several_hold_is_not_withdrawn),
		cmocka_unit_test(accesses_are_made_once_and_go_with_either),
		cmocka_unit_test(devices_memory_is_not_the_hosts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
