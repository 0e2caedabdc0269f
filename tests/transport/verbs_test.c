/* SPDX-License-Identifier: MIT */
/*
 * What may go wrong with a queue pair, with a real one: it skips where there is no RDMA device.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "ringccl.h"
#include "tests/transport/pair.h"
#include "tests/transport/steps.h"
#include "transport/verbs/link.h"

#define SLOT_BYTES 4096
#define DEPTH 4
#define LARGE_BYTES (2 * (size_t)RING_VERBS_LANDS)

static const struct pair_kind kind = {.name = "verbs", .transport = &ring_transport_verbs};

static void make_pair_of(struct pair *pair, size_t slot_bytes)
{
	assert_true(pair_init(pair));
	assert_int_equal(pair_open(pair, &kind, DEPTH, slot_bytes, 1), 0);
}

static void make_pair(struct pair *pair)
{
	make_pair_of(pair, SLOT_BYTES);
}

static struct ring_verbs_link *end_of(struct pair *pair, int end)
{
	return (struct ring_verbs_link *)pair->ends[end];
}

static struct ring_verbs_sender *sender_of(struct pair *pair)
{
	return ring_verbs_sender(pair->ends[SENDER]);
}

static struct ring_verbs_receiver *receiver_of(struct pair *pair)
{
	return ring_verbs_receiver(pair->ends[RECEIVER]);
}

static void stop(struct ring_verbs_link *link)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	assert_int_equal(link->port->library->modify_qp(link->queue.qp, &attr, IBV_QP_STATE), 0);
}

/* Both ends do what they do in a call, until both have failed. */
static void run_until_both_fail(struct pair *pair, int errs[2])
{
	static const unsigned char source[SLOT_BYTES];
	const uint64_t deadline = ring_clock_ms() + DEADLINE_MS;
	errs[0] = errs[1] = 0;
	while ((!errs[0] || !errs[1]) && ring_clock_ms() < deadline) {
		struct ring_link *receiver = pair->ends[RECEIVER];
		for (int end = 0; end < 2; end++)
			if (pair->ends[end] && !errs[end])
				errs[end] = ring_link_poll(pair->ends[end]);
		if (!errs[SENDER])
			(void)ring_link_send(pair->ends[SENDER], source, sizeof(source));
		while (receiver && receiver->released < receiver->arrived)
			ring_link_release(receiver);
		/* Whoever fails closes, as a communicator does. */
		if (errs[SENDER])
			pair_close_end(pair, SENDER);
		if (errs[RECEIVER])
			pair_close_end(pair, RECEIVER);
	}
}

static void a_stopped_queue_pair_fails_both_ends(void **state)
{
	(void)state;
	for (int end = 0; end < 2; end++) {
		struct pair pair;
		int errs[2];
		make_pair(&pair);
		send_whole(&pair, "before", 6);
		poll_until(&pair, &pair.ends[RECEIVER]->arrived, 1);
		ring_link_release(pair.ends[RECEIVER]);
		stop(end_of(&pair, end));
		while (ring_link_poll(pair.ends[end]) == 0)
			;
		const char *why = pair.ends[end]->why;
		assert_non_null(why);
		assert_non_null(strstr(why, "rank 0 -> 1 verbs, port 1 of "));
		assert_non_null(strstr(why, "the queue pair was stopped"));
		run_until_both_fail(&pair, errs);
		assert_int_equal(errs[SENDER], RING_EPEER);
		assert_int_equal(errs[RECEIVER], RING_EPEER);
		pair_close(&pair);
	}
}

/* The receiver is gone; its device does not answer, but it had said what it has. */
static void the_last_word_counts(void **state)
{
	(void)state;
	struct pair pair;
	make_pair(&pair);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ring_link_send(pair.ends[SENDER], "message", 7), 0);
	poll_until(&pair, &pair.ends[RECEIVER]->arrived, 3);
	pair.ends[SENDER]->sent = 0; /* as if no acknowledgement had come */
	stop(end_of(&pair, SENDER));
	pair_close_end(&pair, RECEIVER);
	while (ring_link_poll(pair.ends[SENDER]) == 0)
		;
	assert_int_equal(pair.ends[SENDER]->sent, 3);
	pair_close(&pair);
}

