/* SPDX-License-Identifier: MIT */
/*
 * The orderings of slot_fifo.h between two threads, content and no lost wake-up, and its checks of
 * what a broken peer writes. Under ThreadSanitizer every data ordering must be there: mutate-fifo
 * takes them away one by one and wants this test to fail.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/meet.h"
#include "transport/slot_fifo.h"

#define SLOT_BYTES 200
#define MESSAGES 1000000
#define ROUNDS 300000

/* A FIFO and both its ends; a test's threads use one end each. */
struct pair {
	struct ring_fifo *fifo;
	struct ring_fifo_end sender, receiver;
	unsigned wrong; /* the receiver's count of wrong bytes */
};

static struct pair make_pair(unsigned depth)
{
	size_t bytes = ring_fifo_memory(depth, SLOT_BYTES);
	struct ring_fifo *fifo = aligned_alloc(RING_CACHE_LINE, bytes);
	assert_non_null(fifo);
	memset(fifo, 0, bytes);
	struct ring_fifo_end end = {.fifo = fifo, .depth = depth, .slot_bytes = SLOT_BYTES};
	return (struct pair){.fifo = fifo, .sender = end, .receiver = end};
}

/* Mostly a few bytes, now and then a full slot. */
static size_t size_of(uint64_t k)
{
	return k % 64 == 63 ? SLOT_BYTES : 1 + k % 16;
}

static void *send_all(void *argument)
{
	struct pair *pair = argument;
	struct ring_fifo_end *end = &pair->sender;
	while (end->mine < MESSAGES) {
		if (!ring_fifo_has_room(end) &&
		    (!ring_fifo_see_head(end) || !ring_fifo_has_room(end))) {
			sched_yield();
			continue;
		}
		size_t bytes = size_of(end->mine);
		memset(ring_fifo_slot(end, end->mine), (int)(end->mine * 7), bytes);
		ring_fifo_fill(end, bytes);
		ring_fifo_publish(end);
	}
	ring_fifo_close(end, true);
	return NULL;
}

static unsigned wrong_bytes(const struct ring_fifo_end *end, uint64_t k)
{
	const unsigned char *slot = ring_fifo_slot(end, k);
	unsigned wrong = ring_fifo_message_bytes(end, k) != size_of(k);
	for (size_t i = 0; i < size_of(k); i++)
		wrong += slot[i] != (unsigned char)(k * 7);
	return wrong;
}

static void *receive_all(void *argument)
{
	struct pair *pair = argument;
	struct ring_fifo_end *end = &pair->receiver;
	while (!end->closed || end->mine < end->theirs) {
		if (end->mine == end->theirs) {
			uint64_t seen = end->theirs;
			pair->wrong += !ring_fifo_see_tail(end);
			if (end->theirs == seen)
				sched_yield();
			continue;
		}
		pair->wrong += wrong_bytes(end, end->mine);
		ring_fifo_release(end);
	}
	return NULL;
}

static void a_million_messages_wrap_around_whole(void **state)
{
	(void)state;
	struct pair pair = make_pair(3);
	run_two(send_all, receive_all, &pair);
	assert_int_equal(pair.wrong, 0);
	assert_int_equal(pair.receiver.mine, MESSAGES);
	free(pair.fifo);
}

/* ---- no lost wake-up ---- */

/*
 * In every round one thread moves and looks at the doorbell while the other announces its sleep and
 * looks at the counter. Both finding nothing would be a sleep that nobody ends. A sender fills its last
 * slot before it sleeps, because it is woken only if it had none left.
 */
struct dozing {
	struct pair pair;
	struct ring_doorbell_page page;
	bool sender_sleeps;
	_Atomic uint64_t mover_round, sleeper_round;
	bool mover_saw[ROUNDS], sleeper_saw[ROUNDS];
};

static void send_one(struct ring_fifo_end *sender)
{
	ring_fifo_fill(sender, 1);
	ring_fifo_publish(sender);
}

static void *move(void *argument)
{
	struct dozing *dozing = argument;
	for (uint64_t k = 0; k < ROUNDS; k++) {
		meet(&dozing->mover_round, &dozing->sleeper_round, 2 * k);
		bool missed = true;
		if (dozing->sender_sleeps) {
			ring_fifo_release(&dozing->pair.receiver);
			missed = ring_doorbell_is_awaited(&dozing->page) &&
				 ring_fifo_was_full(&dozing->pair.receiver);
		} else {
			send_one(&dozing->pair.sender);
		}
		dozing->mover_saw[k] = missed && ring_doorbell_look(&dozing->page) != RING_AWAKE;
		meet(&dozing->mover_round, &dozing->sleeper_round, 2 * k + 1);
	}
	return NULL;
}

