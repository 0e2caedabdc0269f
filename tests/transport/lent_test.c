/* SPDX-License-Identifier: MIT */
/*
 * Regions that are a device's, over every transport that can reach: who opens them, how often, by
 * what descriptor, and that none is left. The device is made up: what it opens is only counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fd.h"
#include "ringccl.h"
#include "tests/holdings.h"
#include "tests/listen.h"
#include "tests/transport/pair.h"

#define DEPTH 2
#define SLOT_BYTES 100
#define CHIP 5
#define BYTES 4096
#define OFFSET 64 /* of the region in what is opened */

static const struct pair_kind kinds[] = {
	{.name = "loopback", .transport = &ring_transport_loopback},
	{.name = "shm", .transport = &ring_transport_shm},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* ---- the device ------------------------------------------------------------------------------ */

static char memory[BYTES], opened_memory[OFFSET + BYTES]; /* never touched */
static int opened, closed, let_in, refusal;
static bool had_descriptor, puts_off;

static int open_it(int chip, const struct ring_lent *lent, int fd, void **there, size_t *bytes)
{
	assert_int_equal(chip, CHIP);
	assert_int_equal(lent->handle[0], 'x');
	if (refusal)
		return refusal;
	opened++;
	had_descriptor = fd >= 0;
	if (had_descriptor)
		assert_true(fcntl(fd, F_GETFD) >= 0);
	*there = opened_memory;
	*bytes = sizeof(opened_memory);
	return 0;
}

static void close_it(int chip, void *there)
{
	assert_int_equal(chip, CHIP);
	assert_ptr_equal(there, opened_memory);
	closed++;
}

static bool has_closed(int chip)
{
	assert_int_equal(chip, CHIP);
	return !puts_off;
}

static int let(int chip, const void *there)
{
	assert_int_equal(chip, CHIP);
	assert_ptr_equal(there, memory);
	if (refusal)
		return refusal;
	let_in++;
	return 0;
}

static const struct ring_opener opener = {
	.chip = CHIP, .open = open_it, .close = close_it, .has_closed = has_closed, .reach = let};

/* ---- a link ---------------------------------------------------------------------------------- */

static bool maps(void **state)
{
	return ((const struct pair_kind *)*state)->transport == &ring_transport_shm;
}

/* A link over which that region is to be shared. */
static void make(struct pair *pair, void **state, struct ring_region *region, bool descriptor)
{
	*region = (struct ring_region){.number = 7,
				       .start = memory,
				       .bytes = BYTES,
				       .fd = descriptor ? ring_fd_memory("lent") : -1,
				       .lends = true,
				       .lent = {.handle = "x", .offset = OFFSET}};
	opened = closed = let_in = refusal = 0;
	puts_off = false;
	assert_true(pair_init(pair));
	assert_int_equal(pair_open(pair, *state, DEPTH, SLOT_BYTES, 0), 0);
}

/* It was, and so many descriptors there were before. */
static int begin(struct pair *pair, void **state, struct ring_region *region, bool descriptor)
{
	make(pair, state, region, descriptor);
	int fds = holdings_fds();
	assert_int_equal(ring_link_share(pair->ends[SENDER], region), 0);
	return fds;
}

static void end(struct pair *pair, const struct ring_region *region)
{
	pair_close(pair);
	ring_fd_close(region->fd);
}

static int find(const struct pair *pair, uint64_t offset, void **there)
{
	return ring_link_open(pair->ends[RECEIVER], 7, offset, 1, &opener, there);
}

/* Where that is for jobs of the chip. */
static void *place(void **state, uint64_t offset)
{
	return maps(state) ? opened_memory + OFFSET + offset : memory + offset;
}

static int tidy(const struct pair *pair)
{
	return ring_link_tidy(pair->ends[RECEIVER]);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void open_once(void **state, bool descriptor)
{
	struct pair pair;
	struct ring_region region;
	void *there;
	const int fds = begin(&pair, state, &region, descriptor);
	for (uint64_t offset = 0; offset < 3; offset++) {
		assert_int_equal(find(&pair, offset, &there), 0);
		assert_ptr_equal(there, place(state, offset));
	}
	assert_int_equal(opened, maps(state));
	assert_int_equal(let_in, !maps(state));
	assert_int_equal(holdings_fds(), fds);
	if (maps(state))
		assert_int_equal(had_descriptor, descriptor);
	ring_link_forget(pair.ends[SENDER], 7);
	assert_int_equal(ring_link_lends(pair.ends[SENDER], 7), maps(state));
	assert_int_equal(tidy(&pair), 0);
	assert_int_equal(closed, maps(state));
	assert_false(ring_link_lends(pair.ends[SENDER], 7));
	end(&pair, &region);
	assert_int_equal(closed, maps(state));
}

static void it_is_opened_once_by_its_descriptor(void **state)
{
	open_once(state, true);
}

static void it_is_opened_once_by_its_handle(void **state)
{
	open_once(state, false);
}

/* What a device does later than it is asked to is not let go before. */
static void it_is_lent_until_it_is_closed(void **state)
{
	struct pair pair;
	struct ring_region region;
	void *there;
	begin(&pair, state, &region, true);
	assert_int_equal(find(&pair, 0, &there), 0);
	ring_link_forget(pair.ends[SENDER], 7);
	puts_off = true;
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(tidy(&pair), 0);
		assert_int_equal(closed, maps(state));
		assert_int_equal(ring_link_lends(pair.ends[SENDER], 7), maps(state));
	}
	puts_off = false;
	assert_int_equal(tidy(&pair), 0);
	assert_false(ring_link_lends(pair.ends[SENDER], 7));
	end(&pair, &region);
	assert_int_equal(closed, maps(state));
}

/* Whoever lent it may free it, so nobody waits for a device that is slow to close it. */
static void who_need_not_know_is_not_kept_waiting(void **state)
{
	static const struct ring_opener careless = {
		.chip = CHIP, .open = open_it, .close = close_it, .reach = let};
	struct pair pair;
	struct ring_region region;
	void *there;
	begin(&pair, state, &region, true);
	puts_off = true;
	assert_int_equal(ring_link_open(pair.ends[RECEIVER], 7, 0, 1, &careless, &there), 0);
	assert_true(ring_link_part(pair.ends[RECEIVER]));
	assert_int_equal(closed, maps(state));
	ring_link_forget(pair.ends[SENDER], 7);
	assert_false(ring_link_lends(pair.ends[SENDER], 7));
	end(&pair, &region);
}

static void what_nobody_asks_for_is_not_opened(void **state)
{
	struct pair pair;
	struct ring_region region;
	const int fds = begin(&pair, state, &region, true);
	assert_int_equal(tidy(&pair), 0);
	assert_int_equal(holdings_fds(), fds + maps(state));
	ring_link_forget(pair.ends[SENDER], 7);
	assert_int_equal(tidy(&pair), 0);
	assert_int_equal(holdings_fds(), fds);
	end(&pair, &region);
	assert_int_equal(opened + closed + let_in, 0);
}

/* Whoever could not open it may try again. */
static void refusals_are_told(void **state)
{
	struct pair pair;
	struct ring_region region;
	void *there;
	begin(&pair, state, &region, true);
	refusal = RING_ENOTSUP;
	assert_int_equal(find(&pair, 0, &there), RING_ENOTSUP);
	refusal = 0;
	assert_int_equal(find(&pair, 0, &there), 0);
	if (maps(state))
		assert_true(had_descriptor);
	end(&pair, &region);
	assert_int_equal(closed, maps(state));
}

static void nothing_is_left_of_a_link(void **state)
{
	struct pair pair;
	struct ring_region region;
	void *there;
	const int before = holdings_fds();
	for (int asks = 0; asks < 2; asks++) {
		begin(&pair, state, &region, true);
		assert_int_equal(asks ? find(&pair, 0, &there) : tidy(&pair), 0);
		end(&pair, &region);
		assert_int_equal(closed, opened);
		assert_int_equal(holdings_fds(), before);
	}
}

static void it_is_not_taken_for_the_hosts(void **state)
{
	struct pair pair;
	struct ring_region region;
	void *there;
	begin(&pair, state, &region, true);
	assert_int_equal(ring_link_map(pair.ends[RECEIVER], 7, 0, 1, &there), RING_EPEER);
	end(&pair, &region);
}

/* What the owner says of a region is compared with what was opened, however often it is asked for. */
static void what_is_not_inside_is_refused(void **state)
{
	static const struct {
		uint64_t offset;
		size_t bytes;
		bool fits;
	} told[] = {
		{0, OFFSET + BYTES, true},
		{OFFSET + BYTES - 1, 1, true},
		{OFFSET, BYTES + 1, false},
		{OFFSET + 1, BYTES, false},
		{OFFSET + BYTES, 1, false},
		{0, SIZE_MAX, false},
		{UINT64_MAX, 1, false},
		{UINT64_MAX - BYTES + 2, BYTES, false},
		{(uint64_t)SIZE_MAX - 1, SIZE_MAX, false},
	};
	const int before = holdings_fds();
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		struct pair pair;
		struct ring_region region;
		void *there = NULL;
		make(&pair, state, &region, true);
		region.lent.offset = told[i].offset;
		region.bytes = told[i].bytes;
		assert_int_equal(ring_link_share(pair.ends[SENDER], &region), 0);
		const int should = maps(state) && !told[i].fits ? RING_EPEER : 0;
		for (int ask = 0; ask < 2; ask++)
			assert_int_equal(find(&pair, 0, &there), should);
		assert_int_equal(there != NULL, should == 0);
		end(&pair, &region);
		assert_int_equal(opened, maps(state));
		assert_int_equal(closed, opened);
		assert_int_equal(holdings_fds(), before);
	}
}

