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
#include "transport/doorbell_words.h"
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

/* `before` messages have passed. */
static struct pair make_pair(unsigned depth, uint64_t before)
{
	size_t bytes = ring_fifo_memory(depth, SLOT_BYTES);
	struct ring_fifo *fifo = aligned_alloc(RING_CACHE_LINE, bytes);
	assert_non_null(fifo);
	memset(fifo, 0, bytes);
	atomic_store(&fifo->head, before);
	struct ring_fifo_end end = {.fifo = fifo,
				    .depth = depth,
				    .slot_bytes = SLOT_BYTES,
				    .mine = before,
				    .theirs = before};
	return (struct pair){.fifo = fifo, .sender = end, .receiver = end};
}

/* Mostly behind the flag, as much as fits there or less, now and then in the slot. */
static size_t size_of(uint64_t k)
{
	if (k % 16 == 15)
		return RING_FIFO_SMALL + k / 16 % 2;
	return k % 64 == 62 ? SLOT_BYTES : 1 + k % 16;
}

static void *send_all(void *argument)
{
	struct pair *pair = argument;
	struct ring_fifo_end *end = &pair->sender;
	const time_t begun = time(NULL);
	for (uint64_t last = end->mine + MESSAGES; end->mine < last;) {
		if (meet_is_enough(begun, end->mine))
			last = end->mine + 1;
		if (!ring_fifo_has_room(end) &&
		    (!ring_fifo_see_head(end) || !ring_fifo_has_room(end))) {
			sched_yield();
			continue;
		}
		size_t bytes = size_of(end->mine);
		memset(ring_fifo_place(end, end->mine, bytes), (int)(end->mine * 7), bytes);
		ring_fifo_put(end, bytes);
	}
	ring_fifo_close(end, true);
	return NULL;
}

static unsigned wrong_bytes(const struct ring_fifo_end *end, uint64_t k, size_t bytes)
{
	const unsigned char *place = ring_fifo_place(end, k, bytes);
	unsigned wrong = bytes != size_of(k);
	for (size_t i = 0; i < bytes; i++)
		wrong += place[i] != (unsigned char)(k * 7);
	return wrong;
}

static void *receive_all(void *argument)
{
	struct pair *pair = argument;
	struct ring_fifo_end *end = &pair->receiver;
	while (!end->closed) {
		size_t bytes;
		pair->wrong += !ring_fifo_see_message(end, &bytes);
		if (bytes > 0) {
			pair->wrong += wrong_bytes(end, end->mine, bytes);
			ring_fifo_release(end);
		} else {
			ring_fifo_see_end(end);
			sched_yield();
		}
	}
	return NULL;
}

/* The slots all the time, and the 32 bits of a flag's number soon, however early it ends. */
static void a_million_messages_wrap_around_whole(void **state)
{
	(void)state;
	uint64_t before = (UINT64_C(1) << 32) - MEET_LOOKS / 2;
	struct pair pair = make_pair(3, before);
	run_two(send_all, receive_all, &pair);
	assert_int_equal(pair.wrong, 0);
	assert_int_equal(pair.receiver.mine, pair.sender.mine);
	free(pair.fifo);
}

/* ---- no lost wake-up ---- */

/*
 * In every round one thread moves and looks at the doorbell while the other announces its sleep and
 * looks for the move. Both finding nothing would be a sleep that nobody ends. A sender fills its last
 * slot before it sleeps, because it is woken only if it had none left.
 */
struct dozing {
	struct pair pair;
	struct ring_doorbell_page page;
	bool sender_sleeps;
	_Atomic uint64_t mover_round, sleeper_round;
	uint64_t rounds; /* the sleeper may end them early, before both meet */
	bool mover_saw[ROUNDS], sleeper_saw[ROUNDS];
};

static void *move(void *argument)
{
	struct dozing *dozing = argument;
	bool last = false;
	for (uint64_t k = 0; !last; k++) {
		meet(&dozing->mover_round, &dozing->sleeper_round, 2 * k);
		bool missed = true;
		if (dozing->sender_sleeps) {
			ring_fifo_release(&dozing->pair.receiver);
			ring_doorbell_published();
			missed = ring_doorbell_is_awaited(&dozing->page) &&
				 ring_fifo_was_full(&dozing->pair.receiver);
		} else {
			ring_fifo_put(&dozing->pair.sender, 1);
			ring_doorbell_published();
		}
		last = k + 1 == dozing->rounds;
		dozing->mover_saw[k] = missed && ring_doorbell_look(&dozing->page) != RING_AWAKE;
		meet(&dozing->mover_round, &dozing->sleeper_round, 2 * k + 1);
	}
	return NULL;
}

