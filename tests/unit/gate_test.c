/* SPDX-License-Identifier: MIT */
/*
 * The orderings of gate.h between two threads: never are both ends sure of the memory behind the gate,
 * and what the sender wrote inside is seen by a receiver that finds it outside. mutate-fifo takes them
 * away one by one and wants this test to fail.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/meet.h"
#include "transport/gate.h"

#define ROUNDS 200000

/* In every round both come to a new gate at once, one to enter, one to revoke. */
struct encounter {
	struct ring_gate gate;
	uint64_t memory; /* what the gate guards; no atomic */
	_Atomic uint64_t sender_round, receiver_round;
	bool entered[ROUNDS], alone[ROUNDS];
	uint64_t rounds; /* the receiver may end them early, before both meet */
	int wrong;
};

static void *come_in(void *argument)
{
	struct encounter *both = argument;
	bool last = false;
	for (uint64_t k = 0; !last; k++) {
		meet(&both->sender_round, &both->receiver_round, 3 * k);
		both->entered[k] = ring_gate_enter(&both->gate);
		meet(&both->sender_round, &both->receiver_round, 3 * k + 1);
		if (both->entered[k]) {
			both->memory = k;
			ring_gate_leave(&both->gate);
		}
		last = k + 1 == both->rounds;
		meet(&both->sender_round, &both->receiver_round, 3 * k + 2);
	}
	return NULL;
}

static void *keep_out(void *argument)
{
	struct encounter *both = argument;
	const time_t begun = time(NULL);
	for (uint64_t k = 0; k < both->rounds; k++) {
		if (meet_is_enough(begun, k))
			both->rounds = k + 1;
		both->gate = (struct ring_gate){0};
		both->memory = ROUNDS;
		meet(&both->receiver_round, &both->sender_round, 3 * k);
		both->alone[k] = ring_gate_revoke(&both->gate);
		meet(&both->receiver_round, &both->sender_round, 3 * k + 1);
		while (!ring_gate_revoke(&both->gate))
			sched_yield();
		both->wrong += both->memory != (both->entered[k] ? k : ROUNDS);
		both->memory = 0;
		meet(&both->receiver_round, &both->sender_round, 3 * k + 2);
	}
	return NULL;
}

static void the_two_ends_are_never_both_sure(void **state)
{
	(void)state;
	static struct encounter both = {.rounds = ROUNDS};
	run_two(come_in, keep_out, &both);
	int writers = 0, first[2] = {0, 0};
	for (uint64_t k = 0; k < both.rounds; k++) {
		writers += both.entered[k] && both.alone[k];
		first[both.entered[k]]++;
	}
	assert_int_equal(writers, 0);
	assert_int_equal(both.wrong, 0);
	assert_true(first[0] > 0 && first[1] > 0); /* it was a race */
}

static void a_revoked_gate_stays_closed(void **state)
{
	(void)state;
	struct ring_gate gate = {0};
	assert_true(ring_gate_enter(&gate));
	assert_false(ring_gate_revoke(&gate));
	ring_gate_leave(&gate);
	assert_true(ring_gate_revoke(&gate));
	for (int i = 0; i < 3; i++)
		assert_false(ring_gate_enter(&gate));
	assert_true(ring_gate_revoke(&gate));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_two_ends_are_never_both_sure),
		cmocka_unit_test(a_revoked_gate_stays_closed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
