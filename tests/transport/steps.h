/* SPDX-License-Identifier: MIT */
/* One end's or both ends' steps of a pair of links, for cases in one thread; behind cmocka.h. */
#ifndef RING_TEST_STEPS_H
#define RING_TEST_STEPS_H

#include "base/clock.h"
#include "ringccl.h"
#include "tests/transport/pair.h"

#define DEADLINE_MS 100000

/* Polls both ends until *counter is `value`. */
static inline void poll_until(struct pair *pair, const uint64_t *counter, uint64_t value)
{
	uint64_t deadline = ring_clock_ms() + DEADLINE_MS;
	while (*counter != value) {
		assert_true(ring_clock_ms() < deadline);
		for (int end = 0; end < 2; end++)
			if (pair->ends[end])
				assert_int_equal(ring_link_poll(pair->ends[end]), 0);
	}
}

/* Polls one end alone until *counter is `value` or more. */
static inline void poll_end_until(struct ring_link *link, const uint64_t *counter, uint64_t value)
{
	uint64_t deadline = ring_clock_ms() + DEADLINE_MS;
	while (*counter < value) {
		assert_true(ring_clock_ms() < deadline);
		assert_int_equal(ring_link_poll(link), 0);
	}
}

static inline void send_whole(struct pair *pair, const void *source, size_t bytes)
{
	struct ring_link *sender = pair->ends[SENDER];
	uint64_t deadline = ring_clock_ms() + DEADLINE_MS;
	uint64_t sent = sender->sent;
	int err;
	while ((err = ring_link_send(sender, source, bytes)) == RING_EAGAIN) {
		assert_true(ring_clock_ms() < deadline);
		assert_int_equal(ring_link_poll(sender), 0);
	}
	assert_int_equal(err, 0);
	poll_until(pair, &sender->sent, sent + 1);
}

static inline const void *data_of(struct ring_link *link, uint64_t message)
{
	assert_true(link->released <= message && message < link->arrived);
	return ring_link_arrival(link, message)->data;
}

static inline size_t bytes_of(struct ring_link *link, uint64_t message)
{
	return ring_link_arrival(link, message)->bytes;
}

#endif