/* A write to where nothing is registered stops both, and each says what it knows. */
static void a_wrong_key_is_refused(void **state)
{
	(void)state;
	struct pair pair;
	int errs[2];
	make_pair(&pair);
	end_of(&pair, SENDER)->other.rkey ^= 0x5a5a5a;
	assert_int_equal(ring_link_send(pair.ends[SENDER], "message", 7), 0);
	while (ring_link_poll(pair.ends[SENDER]) == 0)
		;
	assert_non_null(strstr(pair.ends[SENDER]->why, "the other end refused it"));
	assert_int_equal(pair.ends[RECEIVER]->arrived, 0);
	run_until_both_fail(&pair, errs);
	assert_int_equal(errs[RECEIVER], RING_EPEER);
	pair_close(&pair);
}

/* What is said by a peer is checked. */
static void nonsense_is_refused(void **state)
{
	(void)state;
	struct pair pair;
	make_pair(&pair);
	sender_of(&pair)->posted = 2; /* message 2 where 0 is due */
	assert_int_equal(ring_link_send(pair.ends[SENDER], "message", 7), 0);
	while (ring_link_poll(pair.ends[RECEIVER]) == 0)
		;
	assert_non_null(strstr(pair.ends[RECEIVER]->why,
			       "message 2 of 7 bytes where 0 of at most 4096 was due"));
	pair_close(&pair);
	make_pair(&pair);
	pair.ends[RECEIVER]->released = 3; /* slots given back in which there was nothing */
	assert_true(ring_verbs_post_notice(receiver_of(&pair)));
	while (ring_link_poll(pair.ends[SENDER]) == 0)
		;
	assert_non_null(strstr(pair.ends[SENDER]->why, "the receiver's notice is nonsense"));
	pair.ends[RECEIVER]->released = 0;
	pair_close(&pair);
}

/* What is registered stays the parent's, and what is open at its device, however often it forks. */
static void a_child_disturbs_nothing(void **state)
{
	(void)state;
	struct pair pair;
	make_pair(&pair);
	struct ring_verbs_link *receiver = end_of(&pair, RECEIVER);
	for (int round = 0; round < 8; round++) {
		pid_t child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			bool closed = fcntl(receiver->queue.channel->fd, F_GETFD) < 0 &&
				      fcntl(receiver->port->context->cmd_fd, F_GETFD) < 0;
			_exit(closed ? 0 : 1);
		}
		static unsigned char source[SLOT_BYTES];
		memset(source, round, sizeof(source));
		send_whole(&pair, source, sizeof(source));
		int status = 1;
		waitpid(child, &status, 0);
		assert_int_equal(status, 0);
		poll_until(&pair, &receiver->base.arrived, (uint64_t)round + 1);
		assert_memory_equal(data_of(&receiver->base, (uint64_t)round), source,
				    sizeof(source));
		ring_link_release(&receiver->base);
	}
	pair_close(&pair);
}