static void *doze(void *argument)
{
	struct dozing *dozing = argument;
	const time_t begun = time(NULL);
	for (uint64_t k = 0; k < dozing->rounds; k++) {
		if (meet_is_enough(begun, k))
			dozing->rounds = k + 1;
		struct ring_fifo_end *end = dozing->sender_sleeps ? &dozing->pair.sender
								  : &dozing->pair.receiver;
		meet(&dozing->sleeper_round, &dozing->mover_round, 2 * k);
		uint64_t seen = end->theirs;
		if (dozing->sender_sleeps)
			ring_fifo_put(end, 1);
		size_t bytes;
		ring_doorbell_announce(&dozing->page, RING_SLEEPS_ON_WORD);
		if (dozing->sender_sleeps)
			ring_fifo_see_head(end);
		else
			ring_fifo_see_message(end, &bytes);
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
	dozing.pair = make_pair(2, 0);
	dozing.sender_sleeps = sender_sleeps;
	dozing.rounds = ROUNDS;
	if (sender_sleeps)
		ring_fifo_put(&dozing.pair.sender, 1); /* to be released in the first round */
	run_two(move, doze, &dozing);
	int lost = 0;
	for (uint64_t k = 0; k < dozing.rounds; k++)
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
	struct pair pair = make_pair(2, 5);
	pair.sender.mine = 7;
	atomic_store(&pair.fifo->head, 8);
	assert_false(ring_fifo_see_head(&pair.sender)); /* released what was never put */
	atomic_store(&pair.fifo->head, 7);
	assert_true(ring_fifo_see_head(&pair.sender));
	atomic_store(&pair.fifo->head, 6);
	assert_false(ring_fifo_see_head(&pair.sender)); /* went back */
	free(pair.fifo);
}

/* What a receiver that waits for message 9 makes of a flag: its size, or -1 if that cannot be. */
static int size_in_flag(uint64_t number, uint64_t bytes)
{
	struct pair pair = make_pair(2, 9);
	size_t seen;
	atomic_store(&ring_fifo_flag(&pair.sender, 9)->word, number << 32 | bytes);
	int size = ring_fifo_see_message(&pair.receiver, &seen) ? (int)seen : -1;
	free(pair.fifo);
	return size;
}

static void flags_that_cannot_be_are_refused(void **state)
{
	(void)state;
	assert_int_equal(size_in_flag(0, 0), 0); /* nothing was ever put there */
	assert_int_equal(size_in_flag(2, 1), 0); /* message 1 */
	assert_int_equal(size_in_flag(10, SLOT_BYTES), SLOT_BYTES);
	assert_int_equal(size_in_flag(10, SLOT_BYTES + 1), -1);
	assert_int_equal(size_in_flag(10, 0), -1);
	assert_int_equal(size_in_flag(9, 1), -1);  /* another slot's */
	assert_int_equal(size_in_flag(18, 1), -1); /* message 17, ahead of its time */
}

static void sizes_that_cannot_be_take_no_memory(void **state)
{
	(void)state;
	assert_int_equal(ring_fifo_memory(0, 1), 0);
	assert_int_equal(ring_fifo_memory(RING_DEPTH_MAX + 1, 1), 0);
	assert_int_equal(ring_fifo_memory(1, 0), 0);
	assert_int_equal(ring_fifo_memory(1, (size_t)UINT32_MAX + 1), 0);
}

static void messages_lie_within_their_slots(void **state)
{
	(void)state;
	static const size_t slots[] = {100, 8192, 128 << 10, 256 << 10, (256 << 10) + 40};
	static const size_t sizes[] = {57, 2047, 2048, 4096, 4097, 100000, 128 << 10, 256 << 10};
	for (size_t s = 0; s < sizeof(slots) / sizeof(slots[0]); s++)
		for (size_t b = 0; b < sizeof(sizes) / sizeof(sizes[0]); b++) {
			for (uint64_t k = 0; k < 1000 && sizes[b] <= slots[s]; k++)
				assert_true(ring_slot_skip(RING_DEPTH_MAX, slots[s], k, sizes[b]) +
						    sizes[b] <=
					    slots[s]);
		}
}

static void messages_use_all_of_roomy_slots(void **state)
{
	(void)state;
	const size_t bytes = 128 << 10;
	for (uint64_t k = 0; k < 100; k++) {
		assert_int_equal(ring_slot_skip(5, bytes, k, 60000), k / 5 % 2 * 61440);
		assert_int_equal(ring_slot_skip(5, bytes, k, 100000), 0);
		assert_int_equal(ring_slot_skip(4, bytes, k, 60000), 0);
	}
}

static void a_close_is_seen_behind_the_last_message(void **state)
{
	(void)state;
	struct pair pair = make_pair(2, 0);
	size_t bytes;
	ring_fifo_put(&pair.sender, 1);
	ring_fifo_close(&pair.sender, true);
	ring_fifo_see_end(&pair.receiver);
	assert_false(pair.receiver.closed);
	assert_true(ring_fifo_see_message(&pair.receiver, &bytes));
	ring_fifo_see_end(&pair.receiver);
	assert_true(pair.receiver.closed);
	free(pair.fifo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_messages_wrap_around_whole),
		cmocka_unit_test(a_receiver_sleeps_through_no_message),
		cmocka_unit_test(a_sender_sleeps_through_no_release),
		cmocka_unit_test(counters_that_cannot_be_are_refused),
		cmocka_unit_test(flags_that_cannot_be_are_refused),
		cmocka_unit_test(sizes_that_cannot_be_take_no_memory),
		cmocka_unit_test(messages_lie_within_their_slots),
		cmocka_unit_test(messages_use_all_of_roomy_slots),
		cmocka_unit_test(a_close_is_seen_behind_the_last_message),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
