/* SPDX-License-Identifier: MIT */
/* Messages that land where the receiver wants them: expect() of transport.h, for those that have it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/transport/pair.h"
#include "tests/transport/steps.h"

#define SLOT_BYTES 20000

static const struct pair_kind tcp = {.name = "tcp", .transport = &ring_transport_tcp};
static const struct pair_kind late = {.name = "tcp, shown late",
				      .transport = &ring_transport_tcp,
				      .faulty = true};

static void make_pair(struct pair *pair, void **state)
{
	assert_true(pair_init(pair));
	assert_int_equal(pair_open(pair, *state, 2, SLOT_BYTES, 1), 0);
}

/* Two messages have come before a place is told for the second: no look takes both. */
static void a_message_waits_to_be_announced(void **state)
{
	struct pair pair;
	make_pair(&pair, state);
	struct ring_link *sender = pair.ends[SENDER], *receiver = pair.ends[RECEIVER];
	static unsigned char source[SLOT_BYTES], landing[SLOT_BYTES];
	memset(source, 'x', sizeof(source));
	ring_link_expect(receiver, 40, NULL);
	assert_int_equal(ring_link_send(sender, source, 40), 0);
	assert_int_equal(ring_link_send(sender, source, sizeof(source)), 0);
	poll_end_until(sender, &sender->sent, 2);
	poll_end_until(receiver, &receiver->arrived, 1);
	assert_int_equal(receiver->arrived, 1);
	ring_link_expect(receiver, sizeof(source), landing);
	poll_until(&pair, &receiver->arrived, 2);
	assert_ptr_equal(data_of(receiver, 1), landing);
	assert_memory_equal(landing, source, sizeof(source));
	pair_close(&pair);
}

static void an_announced_message_lands(void **state)
{
	struct pair pair;
	make_pair(&pair, state);
	struct ring_link *receiver = pair.ends[RECEIVER];
	static unsigned char source[SLOT_BYTES], landing[4][SLOT_BYTES];
	memset(source, 'x', sizeof(source));
	ring_link_expect(receiver, sizeof(source), landing[0]);
	ring_link_expect(receiver, 100, NULL); /* no landing */
	for (int k = 0; k < 2; k++)
		send_whole(&pair, source, k == 0 ? sizeof(source) : 100);
	poll_until(&pair, &receiver->arrived, 2);
	assert_ptr_equal(data_of(receiver, 0), landing[0]);
	assert_memory_equal(landing[0], source, sizeof(source));
	assert_memory_equal(data_of(receiver, 1), source, 100);
	ring_link_release(receiver);
	ring_link_release(receiver);

	send_whole(&pair, source, 300);
	poll_until(&pair, &receiver->arrived, 3);
	ring_link_expect(receiver, 300, landing[2]); /* too late */
	assert_ptr_not_equal(data_of(receiver, 2), landing[2]);
	assert_memory_equal(data_of(receiver, 2), source, 300);
	ring_link_release(receiver);

	ring_link_expect(receiver, 10, landing[3]); /* what comes is longer */
	send_whole(&pair, source, 500);
	poll_until(&pair, &receiver->arrived, 4);
	assert_ptr_not_equal(data_of(receiver, 3), landing[3]);
	assert_int_equal(bytes_of(receiver, 3), 500);
	pair_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(an_announced_message_lands, (void *)&tcp),
		cmocka_unit_test_prestate(an_announced_message_lands, (void *)&late),
		cmocka_unit_test_prestate(a_message_waits_to_be_announced, (void *)&tcp),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