static unsigned char *map_at(void *place, size_t bytes, int content)
{
	unsigned char *memory = mmap(place, bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | (place ? MAP_FIXED : 0), -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	memset(memory, content, bytes);
	return memory;
}

/* Sends `bytes` bytes, and finds them at the other end. returns how many were copied on the way */
static uint64_t send_and_compare(struct pair *pair, const unsigned char *source, size_t bytes)
{
	struct ring_link *receiver = pair->ends[RECEIVER];
	const uint64_t copied = sender_of(pair)->copied, message = receiver->arrived;
	send_whole(pair, source, bytes);
	poll_until(pair, &receiver->arrived, message + 1);
	assert_int_equal(bytes_of(receiver, message), bytes);
	assert_memory_equal(data_of(receiver, message), source, bytes);
	ring_link_release(receiver);
	return sender_of(pair)->copied - copied;
}

static struct ring_region *make_known(void *memory, size_t bytes)
{
	struct ring_region *region = ring_region_add(
		&(struct ring_region){.start = memory, .bytes = bytes, .fd = -1});
	assert_non_null(region);
	return region;
}

static void what_lasts_is_sent_from_where_it_lies(void **state)
{
	const size_t bytes = 4 * SLOT_BYTES;
	struct pair pair;
	(void)state;
	make_pair(&pair);
	unsigned char *memory = map_at(NULL, bytes, 'a');
	assert_int_equal(send_and_compare(&pair, memory + 9, SLOT_BYTES), SLOT_BYTES);
	struct ring_region *region = make_known(memory, bytes);
	for (size_t at = 0; at + SLOT_BYTES <= bytes; at += 999) {
		memset(memory + at, (int)at, SLOT_BYTES);
		assert_int_equal(send_and_compare(&pair, memory + at, SLOT_BYTES), 0);
	}
	assert_int_equal(send_and_compare(&pair, memory + bytes - 10, 10), 0);

	/* Others have it, too, and an end beyond it is not it. */
	struct ring_region *part = make_known(memory, 2 * SLOT_BYTES);
	ring_region_release(region);
	assert_int_equal(send_and_compare(&pair, memory + SLOT_BYTES, SLOT_BYTES), 0);
	assert_int_equal(send_and_compare(&pair, memory + SLOT_BYTES + 1, SLOT_BYTES), SLOT_BYTES);
	ring_region_release(part);

	/* What lies there now are other pages. */
	map_at(memory, bytes, 'b');
	assert_int_equal(send_and_compare(&pair, memory, SLOT_BYTES), SLOT_BYTES);
	struct ring_region *again = make_known(memory, bytes);
	assert_int_equal(send_and_compare(&pair, memory, SLOT_BYTES), 0);
	pair_close(&pair);
	ring_region_release(again);
	munmap(memory, bytes);
}

/* Memory that lasts, in which messages land. */
struct place {
	unsigned char *memory;
	size_t bytes;
	struct ring_region *region;
};

static struct place make_place(size_t bytes)
{
	unsigned char *memory = map_at(NULL, bytes, 'a');
	return (struct place){memory, bytes, make_known(memory, bytes)};
}

static void free_place(struct place *place)
{
	ring_region_release(place->region);
	munmap(place->memory, place->bytes);
}

/* Tells where the next message may land, and waits until the sender has heard that. */
static void expect_at(struct pair *pair, size_t bytes, void *landing)
{
	const struct ring_verbs_receiver *receiver = receiver_of(pair);
	ring_link_expect(pair->ends[RECEIVER], bytes, landing);
	if (receiver->news)
		poll_until(pair, &sender_of(pair)->expected, receiver->expected);
}

static bool all_are(const unsigned char *memory, size_t bytes, unsigned char content)
{
	return memory[0] == content && memcmp(memory, memory + 1, bytes - 1) == 0;
}

/* Sends a large message. returns where it came to */
static const void *send_large(struct pair *pair, int content)
{
	static unsigned char source[LARGE_BYTES];
	struct ring_link *receiver = pair->ends[RECEIVER];
	const uint64_t message = receiver->arrived;
	memset(source, content, sizeof(source));
	send_whole(pair, source, sizeof(source));
	poll_until(pair, &receiver->arrived, message + 1);
	assert_true(bytes_of(receiver, message) == LARGE_BYTES);
	const unsigned char *data = data_of(receiver, message);
	assert_true(all_are(data, LARGE_BYTES, (unsigned char)content));
	ring_link_release(receiver);
	return data;
}

static void what_lasts_is_landed_in(void **state)
{
	struct place place = make_place(4 * LARGE_BYTES);
	static unsigned char other[LARGE_BYTES];
	struct pair pair;
	(void)state;
	make_pair_of(&pair, LARGE_BYTES);
	for (int round = 0; round < 3 * DEPTH; round++) {
		unsigned char *landing = place.memory + LARGE_BYTES + (size_t)round;
		expect_at(&pair, LARGE_BYTES, landing);
		assert_ptr_equal(send_large(&pair, 'b' + round), landing);
		assert_true(all_are(place.memory, LARGE_BYTES, 'a'));
		assert_true(all_are(place.memory + 3 * LARGE_BYTES, LARGE_BYTES, 'a'));
	}
	assert_int_equal(sender_of(&pair)->landed, 3 * DEPTH * LARGE_BYTES);

	/* What does not last, has another size, or no place is not landed in. */
	expect_at(&pair, LARGE_BYTES, other);
	assert_ptr_not_equal(send_large(&pair, 'x'), other);
	expect_at(&pair, LARGE_BYTES - 1, place.memory);
	assert_ptr_not_equal(send_large(&pair, 'y'), place.memory);
	expect_at(&pair, LARGE_BYTES, NULL);
	send_large(&pair, 'z');
	assert_int_equal(sender_of(&pair)->landed, 3 * DEPTH * LARGE_BYTES);

	/* What is told too late is not, nor by a later message. */
	const void *slot = send_large(&pair, 'v');
	ring_link_expect(pair.ends[RECEIVER], LARGE_BYTES, place.memory);
	for (int round = 0; round < DEPTH; round++) {
		expect_at(&pair, LARGE_BYTES, NULL);
		assert_ptr_not_equal(send_large(&pair, 'w'), place.memory);
	}
	assert_ptr_not_equal(slot, place.memory);
	assert_true(all_are(place.memory, LARGE_BYTES, 'a'));
	pair_close(&pair);
	free_place(&place);
}

/* One large message goes to its slot; those behind it wait to be told, until that is given back. */
static void large_messages_wait_to_be_told(void **state)
{
	struct place place = make_place(LARGE_BYTES);
	static unsigned char source[LARGE_BYTES];
	struct pair pair;
	short events;
	(void)state;
	make_pair_of(&pair, LARGE_BYTES);
	struct ring_link *sender = pair.ends[SENDER], *receiver = pair.ends[RECEIVER];
	for (int round = 0; round < DEPTH; round++) /* none did land */
		assert_int_equal(ring_link_send(sender, source, LARGE_BYTES), 0);
	poll_until(&pair, &receiver->arrived, DEPTH);
	for (int round = 0; round < DEPTH; round++) {
		ring_link_expect(receiver, LARGE_BYTES, NULL);
		ring_link_release(receiver);
	}
	expect_at(&pair, LARGE_BYTES, place.memory);
	send_large(&pair, 'b');
	poll_until(&pair, &sender_of(&pair)->freed, receiver->released);

	assert_int_equal(ring_link_send(sender, source, LARGE_BYTES), 0);
	assert_int_equal(ring_link_send(sender, source, LARGE_BYTES), RING_EAGAIN);
	poll_until(&pair, &receiver->arrived, DEPTH + 2);
	poll_until(&pair, &sender->sent, DEPTH + 2);
	assert_int_equal(ring_link_send(sender, source, LARGE_BYTES), RING_EAGAIN);
	assert_true(ring_link_wait_fd(sender, &events) >= 0 && events);
	assert_int_equal(ring_link_send(sender, source, 100), 0); /* small ones do not */
	assert_int_equal(ring_link_send(sender, source, LARGE_BYTES), RING_EAGAIN);
	ring_link_expect(receiver, LARGE_BYTES, NULL);
	ring_link_expect(receiver, 100, NULL);
	expect_at(&pair, LARGE_BYTES, place.memory);
	assert_int_equal(ring_link_send(sender, source, LARGE_BYTES), 0);
	poll_until(&pair, &receiver->arrived, DEPTH + 4);
	assert_ptr_equal(data_of(receiver, DEPTH + 3), place.memory);
	assert_int_equal(ring_link_send(sender, source, LARGE_BYTES), RING_EAGAIN);
	while (receiver->released < receiver->arrived)
		ring_link_release(receiver);
	poll_until(&pair, &sender_of(&pair)->freed, receiver->released);
	assert_int_equal(ring_link_send(sender, source, LARGE_BYTES), 0);
	pair_close(&pair);
	free_place(&place);
}

/* Behind a failure the user may have that memory back. */
static void what_was_withdrawn_stays_as_it_is(void **state)
{
	struct place place = make_place(LARGE_BYTES);
	static unsigned char source[LARGE_BYTES];
	struct pair pair;
	(void)state;
	for (int withdraws = 0; withdraws < 2; withdraws++) {
		make_pair_of(&pair, LARGE_BYTES);
		expect_at(&pair, LARGE_BYTES, place.memory);
		memset(place.memory, 'a', LARGE_BYTES);
		memset(source, 'x', sizeof(source));
		if (withdraws)
			ring_link_withdraw(pair.ends[RECEIVER]);
		assert_int_equal(ring_link_send(pair.ends[SENDER], source, LARGE_BYTES), 0);
		while (pair.ends[SENDER]->sent == 0 && ring_link_poll(pair.ends[SENDER]) == 0)
			;
		assert_true(all_are(place.memory, LARGE_BYTES, withdraws ? 'a' : 'x'));
		pair_close(&pair);
	}
	free_place(&place);
}

/* A peer that says where nothing can land, and one that says that something did. */
static void wrong_landings_are_refused(void **state)
{
	struct place place = make_place(LARGE_BYTES);
	static unsigned char source[LARGE_BYTES];
	struct pair pair;
	(void)state;
	make_pair_of(&pair, LARGE_BYTES);
	ring_link_expect(pair.ends[RECEIVER], LARGE_BYTES, place.memory);
	receiver_of(&pair)->landings[0].address = UINT64_MAX - 1;
	poll_until(&pair, &sender_of(&pair)->expected, 1);
	assert_int_equal(ring_link_send(pair.ends[SENDER], source, LARGE_BYTES), RING_EPEER);
	assert_non_null(
		strstr(pair.ends[SENDER]->why, "message 0 cannot land at 0xfffffffffffffffe"));
	pair_close(&pair);

	make_pair_of(&pair, LARGE_BYTES);
	expect_at(&pair, LARGE_BYTES, place.memory);
	receiver_of(&pair)->landings[0].bytes = 0; /* it never said so */
	assert_int_equal(ring_link_send(pair.ends[SENDER], source, LARGE_BYTES), 0);
	while (ring_link_poll(pair.ends[RECEIVER]) == 0)
		;
	assert_non_null(strstr(pair.ends[RECEIVER]->why,
			       "message 0 of 65536 bytes landed, and was not to"));
	pair_close(&pair);
	free_place(&place);
}

/* Slots of small messages come back several at once, and none for which the sender may wait. */
static void few_notices_give_all_slots_back(void **state)
{
	struct pair pair;
	(void)state;
	make_pair(&pair);
	struct ring_verbs_receiver *receiver = receiver_of(&pair);
	struct ring_link *base = pair.ends[RECEIVER];
	const uint64_t *told = &receiver->told.released;
	send_whole(&pair, "one", 3);
	poll_until(&pair, &base->arrived, 1);
	ring_link_release(base);
	assert_int_equal(*told, 0);
	for (int i = 0; i < DEPTH - 1; i++)
		send_whole(&pair, "more", 4);
	poll_until(&pair, &base->arrived, DEPTH);
	assert_int_equal(*told, 1); /* as others lie there */
	while (base->released < base->arrived)
		ring_link_release(base);
	assert_true(base->released - *told < DEPTH / 2);
	poll_until(&pair, &sender_of(&pair)->freed, *told);
	for (int i = 0; i < DEPTH / 2; i++)
		send_whole(&pair, "there is room", 13);
	pair_close(&pair);
}

/* The pages that the device sends from stay the parent's, whoever writes first. */
static void a_child_has_a_copy_of_what_lasts(void **state)
{
	struct pair pair;
	(void)state;
	make_pair(&pair);
	unsigned char *memory = map_at(NULL, SLOT_BYTES, 'a');
	struct ring_region *region = make_known(memory, SLOT_BYTES);
	assert_int_equal(send_and_compare(&pair, memory, SLOT_BYTES), 0);
	for (int round = 0; round < 4; round++) {
		pid_t child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			memset(memory, 'x', SLOT_BYTES);
			ring_region_release(region); /* it is no longer the child's to give back */
			_exit(0);
		}
		int status = 1;
		if (round % 2)
			waitpid(child, &status, 0);
		memset(memory, round, SLOT_BYTES);
		assert_int_equal(send_and_compare(&pair, memory, SLOT_BYTES), 0);
		if (round % 2 == 0)
			waitpid(child, &status, 0);
		assert_int_equal(status, 0);
	}
	pair_close(&pair);
	ring_region_release(region);
	munmap(memory, SLOT_BYTES);
}

