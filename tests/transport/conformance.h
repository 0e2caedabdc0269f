/* SPDX-License-Identifier: MIT */
/* What the cases of conformance_test have in common; behind cmocka.h. */
#ifndef RING_TEST_CONFORMANCE_H
#define RING_TEST_CONFORMANCE_H

#include <stdlib.h>

#include "tests/transport/pair.h"
#include "tests/transport/steps.h"

#define SLOT_BYTES 20000
#define QUICKER 20 /* times */

extern uint64_t seed;

static inline const struct pair_kind *kind_of(void **state)
{
	return *state;
}

/* So many messages of `all` make a run that is not long: RDMA devices may be emulated, on one CPU. */
static inline uint64_t few_of(uint64_t all, void **state)
{
	bool emulated = kind_of(state)->transport == &ring_transport_verbs;
	return emulated && getenv("RING_TEST_QUICK") ? all / QUICKER : all;
}

static inline void make_pair(struct pair *pair, void **state, unsigned depth, size_t slot_bytes)
{
	assert_true(pair_init(pair));
	assert_int_equal(pair_open(pair, kind_of(state), depth, slot_bytes, seed), 0);
}

/* Polls one end until it fails, and returns the error. */
static inline int poll_until_error(struct ring_link *link)
{
	uint64_t deadline = ring_clock_ms() + DEADLINE_MS;
	int err = 0;
	while (!err && ring_clock_ms() < deadline)
		err = ring_link_poll(link);
	return err;
}

/* conformance_ends.c */
void the_other_end_may_come_late(void **state);
void half_open_ends_can_be_closed(void **state);
void what_was_sent_before_close_arrives(void **state);
void a_receiver_that_closes_is_noticed(void **state);
void a_peer_that_dies_is_noticed(void **state);

#endif
