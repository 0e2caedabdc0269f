/* SPDX-License-Identifier: MIT */
/* Which transport two ranks use, from their descriptions alone, and which names are transports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "transport/transport.h"
#include "base/waits.h"

/* Two processes of one host and user. */
static void describe(struct ring_peer peers[2])
{
	memset(peers, 0, 2 * sizeof(peers[0]));
	for (int i = 0; i < 2; i++) {
		peers[i].process = 100 + (uint64_t)i;
		peers[i].uid = 1000;
		peers[i].netns = 7;
		memset(peers[i].boot_id, 1, sizeof(peers[i].boot_id));
		strcpy(peers[i].host, "host");
	}
}

static const char *chosen(const struct ring_peer peers[2], const char *allowed, uint32_t masked)
{
	int there = ring_transport_choose(&peers[0], &peers[1], allowed, masked);
	int back = ring_transport_choose(&peers[1], &peers[0], allowed, masked);
	assert_int_equal(there, back); /* both ends decide alike */
	return there < 0 ? "none" : ring_transports[there]->name;
}

static void the_best_that_reaches_is_chosen(void **state)
{
	(void)state;
	struct ring_peer peers[2];
	describe(peers);
	assert_string_equal(chosen(peers, NULL, 0), "shm");
	assert_string_equal(chosen(peers, "", 0), "shm");
	peers[1].process = peers[0].process;
	assert_string_equal(chosen(peers, NULL, 0), "loopback");
	assert_string_equal(chosen(peers, "tcp,shm", 0), "shm");
	assert_string_equal(chosen(peers, "tcp", 0), "tcp");
	assert_string_equal(chosen(peers, NULL, 1), "shm");
	assert_string_equal(chosen(peers, NULL, 3), "tcp");
	assert_string_equal(chosen(peers, NULL, 15), "none");
	assert_string_equal(chosen(peers, "sh,tc", 0), "none");
}

static void memory_is_shared_on_one_host_only(void **state)
{
	(void)state;
	struct ring_peer peers[2];
	describe(peers);
	peers[1].boot_id[15]++;
	assert_string_equal(chosen(peers, NULL, 0), "tcp");
	describe(peers);
	peers[1].netns++;
	assert_string_equal(chosen(peers, NULL, 0), "tcp");
	describe(peers);
	peers[1].uid++;
	assert_string_equal(chosen(peers, NULL, 0), "tcp");
	describe(peers);
	strcpy(peers[1].host, "other");
	assert_string_equal(chosen(peers, NULL, 0), "tcp");
	describe(peers);
	for (int i = 0; i < 2; i++)
		memset(peers[i].boot_id, 0, sizeof(peers[i].boot_id)); /* unknown is not equal */
	assert_string_equal(chosen(peers, NULL, 0), "tcp");
	describe(peers);
	peers[0].process = peers[1].process = 0;
	assert_string_equal(chosen(peers, NULL, 0), "shm");
}

static void unknown_names_are_told(void **state)
{
	(void)state;
	char unknown[32];
	assert_true(ring_transport_names_valid("shm", unknown));
	assert_true(ring_transport_names_valid("tcp,loopback,shm", unknown));
	assert_true(ring_transport_names_valid("", unknown));
	assert_true(ring_transport_names_valid(NULL, unknown));
	assert_false(ring_transport_names_valid("shm,carrier,x", unknown));
	assert_string_equal(unknown, "carrier");
	assert_false(ring_transport_names_valid("shm,", unknown));
	assert_string_equal(unknown, "");
	assert_false(ring_transport_names_valid("a-name-that-is-much-longer-than-its-room", unknown));
	assert_string_equal(unknown, "a-name-that-is-much-longer-than");
}

/* Where a transport needs something, both ends must have said that they have it. */
static void what_one_end_lacks_is_not_chosen(void **state)
{
	(void)state;
	struct ring_peer peers[2];
	describe(peers);
	int verbs = 0;
	while (ring_transports[verbs] != &ring_transport_verbs)
		verbs++;
	for (int who = 0; who < 4; who++) {
		for (int i = 0; i < 2; i++)
			peers[i].transports = who >> i & 1 ? UINT32_C(1) << verbs : 0;
		const bool built = ring_transport_verbs.open;
		assert_string_equal(chosen(peers, "verbs,tcp", 0),
				    who == 3 && built ? "verbs" : "tcp");
	}
	char why[RING_ABSENT_TEXT];
	assert_int_equal(ring_transports_present("shm", why), 2);
	assert_string_equal(why, "");
}

/* What failed is left alone for a while, and then tried again. */
static void what_failed_is_shunned_for_a_while(void **state)
{
	(void)state;
	const uint64_t now = 12345678;
	ring_transports_shun(0, now);
	assert_int_equal(ring_transports_shunned(now), 0);
	ring_transports_shun(4, now);
	ring_transports_shun(2, now + 1000);
	assert_int_equal(ring_transports_shunned(now + 1000 + RING_SHUN_MS - 1), 6);
	assert_int_equal(ring_transports_shunned(now + 1000 + RING_SHUN_MS), 0);
	ring_transports_shun(4, now + 2 * RING_SHUN_MS);
	assert_int_equal(ring_transports_shunned(now + 2 * RING_SHUN_MS), 4);
}

/* A device's jobs read what arrived from slots, or it is copied once more. */
static void all_transports_have_slots(void **state)
{
	(void)state;
	for (int i = 0; i < ring_transport_count; i++) {
		const bool built = ring_transports[i]->open;
		assert_int_equal(ring_transports[i]->slots != NULL, built);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_best_that_reaches_is_chosen),
		cmocka_unit_test(memory_is_shared_on_one_host_only),
		cmocka_unit_test(what_one_end_lacks_is_not_chosen),
		cmocka_unit_test(unknown_names_are_told),
		cmocka_unit_test(what_failed_is_shunned_for_a_while),
		cmocka_unit_test(all_transports_have_slots),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
