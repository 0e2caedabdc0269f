/* SPDX-License-Identifier: MIT */
/*
 * Control lanes around a ring of five ranks in one process, over socket pairs and, for the death of
 * a process, with one of the ranks in a child: who hears what, how often, and how lanes close.
 */
#include "health/lanes.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"

#define RANKS 5
#define LONG_MS 60000 /* what nobody waits for ... */
#define SOON_MS 15000 /* ... has ended before, also on a busy machine */

static struct ring_watcher *watcher;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* One rank and what it was told. */
static struct rank {
	struct ring_lanes *lanes;
	struct ring_peer peer;
	int next_fd, prev_fd;
	int failures, departures, departed, waits;
	struct ring_news news;
	struct ring_record waits_in;
	int asked, returned;
	struct ring_roll_question question;
} ranks[RANKS];
static int size;

static void heard(void *owner, const struct ring_news *news)
{
	struct rank *rank = owner;
	pthread_mutex_lock(&lock);
	rank->failures++;
	rank->news = *news;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void neighbour_left(void *owner, int who)
{
	struct rank *rank = owner;
	pthread_mutex_lock(&lock);
	rank->departures++;
	rank->departed = who;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void neighbour_waits(void *owner, int who, const struct ring_record *record)
{
	struct rank *rank = owner;
	pthread_mutex_lock(&lock);
	rank->waits += 1 + 10 * who; /* so that it shows who */
	rank->waits_in = *record;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void note_asked(void *roll, struct ring_roll_question *question)
{
	struct rank *rank = roll;
	pthread_mutex_lock(&lock);
	rank->asked++;
	if (rank == &ranks[2])
		snprintf(question->answer, sizeof(question->answer), "rank 2 is in no call");
	rank->question = *question;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void note_returned(void *roll, const struct ring_roll_question *question)
{
	struct rank *rank = roll;
	pthread_mutex_lock(&lock);
	rank->returned++;
	rank->question = *question;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void wait_for(const int *count, int wanted)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	pthread_mutex_lock(&lock);
	while (*count < wanted)
		if (pthread_cond_timedwait(&changed, &lock, &until))
			break;
	int have = *count;
	pthread_mutex_unlock(&lock);
	assert_int_equal(have, wanted);
}

static void hold_watcher(void)
{
	struct ring_config config;
	assert_int_equal(ring_config_resolve(&config, NULL, NULL), 0);
	assert_int_equal(ring_watcher_hold(&watcher, &config, NULL, NULL), 0);
}

static void open_rank(int i)
{
	struct rank *rank = &ranks[i];
	struct ring_lanes_params params = {
		.self = i,
		.prev = &ranks[(i + size - 1) % size].peer,
		.next = &ranks[(i + 1) % size].peer,
		.prev_fd = rank->prev_fd,
		.next_fd = rank->next_fd,
		.peer_lost_ms = LONG_MS,
		.failed = heard,
		.left = neighbour_left,
		.waits = neighbour_waits,
		.owner = rank,
		.asked = note_asked,
		.returned = note_returned,
		.roll = rank,
	};
	assert_int_equal(ring_lanes_open(&rank->lanes, watcher, &params, NULL), 0);
}

/* Connects `count` ranks in a circle; the lanes of `absent` are not opened. */
static void make_ring(int count, int absent)
{
	size = count;
	memset(ranks, 0, sizeof(ranks));
	for (int i = 0; i < size; i++) {
		int pair[2];
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
		ranks[i].next_fd = pair[0];
		ranks[(i + 1) % size].prev_fd = pair[1];
		ranks[i].peer.rank = i;
		ranks[i].peer.pid = 1000 + i;
		snprintf(ranks[i].peer.host, sizeof(ranks[i].peer.host), "host%d", i);
	}
	hold_watcher();
	for (int i = 0; i < size; i++)
		if (i != absent)
			open_rank(i);
}

static void close_ring(void)
{
	for (int i = 0; i < size; i++)
		ring_lanes_close(ranks[i].lanes, 0);
	ring_watcher_drop(watcher);
}

static void news_goes_around(void **state)
{
	(void)state;
	make_ring(RANKS, -1);
	struct ring_news news = {.err = RING_EABORTED, .culprit = 3, .text = "rank 3 aborted"};
	ring_lanes_report(ranks[3].lanes, &news);
	for (int i = 0; i < RANKS; i++) {
		wait_for(&ranks[i].failures, 1);
		assert_int_equal(ranks[i].news.err, RING_EABORTED);
		assert_int_equal(ranks[i].news.culprit, 3);
		assert_string_equal(ranks[i].news.text, "rank 3 aborted");
	}
	close_ring();
	for (int i = 0; i < RANKS; i++)
		assert_int_equal(ranks[i].failures, 1);
}

/* Two things go wrong at once: everybody hears of one, whichever came first. */
static void first_news_sticks(void **state)
{
	(void)state;
	make_ring(RANKS, -1);
	struct ring_news one = {.err = RING_EMISMATCH, .culprit = 0, .text = "one"},
			 other = {.err = RING_ETIMEDOUT, .culprit = 2, .text = "other"};
	ring_watcher_lock(watcher); /* neither hears the other first */
	ring_lanes_report(ranks[0].lanes, &one);
	ring_lanes_report(ranks[2].lanes, &other);
	ring_lanes_report(ranks[0].lanes, &other);
	ring_watcher_unlock(watcher);
	for (int i = 0; i < RANKS; i++)
		wait_for(&ranks[i].failures, 1);
	assert_string_equal(ranks[0].news.text, "one");
	assert_string_equal(ranks[2].news.text, "other");
	close_ring();
	for (int i = 0; i < RANKS; i++)
		assert_int_equal(ranks[i].failures, 1);
}

static void *close_rank(void *argument)
{
	struct rank *rank = argument;
	ring_lanes_close(rank->lanes, LONG_MS);
	return NULL;
}

static void goodbye_is_no_death(void **state)
{
	(void)state;
	make_ring(RANKS, -1);
	uint64_t begun_ms = ring_clock_ms();
	close_rank(&ranks[2]);
	ranks[2].lanes = NULL;
	assert_true(ring_clock_ms() - begun_ms < SOON_MS);
	wait_for(&ranks[1].departures, 1);
	wait_for(&ranks[3].departures, 1);
	assert_int_equal(ranks[1].departed, 2);
	assert_int_equal(ranks[3].departed, 2);

	pthread_t threads[RANKS];
	for (int i = 0; i < RANKS; i++)
		pthread_create(&threads[i], NULL, close_rank, &ranks[i]);
	for (int i = 0; i < RANKS; i++) {
		pthread_join(threads[i], NULL);
		ranks[i].lanes = NULL;
		wait_for(&ranks[i].failures, 0);
	}
	close_ring();
	assert_true(ring_clock_ms() - begun_ms < 2 * SOON_MS);
}

/* Two ranks have two lanes between them, but one goodbye. */
static void two_ranks_part_once(void **state)
{
	(void)state;
	make_ring(2, -1);
	close_rank(&ranks[0]);
	ranks[0].lanes = NULL;
	wait_for(&ranks[1].departures, 1);
	close_ring();
	assert_int_equal(ranks[1].departures, 1);
	assert_int_equal(ranks[1].failures, 0);
}

static void news_leaves_before_goodbye(void **state)
{
	(void)state;
	make_ring(RANKS, -1);
	struct ring_news news = {.err = RING_EABORTED,
				 .culprit = 4,
				 .text = "rank 4 aborted and left"};
	ring_lanes_report(ranks[4].lanes, &news);
	close_rank(&ranks[4]);
	ranks[4].lanes = NULL;
	for (int i = 0; i < 4; i++) {
		wait_for(&ranks[i].failures, 1);
		assert_string_equal(ranks[i].news.text, "rank 4 aborted and left");
	}
	close_ring();
}

/* A neighbour that does not answer delays the closing no longer than allowed. */
static void closing_is_bounded(void **state)
{
	(void)state;
	make_ring(RANKS, 1);
	uint64_t begun_ms = ring_clock_ms();
	ring_lanes_close(ranks[0].lanes, 300);
	ranks[0].lanes = NULL;
	assert_in_range(ring_clock_ms() - begun_ms, 290, SOON_MS);
	close_ring();
	close(ranks[1].prev_fd);
	close(ranks[1].next_fd);
}

static void assert_death_heard(int victim, int pid)
{
	char words[128];
	snprintf(words, sizeof(words), "rank %d (host host%d, pid %d) died", victim, victim, pid);
	for (int i = 0; i < RANKS; i++) {
		if (i == victim)
			continue;
		wait_for(&ranks[i].failures, 1);
		assert_int_equal(ranks[i].news.err, RING_EPEER);
		assert_int_equal(ranks[i].news.culprit, victim);
		assert_non_null(strstr(ranks[i].news.text, words));
	}
}

/* Rank 2 lives in a child; killed, the others hear of it at once. */
static void killed_process_is_named(void **state)
{
	(void)state;
	make_ring(RANKS, 2);
	pid_t pid = fork();
	if (!pid) {
		for (int i = 0; i < RANKS; i++) {
			if (i == 2)
				continue;
			close(ranks[i].prev_fd);
			close(ranks[i].next_fd);
		}
		hold_watcher();
		open_rank(2);
		pause();
	}
	close(ranks[2].prev_fd);
	close(ranks[2].next_fd);
	usleep(200000);
	for (int i = 0; i < RANKS; i++)
		wait_for(&ranks[i].failures, 0);
	uint64_t killed_ms = ring_clock_ms();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_death_heard(2, 1002);
	assert_true(ring_clock_ms() - killed_ms < SOON_MS);
	close_ring();
}

/* Only neighbours hear of it, each time. */
static void who_waits_tells_its_neighbours(void **state)
{
	(void)state;
	make_ring(RANKS, -1);
	struct ring_record record = ring_record_make(RING_KIND_BARRIER, 7, 0, -1, -1, -1);
	ring_lanes_tell(ranks[3].lanes, &record);
	wait_for(&ranks[2].waits, 31);
	wait_for(&ranks[4].waits, 31);
	assert_true(ring_record_equals(&ranks[4].waits_in, &record));
	record.sequence = 8;
	ring_lanes_tell(ranks[3].lanes, &record);
	wait_for(&ranks[2].waits, 62);
	assert_true(ring_record_equals(&ranks[2].waits_in, &record));
	close_ring();
	assert_int_equal(ranks[0].waits + ranks[1].waits + ranks[3].waits, 0);
	for (int i = 0; i < RANKS; i++)
		assert_int_equal(ranks[i].failures, 0);
}

/* All ranks see it once, what one wrote stays in it, and it ends with its asker or its hops. */
static void questions_go_around(void **state)
{
	(void)state;
	make_ring(RANKS, -1);
	struct ring_roll_question question = {
		.asker = 3, .number = 17, .hops = RANKS, .call = 7, .wanted = -1};
	ring_lanes_ask(ranks[3].lanes, &question);
	wait_for(&ranks[3].returned, 1);
	assert_string_equal(ranks[3].question.answer, "rank 2 is in no call");
	assert_true(ranks[3].question.number == 17 && ranks[3].question.call == 7);
	for (int i = 0; i < RANKS; i++)
		assert_int_equal(ranks[i].asked, i != 3);
	question = (struct ring_roll_question){.asker = RANKS, .hops = 3}; /* nobody's */
	ring_lanes_ask(ranks[3].lanes, &question);
	wait_for(&ranks[1].asked, 2);
	usleep(50000);
	wait_for(&ranks[2].asked, 1);
	close_ring();
}

/* A neighbour that talks nonsense is as good as dead; text off the wire is cleaned. */
static void nonsense_is_survived(void **state)
{
	(void)state;
	make_ring(RANKS, 2);
	const unsigned char bad_news[] = {1, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4};
	const unsigned char bad_record[] = {4, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4};
	const unsigned char long_letter[] = {1, 0, 0, 0, 255, 255, 255, 255};
	assert_true(write(ranks[2].next_fd, bad_news, sizeof(bad_news)) > 0);
	assert_true(write(ranks[2].next_fd, bad_record, sizeof(bad_record)) > 0);
	usleep(50000);
	wait_for(&ranks[3].failures, 0);
	wait_for(&ranks[3].waits, 0);
	assert_true(write(ranks[2].next_fd, long_letter, sizeof(long_letter)) > 0);
	assert_death_heard(2, 1002);
	close_ring();
	close(ranks[2].prev_fd);
	close(ranks[2].next_fd);
}

static void alone_has_no_lanes(void **state)
{
	(void)state;
	hold_watcher();
	struct ring_lanes *lanes;
	struct rank alone = {0};
	struct ring_lanes_params params = {.prev_fd = -1,
					   .next_fd = -1,
					   .failed = heard,
					   .left = neighbour_left,
					   .waits = neighbour_waits,
					   .owner = &alone};
	assert_int_equal(ring_lanes_open(&lanes, watcher, &params, NULL), 0);
	struct ring_news news = {.err = RING_EABORTED, .culprit = 0, .text = "alone"};
	ring_lanes_report(lanes, &news);
	assert_int_equal(alone.failures, 1);
	ring_lanes_close(lanes, 1000);
	ring_lanes_close(NULL, 1000);
	ring_watcher_drop(watcher);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(news_goes_around),
		cmocka_unit_test(first_news_sticks),
		cmocka_unit_test(goodbye_is_no_death),
		cmocka_unit_test(two_ranks_part_once),
		cmocka_unit_test(news_leaves_before_goodbye),
		cmocka_unit_test(closing_is_bounded),
		cmocka_unit_test(killed_process_is_named),
		cmocka_unit_test(who_waits_tells_its_neighbours),
		cmocka_unit_test(questions_go_around),
		cmocka_unit_test(nonsense_is_survived),
		cmocka_unit_test(alone_has_no_lanes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
