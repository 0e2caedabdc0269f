/* SPDX-License-Identifier: MIT */
/*
 * The contract of transport.h, once for every transport, and for the decorations that the engine's
 * tests use instead. RING_TEST_SEED repeats a run; RING_TEST_LONG makes it longer, RING_TEST_QUICK shorter for
 * transports whose device is emulated.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "ringccl.h"
#include "tests/transport/conformance.h"
#include "tests/transport/dice.h"
#include "tests/transport/faulty.h"
#include "tests/transport/traffic.h"

#define MANY 1000000

static const struct pair_kind kinds[] = {
	{.name = "loopback", .transport = &ring_transport_loopback},
	{.name = "shm", .transport = &ring_transport_shm},
	{.name = "verbs", .transport = &ring_transport_verbs},
	{.name = "tcp", .transport = &ring_transport_tcp},
	{.name = "late", .transport = NULL},
	{.name = "shm, shown late", .transport = &ring_transport_shm, .faulty = true},
	{.name = "verbs, shown late", .transport = &ring_transport_verbs, .faulty = true},
	{.name = "tcp, shown late", .transport = &ring_transport_tcp, .faulty = true},
	{.name = "paced loopback", .transport = &ring_transport_loopback, .paced = true},
	{.name = "paced shm", .transport = &ring_transport_shm, .paced = true},
	{.name = "paced verbs", .transport = &ring_transport_verbs, .paced = true},
	{.name = "paced tcp", .transport = &ring_transport_tcp, .paced = true},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

uint64_t seed;

/* ---- one thread ---- */

static void every_size_arrives_whole(void **state)
{
	static const size_t sizes[] = {1,         2,    3,    7,
				       8,         9,    63,   64,
				       65,        4095, 4096, 4097,
				       8191,      8192, 8193, SLOT_BYTES - 1,
				       SLOT_BYTES};
	static unsigned char source[SLOT_BYTES + 8];
	struct pair pair;
	make_pair(&pair, state, 2, SLOT_BYTES);
	uint64_t dice = seed;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned char *unaligned = source + i % 8;
		for (size_t k = 0; k < sizes[i]; k++)
			unaligned[k] = (unsigned char)dice_roll(&dice);
		send_whole(&pair, unaligned, sizes[i]);
		poll_until(&pair, &pair.ends[RECEIVER]->arrived, i + 1);
		assert_int_equal(bytes_of(pair.ends[RECEIVER], i), sizes[i]);
		assert_memory_equal(data_of(pair.ends[RECEIVER], i), unaligned, sizes[i]);
		ring_link_release(pair.ends[RECEIVER]);
	}
	pair_close(&pair);
}

/* Sent without a poll between them, few bytes may leave in one piece. */
static void what_leaves_together_arrives_apart(void **state)
{
	static const size_t sizes[] = {3, 40, 1, 8, 17, 90};
	static const char text[] =
		"what is sent in one go, such as an entry record and the data behind it, "
		"leaves in one system call";
	const size_t count = sizeof(sizes) / sizeof(sizes[0]);
	struct pair pair;
	make_pair(&pair, state, (unsigned)count, SLOT_BYTES);
	struct ring_link *sender = pair.ends[SENDER];
	for (size_t i = 0; i < count; i++) {
		int err = ring_link_send(sender, text + i, sizes[i]);
		if (err == RING_EAGAIN) /* it takes them one by one */
			send_whole(&pair, text + i, sizes[i]);
		else
			assert_int_equal(err, 0);
	}
	poll_until(&pair, &pair.ends[RECEIVER]->arrived, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(bytes_of(pair.ends[RECEIVER], i), sizes[i]);
		assert_memory_equal(data_of(pair.ends[RECEIVER], i), text + i, sizes[i]);
	}
	for (size_t i = 0; i < count; i++)
		ring_link_release(pair.ends[RECEIVER]);
	poll_until(&pair, &sender->sent, count);
	pair_close(&pair);
}

/* Jobs of devices read it there, once the pages are pinned. */
static void what_arrives_lies_in_slots(void **state)
{
	static const unsigned char source[SLOT_BYTES];
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct pair pair;
	void *memory = NULL;
	make_pair(&pair, state, 3, SLOT_BYTES);
	size_t bytes = ring_link_slots(pair.ends[RECEIVER], &memory);
	assert_true(bytes > 0);
	assert_int_equal(((uintptr_t)memory | bytes) % page, 0);
	for (uint64_t i = 0; i < 7; i++) {
		send_whole(&pair, source, SLOT_BYTES);
		poll_until(&pair, &pair.ends[RECEIVER]->arrived, i + 1);
		const unsigned char *data = data_of(pair.ends[RECEIVER], i);
		assert_in_range((size_t)(data - (unsigned char *)memory), 0, bytes - SLOT_BYTES);
		ring_link_release(pair.ends[RECEIVER]);
	}
	pair_close(&pair);
}

