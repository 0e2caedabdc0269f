/* SPDX-License-Identifier: MIT */
/* Cases of conformance_test: how links begin, and how they end. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/transport/conformance.h"
#include "tests/transport/traffic.h"

/* ---- beginnings and ends ---- */

void the_other_end_may_come_late(void **state)
{
	const struct ring_transport *transport = kind_of(state)->transport;
	for (int late = 0; late < 2; late++) {
		struct pair pair;
		int fds[2];
		assert_true(pair_init(&pair));
		assert_true(pair_sockets(transport->lane, fds));
		struct ring_link_params params[2] = {pair_params(&pair, 0, fds[0], 4, 100),
						     pair_params(&pair, 1, fds[1], 4, 100)};
		assert_int_equal(pair_open_end(&pair, kind_of(state), !late, &params[!late]), 0);
		int errs[2] = {RING_EAGAIN, RING_EAGAIN};
		for (int i = 0; i < 10 && errs[!late] == RING_EAGAIN; i++)
			errs[!late] = ring_link_finish(pair.ends[!late]);
		assert_true(errs[!late] == 0 || errs[!late] == RING_EAGAIN);
		assert_int_equal(pair_open_end(&pair, kind_of(state), late, &params[late]), 0);
		assert_int_equal(pair_finish(&pair, errs), 0);
		send_whole(&pair, "hello", 5);
		poll_until(&pair, &pair.ends[RECEIVER]->arrived, 1);
		assert_memory_equal(data_of(pair.ends[RECEIVER], 0), "hello", 5);
		pair_close(&pair);
	}
}

void half_open_ends_can_be_closed(void **state)
{
	const struct ring_transport *transport = kind_of(state)->transport;
	for (int end = 0; end < 2; end++) {
		for (int finished = 0; finished < 2; finished++) {
			struct pair pair;
			int fds[2];
			assert_true(pair_init(&pair));
			assert_true(pair_sockets(transport->lane, fds));
			struct ring_link_params params = pair_params(&pair, end, fds[end], 4, 100);
			assert_int_equal(pair_open_end(&pair, kind_of(state), end, &params), 0);
			if (finished)
				ring_link_finish(pair.ends[end]);
			pair_close(&pair);
			close(fds[!end]);
		}
	}
}

void what_was_sent_before_close_arrives(void **state)
{
	static const char *const texts[] = {"one", "two", "three"};
	struct pair pair;
	make_pair(&pair, state, 4, SLOT_BYTES);
	for (int i = 0; i < 3; i++)
		send_whole(&pair, texts[i], strlen(texts[i]));
	pair_close_end(&pair, SENDER);
	struct ring_link *receiver = pair.ends[RECEIVER];
	poll_until(&pair, &receiver->arrived, 3);
	for (int i = 0; i < 3; i++) {
		assert_memory_equal(data_of(receiver, i), texts[i], strlen(texts[i]));
		ring_link_release(receiver);
	}
	assert_int_equal(poll_until_error(receiver), RING_EPEER);
	pair_close(&pair);
}

/* Sends until that fails; returns the error. */
static int send_until_error(struct ring_link *sender)
{
	static const unsigned char source[SLOT_BYTES];
	uint64_t deadline = ring_clock_ms() + DEADLINE_MS;
	int err = 0;
	while ((err == 0 || err == RING_EAGAIN) && ring_clock_ms() < deadline) {
		err = ring_link_send(sender, source, sizeof(source));
		if (err == 0 || err == RING_EAGAIN)
			err = ring_link_poll(sender);
	}
	return err;
}

void a_receiver_that_closes_is_noticed(void **state)
{
	struct pair pair;
	make_pair(&pair, state, 4, SLOT_BYTES);
	send_whole(&pair, "unread", 6);
	pair_close_end(&pair, RECEIVER);
	assert_int_equal(send_until_error(pair.ends[SENDER]), RING_EPEER);
	pair_close(&pair);
}

/* ---- another process ---- */

/* In the child: opens its end over fd, then moves messages for as long as it lives. */
static void live_until_killed(const struct pair_kind *kind, int end, int fd)
{
	struct pair pair;
	struct traffic traffic;
	if (!pair_init(&pair))
		_exit(1);
	struct ring_link_params params = pair_params(&pair, end, fd, 4, SLOT_BYTES);
	int err = pair_open_end(&pair, kind, end, &params);
	while (!err && (err = ring_link_finish(pair.ends[end])) == RING_EAGAIN)
		err = 0;
	if (err || !traffic_init(&traffic, pair.ends[end], &pair.bells[end], seed, UINT64_MAX))
		_exit(1);
	traffic_run(&traffic, false);
	_exit(0);
}

void a_peer_that_dies_is_noticed(void **state)
{
	const struct ring_transport *transport = kind_of(state)->transport;
	for (int run = 0; run < 10; run++) {
		int end = run % 2, fds[2];
		assert_true(pair_sockets(transport->lane, fds));
		pid_t child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			close(fds[end]);
			live_until_killed(kind_of(state), !end, fds[!end]);
		}
		close(fds[!end]);
		struct pair pair;
		struct traffic traffic;
		assert_true(pair_init(&pair));
		struct ring_link_params params = pair_params(&pair, end, fds[end], 4, SLOT_BYTES);
		assert_int_equal(pair_open_end(&pair, kind_of(state), end, &params), 0);
		int err;
		while ((err = ring_link_finish(pair.ends[end])) == RING_EAGAIN)
			;
		assert_int_equal(err, 0);
		assert_true(
			traffic_init(&traffic, pair.ends[end], &pair.bells[end], seed, UINT64_MAX));
		for (uint64_t i = 0;
		     i < few_of(2000, state) * (uint64_t)run && !traffic_is_over(&traffic); i++)
			traffic_step(&traffic);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		traffic_run(&traffic, false);
		assert_string_equal(traffic.wrong, "");
		assert_int_equal(traffic.err, RING_EPEER);
		traffic_free(&traffic);
		pair_close(&pair);
	}
}