static void *doze(void *argument)
{
	struct dozing *dozing = argument;
	for (uint64_t k = 0; k < ROUNDS; k++) {
		struct ring_fifo_end *end = dozing->sender_sleeps ? &dozing->pair.sender
								  : &dozing->pair.receiver;
		meet(&dozing->sleeper_round, &dozing->mover_round, 2 * k);
		uint64_t seen = end->theirs;
		if (dozing->sender_sleeps)
			send_one(end);
		ring_doorbell_announce(&dozing->page, RING_SLEEPS_ON_WORD);
		if (dozing->sender_sleeps)
			ring_fifo_see_head(end);
		else
			ring_fifo_see_tail(end);
		dozing->sleeper_saw[k] = end->theirs != seen;
		meet(&dozing->sleeper_round, &dozing->mover_round, 2 * k + 1);
		ring_doorbell_awake(&dozing->page);
		end->theirs = k + 1;
		if (!dozing->sender_sleeps)
			end->mine = k + 1; /* so that there is always room for one more */
	}
	return NULL;
}

static void nobody_sleeps_through(bool sender_sleeps)
{
	static struct dozing dozing;
	memset(&dozing, 0, sizeof(dozing));
	dozing.pair = make_pair(2);
	dozing.sender_sleeps = sender_sleeps;
	if (sender_sleeps)
		send_one(&dozing.pair.sender); /* to be released in the first round */
	run_two(move, doze, &dozing);
	int lost = 0;
	for (int k = 0; k < ROUNDS; k++)
		lost += !dozing.mover_saw[k] && !dozing.sleeper_saw[k];
	assert_int_equal(lost, 0);
	free(dozing.pair.fifo);
}

static void a_receiver_sleeps_through_no_message(void **state)
{
	(void)state;
	nobody_sleeps_through(false);
}

static void a_sender_sleeps_through_no_release(void **state)
{
	(void)state;
	nobody_sleeps_through(true);
}

/* ---- what a broken peer may write ---- */

static void counters_that_cannot_be_are_refused(void **state)
{
	(void)state;
	struct pair pair = make_pair(2);
	atomic_store(&pair.fifo->tail, 3);
	assert_false(ring_fifo_see_tail(&pair.receiver)); /* three messages in two slots */
	atomic_store(&pair.fifo->tail, 2);
	assert_true(ring_fifo_see_tail(&pair.receiver));
	atomic_store(&pair.fifo->tail, 1);
	assert_false(ring_fifo_see_tail(&pair.receiver)); /* went back */
	atomic_store(&pair.fifo->head, 1);
	assert_false(ring_fifo_see_head(&pair.sender)); /* released what was never sent */
	free(pair.fifo);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
	(void)state;
	struct pair pair = make_pair(2);
	atomic_store(&pair.fifo->bytes[0], SLOT_BYTES + 1);
	assert_int_equal(ring_fifo_message_bytes(&pair.receiver, 0), 0);
	atomic_store(&pair.fifo->bytes[0], SLOT_BYTES);
	assert_int_equal(ring_fifo_message_bytes(&pair.receiver, 0), SLOT_BYTES);
	assert_int_equal(ring_fifo_memory(0, 1), 0);
	assert_int_equal(ring_fifo_memory(RING_DEPTH_MAX + 1, 1), 0);
	assert_int_equal(ring_fifo_memory(1, 0), 0);
	assert_int_equal(ring_fifo_memory(1, (size_t)UINT32_MAX + 1), 0);
	free(pair.fifo);
}

static void a_close_is_seen_with_the_last_message(void **state)
{
	(void)state;
	struct pair pair = make_pair(2);
	ring_fifo_fill(&pair.sender, 1);
	ring_fifo_publish(&pair.sender);
	ring_fifo_close(&pair.sender, true);
	assert_true(ring_fifo_see_tail(&pair.receiver));
	assert_true(pair.receiver.closed);
	assert_int_equal(pair.receiver.theirs, 1);
	free(pair.fifo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_messages_wrap_around_whole),
		cmocka_unit_test(a_receiver_sleeps_through_no_message),
		cmocka_unit_test(a_sender_sleeps_through_no_release),
		cmocka_unit_test(counters_that_cannot_be_are_refused),
		cmocka_unit_test(sizes_that_cannot_be_are_refused),
		cmocka_unit_test(a_close_is_seen_with_the_last_message),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