static void full_slots_hold_the_sender_back(void **state)
{
	struct pair pair;
	make_pair(&pair, state, 2, SLOT_BYTES);
	struct traffic sender, receiver;
	assert_true(traffic_init(&sender, pair.ends[SENDER], &pair.bells[SENDER], seed, 12));
	assert_true(traffic_init(&receiver, pair.ends[RECEIVER], &pair.bells[RECEIVER], seed, 12));
	for (int i = 0; i < 1000; i++) {
		traffic_step(&sender);
		assert_int_equal(ring_link_poll(pair.ends[RECEIVER]), 0);
		assert_true(pair.ends[RECEIVER]->arrived <= 2);
	}
	assert_int_equal(pair.ends[RECEIVER]->arrived, 2);
	while (!traffic_is_over(&sender) || !traffic_is_over(&receiver)) {
		traffic_step(&receiver);
		traffic_step(&sender);
	}
	assert_string_equal(receiver.wrong, "");
	assert_int_equal(receiver.moved, 12);
	traffic_free(&sender);
	traffic_free(&receiver);
	pair_close(&pair);
}

static void a_million_messages_in_any_interleaving(void **state)
{
	bool is_slow = kind_of(state)->faulty || kind_of(state)->transport == &ring_transport_verbs;
	uint64_t many = getenv("RING_TEST_LONG") || !is_slow ? MANY : few_of(MANY / 10, state);
	struct pair pair;
	make_pair(&pair, state, 5, 300);
	struct traffic ends[2];
	for (int end = 0; end < 2; end++)
		assert_true(traffic_init(&ends[end], pair.ends[end], &pair.bells[end], seed, many));
	uint64_t dice = seed;
	while (!traffic_is_over(&ends[SENDER]) || !traffic_is_over(&ends[RECEIVER])) {
		struct traffic *end = &ends[dice_below(&dice, 2)];
		uint64_t steps = dice_below(&dice, 24);
		while (steps-- > 0 && traffic_step(end))
			;
	}
	for (int end = 0; end < 2; end++) {
		assert_string_equal(ends[end].wrong, "");
		assert_int_equal(ends[end].moved, many);
		traffic_free(&ends[end]);
	}
	pair_close(&pair);
}

/* ---- two threads ---- */

static void *run_awake(void *traffic)
{
	traffic_run(traffic, false);
	return NULL;
}

static void *run_asleep(void *traffic)
{
	traffic_run(traffic, true);
	return NULL;
}

static void run_two(struct pair *pair, void *(*run)(void *), uint64_t messages, bool patient)
{
	struct traffic ends[2];
	pthread_t threads[2];
	for (int end = 0; end < 2; end++) {
		assert_true(traffic_init(&ends[end], pair->ends[end], &pair->bells[end], seed,
					 messages));
		ends[end].patient = patient;
	}
	for (int end = 0; end < 2; end++)
		assert_int_equal(pthread_create(&threads[end], NULL, run, &ends[end]), 0);
	for (int end = 0; end < 2; end++)
		pthread_join(threads[end], NULL);
	for (int end = 0; end < 2; end++) {
		assert_string_equal(ends[end].wrong, "");
		assert_int_equal(ends[end].err, 0);
		assert_int_equal(ends[end].moved, messages);
		traffic_free(&ends[end]);
	}
}

static void every_depth_works(void **state)
{
	for (unsigned depth = 1; depth <= RING_DEPTH_MAX; depth++) {
		struct pair pair;
		make_pair(&pair, state, depth, SLOT_BYTES);
		run_two(&pair, run_awake, few_of(2000, state), depth % 2 == 0);
		pair_close(&pair);
	}
}

static void no_wakeup_is_lost_on_a_busy_link(void **state)
{
	struct pair pair;
	make_pair(&pair, state, 1, SLOT_BYTES);
	run_two(&pair, run_asleep, few_of(5000, state), false);
	pair_close(&pair);
}

/* One rank of a ping-pong: nothing happens while it waits, so every wait is a sleep. */
struct player {
	struct ring_link *out, *in;
	struct ring_bell *bell;
	bool serves;
	uint64_t rounds;
	const char *wrong;
};

