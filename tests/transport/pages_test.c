/* SPDX-License-Identifier: MIT */
/* What is lent over TCP: lend() of transport.h. It arrives as all else does, whether its pages go or copies of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "tests/transport/dice.h"
#include "tests/transport/pair.h"
#include "tests/transport/steps.h"
#include "transport/tcp_link.h"

#define SLOT_BYTES (1 << 20)
#define DEPTH 4

static const struct pair_kind tcp = {.name = "tcp", .transport = &ring_transport_tcp};
static unsigned char source[DEPTH * SLOT_BYTES];

static void make_pair(struct pair *pair)
{
	uint64_t dice = 1;
	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (unsigned char)dice_roll(&dice);
	assert_true(pair_init(pair));
	assert_int_equal(pair_open(pair, &tcp, DEPTH, SLOT_BYTES, 1), 0);
}

static int lend(struct ring_link *sender, const void *what, size_t bytes)
{
	return sender->transport->lend(sender, what, bytes);
}

/* Between others, of any size, and from any address; a socket with little room takes it in parts. */
static void what_is_lent_arrives(void **state)
{
	(void)state;
	struct pair pair;
	make_pair(&pair);
	struct ring_link *sender = pair.ends[SENDER], *receiver = pair.ends[RECEIVER];
	const int little = 64 << 10, fd = ((struct ring_tcp_link *)sender)->fd;
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &little, sizeof(little)), 0);
	static const struct {
		size_t begin, bytes;
		bool lent;
	} messages[] = {
		{0, SLOT_BYTES, true},  {5, SLOT_BYTES - 1, true},
		{17, 100, false},       {4095, 1, true},
		{4095, 40000, true},    {8192, 4096 * 16, true},
		{1, SLOT_BYTES, false}, {3, SLOT_BYTES, true},
		{33, 32 << 10, true},   {100, (32 << 10) - 1, true},
	};
	for (size_t k = 0; k < sizeof(messages) / sizeof(messages[0]); k++) {
		const unsigned char *what = source + messages[k].begin;
		size_t bytes = messages[k].bytes;
		if (messages[k].lent)
			assert_int_equal(lend(sender, what, bytes), 0);
		else
			assert_int_equal(sender->transport->send(sender, what, bytes), 0);
		if (k % DEPTH < DEPTH - 1 && k + 1 < sizeof(messages) / sizeof(messages[0]))
			continue; /* so many at once */
		poll_until(&pair, &receiver->arrived, k + 1);
		for (uint64_t m = k / DEPTH * DEPTH; m <= k; m++) {
			assert_int_equal(bytes_of(receiver, m), messages[m].bytes);
			assert_memory_equal(data_of(receiver, m), source + messages[m].begin,
					    messages[m].bytes);
			release(receiver);
		}
	}
	assert_int_equal(sender->sent, receiver->arrived);
	pair_close(&pair);
}

/* Where the system takes pages, what the lender does to them is what arrives. */
static void what_is_lent_is_not_copied(void **state)
{
	(void)state;
	struct pair pair;
	make_pair(&pair);
	struct ring_link *sender = pair.ends[SENDER], *receiver = pair.ends[RECEIVER];
	const size_t bytes = 128 << 10, changed = 100000;
	assert_int_equal(lend(sender, source, bytes), 0);
	poll_end_until(sender, &sender->sent, 1);
	source[changed] ^= 1;
	poll_until(&pair, &receiver->arrived, 1);
	const unsigned char *data = data_of(receiver, 0);
	if (data[changed] != source[changed]) {
		pair_close(&pair);
		print_message("this system copies what is lent\n");
		skip();
	}
	assert_memory_equal(data, source, bytes);
	pair_close(&pair);
}

/* No signal ends the program, and none is left pending for it. */
static void nobody_is_there_to_lend_to(void **state)
{
	(void)state;
	struct pair pair;
	make_pair(&pair);
	struct ring_link *sender = pair.ends[SENDER];
	pair_close_end(&pair, RECEIVER);
	uint64_t deadline = ring_clock_ms() + DEADLINE_MS;
	int err = 0;
	while (!err || err == RING_EAGAIN) {
		assert_true(ring_clock_ms() < deadline);
		err = lend(sender, source, SLOT_BYTES);
		if (!err || err == RING_EAGAIN)
			err = poll_link(sender);
	}
	assert_int_equal(err, RING_EPEER);
	pair_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_lent_arrives),
		cmocka_unit_test(what_is_lent_is_not_copied),
		cmocka_unit_test(nobody_is_there_to_lend_to),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