/* Both may use a port that the parent had open. */
static void a_child_opens_its_own(void **state)
{
	(void)state;
	struct pair pair;
	make_pair(&pair);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct pair own;
		bool well = pair_init(&own) && pair_open(&own, &kind, DEPTH, SLOT_BYTES, 1) == 0;
		if (well)
			send_whole(&own, "child", 5);
		_exit(well ? 0 : 1);
	}
	int status = 1;
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	send_whole(&pair, "parent", 6);
	pair_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stopped_queue_pair_fails_both_ends),
		cmocka_unit_test(the_last_word_counts),
		cmocka_unit_test(a_wrong_key_is_refused),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(a_child_disturbs_nothing),
		cmocka_unit_test(what_lasts_is_sent_from_where_it_lies),
		cmocka_unit_test(what_lasts_is_landed_in),
		cmocka_unit_test(large_messages_wait_to_be_told),
		cmocka_unit_test(what_was_withdrawn_stays_as_it_is),
		cmocka_unit_test(wrong_landings_are_refused),
		cmocka_unit_test(few_notices_give_all_slots_back),
		cmocka_unit_test(a_child_has_a_copy_of_what_lasts),
		cmocka_unit_test(a_child_opens_its_own),
	};
	char why[RING_ABSENT_TEXT];
	if (!ring_verbs_present(why)) {
		printf("%s\n", why);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