static bool ball_is_here(void *context)
{
	struct player *player = context;
	if (ring_link_poll(player->out) || ring_link_poll(player->in))
		player->wrong = "a link failed";
	return player->wrong || player->in->arrived > player->in->released;
}

static void hit(struct player *player)
{
	static const uint64_t ball = 7;
	int err;
	while ((err = ring_link_send(player->out, &ball, sizeof(ball))) == RING_EAGAIN)
		ring_link_poll(player->out);
	if (err || ring_link_poll(player->out))
		player->wrong = "the ball could not be sent";
}

static void *play(void *context)
{
	struct player *player = context;
	for (uint64_t round = 0; round < player->rounds && !player->wrong; round++) {
		if (player->serves)
			hit(player);
		while (!ball_is_here(player))
			if (!traffic_sleep(player->in, player->bell, ball_is_here, player))
				player->wrong = "nobody woke the player";
		if (!player->wrong)
			ring_link_release(player->in);
		if (!player->serves)
			hit(player);
	}
	return NULL;
}

static void no_wakeup_is_lost_in_ping_pong(void **state)
{
	struct pair there;
	make_pair(&there, state, 2, 64);
	/* Each rank has one bell: the link back rings those of the first, the other way round. */
	struct pair back = {.bells = {there.bells[RECEIVER], there.bells[SENDER]}};
	assert_int_equal(pair_open(&back, kind_of(state), 2, 64, seed + 2), 0);
	const uint64_t rounds = few_of(3000, state);
	struct player players[2] = {
		{there.ends[SENDER], back.ends[RECEIVER], &there.bells[SENDER], true, rounds, NULL},
		{back.ends[SENDER], there.ends[RECEIVER], &there.bells[RECEIVER], false, rounds,
		 NULL},
	};
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, play, &players[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++)
		assert_null(players[i].wrong);
	pair_close_end(&back, SENDER);
	pair_close_end(&back, RECEIVER);
	pair_close(&there);
}

/* ---- both ways ---- */

/* Makes the links that go the other way. */
static void reverse(const struct pair *there, struct pair *back)
{
	*back = (struct pair){.bells = {there->bells[RECEIVER], there->bells[SENDER]}};
	for (int end = 0; end < 2; end++) {
		struct ring_link *link = there->ends[end];
		assert_int_equal(ring_link_reverse(link, &back->ends[!end]), 0);
		assert_int_equal(back->ends[!end]->outgoing, !link->outgoing);
		assert_int_equal(back->ends[!end]->self, link->self);
		assert_int_equal(back->ends[!end]->peer, link->peer);
	}
}

static void run_both_ways(struct pair *pairs[2])
{
	struct traffic traffic[4];
	for (int i = 0; i < 4; i++)
		assert_true(traffic_init(&traffic[i], pairs[i / 2]->ends[i % 2],
					 &pairs[i / 2]->bells[i % 2], seed + i / 2, 20000));
	uint64_t dice = seed;
	for (bool over = false; !over;) {
		struct traffic *some = &traffic[dice_below(&dice, 4)];
		uint64_t steps = dice_below(&dice, 24);
		while (steps-- > 0 && traffic_step(some))
			;
		over = true;
		for (int i = 0; i < 4; i++)
			over = over && traffic_is_over(&traffic[i]);
	}
	for (int i = 0; i < 4; i++) {
		assert_string_equal(traffic[i].wrong, "");
		assert_int_equal(traffic[i].moved, 20000);
		traffic_free(&traffic[i]);
	}
}

static void a_connection_goes_both_ways(void **state)
{
	struct pair there, back;
	make_pair(&there, state, 4, 300);
	reverse(&there, &back);
	run_both_ways((struct pair *[]){&there, &back});
	for (int end = 0; end < 2; end++)
		pair_close_end(&there, end);
	uint64_t arrived = back.ends[RECEIVER]->arrived;
	send_whole(&back, "still here", 10);
	poll_until(&back, &back.ends[RECEIVER]->arrived, arrived + 1);
	assert_memory_equal(data_of(back.ends[RECEIVER], arrived), "still here", 10);
	ring_link_release(back.ends[RECEIVER]);
	pair_close_end(&back, SENDER);
	assert_int_equal(poll_until_error(back.ends[RECEIVER]), RING_EPEER);
	pair_close_end(&back, RECEIVER);
	pair_close(&there);
}

/* ---- the faulty link itself ---- */

