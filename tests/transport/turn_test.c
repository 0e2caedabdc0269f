/* SPDX-License-Identifier: MIT */
/* Sending over TCP leaves the receiving direction its turn: only poll() offers the kernel what send() took. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/status.h"
#include "tests/transport/pair.h"
#include "transport/tcp/link.h"

static void a_full_queue_waits_for_poll(void **state)
{
	(void)state;
	const struct pair_kind tcp = {.name = "tcp", .transport = &ring_transport_tcp};
	static const unsigned char source[100];
	struct pair pair;
	assert_true(pair_init(&pair));
	assert_int_equal(pair_open(&pair, &tcp, 2, sizeof(source), 1), 0);
	struct ring_link *sender = pair.ends[SENDER];
	for (int k = 0; k < RING_TCP_QUEUE; k++)
		assert_int_equal(ring_link_send(sender, source, sizeof(source)), 0);
	assert_int_equal(ring_link_send(sender, source, sizeof(source)), RING_EAGAIN);
	assert_int_equal(sender->sent, 0);
	assert_int_equal(ring_link_poll(sender), 0);
	assert_int_equal(sender->sent, RING_TCP_QUEUE); /* so few bytes the kernel takes at once */
	assert_int_equal(ring_link_send(sender, source, sizeof(source)), 0);
	pair_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_queue_waits_for_poll),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