/* A device tells whether a descriptor is what its owner says. */
static void a_lie_is_the_peers(void **state)
{
	struct pair pair;
	struct ring_region region;
	void *there = NULL;
	begin(&pair, state, &region, true);
	refusal = RING_EPEER;
	listen_begin();
	assert_int_equal(find(&pair, 0, &there), RING_EPEER);
	char *said = listen_end();
	assert_non_null(strstr(said, "shared region: "));
	free(said);
	end(&pair, &region);
	assert_int_equal(closed, 0);
}

static const struct {
	const char *name;
	void (*run)(void **state);
} cases[] = {
	{"it is opened once, by its descriptor", it_is_opened_once_by_its_descriptor},
	{"it is opened once, by its handle", it_is_opened_once_by_its_handle},
	{"it is lent until it is closed", it_is_lent_until_it_is_closed},
	{"who need not know is not kept waiting", who_need_not_know_is_not_kept_waiting},
	{"what nobody asks for is not opened", what_nobody_asks_for_is_not_opened},
	{"refusals are told", refusals_are_told},
	{"nothing is left of a link", nothing_is_left_of_a_link},
	{"it is not taken for the host's", it_is_not_taken_for_the_hosts},
	{"what is not inside is refused", what_is_not_inside_is_refused},
	{"a lie is the peer's", a_lie_is_the_peers},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

int main(void)
{
	static struct CMUnitTest tests[KINDS * CASES];
	static char names[KINDS * CASES][80];
	setenv("RING_LOG", "warn", 1);
	for (size_t i = 0; i < KINDS * CASES; i++) {
		const struct pair_kind *kind = &kinds[i / CASES];
		snprintf(names[i], sizeof(names[i]), "%s: %s", kind->name, cases[i % CASES].name);
		tests[i] = (struct CMUnitTest){.name = names[i],
					       .test_func = cases[i % CASES].run,
					       .initial_state = (void *)kind};
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