static void a_faulty_link_breaks_where_it_should(void **state)
{
	for (uint64_t k = 1; k <= 10; k++) {
		struct pair pair;
		make_pair(&pair, state, 4, 100);
		struct ring_faults faults = {.fail_at = k};
		assert_int_equal(ring_faulty_wrap(pair.ends[SENDER], &faults, &pair.ends[SENDER]),
				 0);
		struct ring_link *sender = pair.ends[SENDER];
		for (uint64_t i = 1; i < k; i++)
			assert_int_equal(ring_link_poll(sender), 0);
		assert_int_equal(ring_link_poll(sender), RING_EPEER);
		assert_int_equal(ring_link_send(sender, "", 1), RING_EPEER);
		pair_close(&pair);
	}
}

/* ---- the cases, and which kinds have them ---- */

static bool by_all(const struct pair_kind *kind)
{
	return kind;
}

/* A paced link takes no more before the other end is polled. */
static bool by_unpaced(const struct pair_kind *kind)
{
	return !kind->paced;
}

static bool by_reversible(const struct pair_kind *kind)
{
	return kind->transport && kind->transport->reverse && !kind->faulty;
}

static bool by_transports(const struct pair_kind *kind)
{
	return kind->transport;
}

static bool by_unwrapped(const struct pair_kind *kind)
{
	return kind->transport && !kind->faulty;
}

static bool between_processes(const struct pair_kind *kind)
{
	return kind->transport && kind->transport != &ring_transport_loopback && !kind->faulty;
}

static const struct {
	const char *name;
	void (*run)(void **state);
	bool (*had)(const struct pair_kind *kind);
} cases[] = {
	{"every size arrives whole", every_size_arrives_whole, by_all},
	{"what leaves together arrives apart", what_leaves_together_arrives_apart, by_unpaced},
	{"what arrives lies in slots", what_arrives_lies_in_slots, by_unwrapped},
	{"full slots hold the sender back", full_slots_hold_the_sender_back, by_all},
	{"a million messages in any interleaving", a_million_messages_in_any_interleaving, by_all},
	{"every depth works", every_depth_works, by_all},
	{"no wake-up is lost on a busy link", no_wakeup_is_lost_on_a_busy_link, by_all},
	{"no wake-up is lost in ping-pong", no_wakeup_is_lost_in_ping_pong, by_all},
	{"a connection goes both ways", a_connection_goes_both_ways, by_reversible},
	{"the other end may come late", the_other_end_may_come_late, by_transports},
	{"half-open ends can be closed", half_open_ends_can_be_closed, by_transports},
	{"what was sent before close arrives", what_was_sent_before_close_arrives, by_all},
	{"a receiver that closes is noticed", a_receiver_that_closes_is_noticed, by_all},
	{"a peer that dies is noticed", a_peer_that_dies_is_noticed, between_processes},
	{"a faulty link breaks where it should", a_faulty_link_breaks_where_it_should, by_all},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

static void is_not_here(void **state)
{
	(void)state;
	skip();
}

/* Where a transport lacks what it needs, its cases are left out, and one says so by being skipped. */
static bool is_here(const struct pair_kind *kind)
{
	const struct ring_transport *transport = kind->transport;
	char why[RING_ABSENT_TEXT];
	if (!transport || !transport->present || transport->present(why))
		return true;
	printf("# %s: %s\n", kind->name, why);
	return false;
}

/* CMocka leaves out what has no function. */
static struct CMUnitTest make_test(const struct pair_kind *kind, size_t c, bool here)
{
	static char names[KINDS * CASES][80];
	char *name = names[(size_t)(kind - kinds) * CASES + c];
	bool has = cases[c].had(kind);
	snprintf(name, sizeof(names[0]), "%s: %s", kind->name, here ? cases[c].name : "not here");
	return (struct CMUnitTest){.name = name,
				   .test_func = here && has       ? cases[c].run
						: !here && c == 0 ? is_not_here
								  : NULL,
				   .initial_state = (void *)kind};
}

/* conformance_test [PATTERN]: the cases of that name, such as "verbs*" */
int main(int argc, char **argv)
{
	static struct CMUnitTest tests[KINDS * CASES];
	const char *chosen = getenv("RING_TEST_SEED");
	bool here = true;

	seed = chosen ? strtoull(chosen, NULL, 0) : (uint64_t)time(NULL);
	printf("# RING_TEST_SEED=%llu repeats this run\n", (unsigned long long)seed);
	for (size_t i = 0; i < KINDS * CASES; i++) {
		const struct pair_kind *kind = &kinds[i / CASES];
		if (i % CASES == 0)
			here = is_here(kind);
		tests[i] = make_test(kind, i % CASES, here);
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
