/* SPDX-License-Identifier: MIT */
/*
 * Meetings, served by this process: ranks as threads and as processes that find one another, and
 * every way in which a meeting fails, with the sentence that says so.
 */
#include "meet/rendezvous.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "door/edge.h"
#include "base/fd.h"
#include "meet/identity.h"
#include "door/interface.h"
#include "tests/holdings.h"

#define RANKS_MAX 8

/* One rank: what it is told, and how that ended. */
struct rank {
	int number, size;
	struct ring_unique_id id;
	struct ring_config config;
	const char *host;
	uint32_t unusable;            /* transports it cannot use (bits) */
	uint64_t linger_ms;           /* stays this long before it reports */
	struct ring_watcher *watcher; /* while it runs, as the next three */
	struct ring_edge_ends ends;
	struct ring_join *join;
	struct ring_edge edges[4]; /* on two channels: out, in */
	struct ring_placement placement;
	int err;
	struct ring_failure failure;
	pthread_t thread;
};

static struct rank new_rank(const struct ring_unique_id *id, int number, int size)
{
	struct rank rank = {.number = number, .size = size, .id = *id, .host = "host"};
	struct ring_options options;
	ring_options_init(&options);
	options.create_timeout_ms = 20000;
	assert_int_equal(ring_config_resolve(&rank.config, &options, NULL), 0);
	return rank;
}

/* Sleeps until something may have moved, at most `ms`. */
static void wait_a_little(struct rank *rank, int ms)
{
	struct pollfd fds[6] = {
		{.fd = ring_contact_wake_fd(rank->ends.contact), .events = POLLIN},
	};
	ring_join_poll(rank->join, &fds[1], &ms);
	for (int i = 0; i < 4; i++)
		ring_edge_poll(&rank->edges[i], &fds[2 + i], &ms);
	poll(fds, 6, ms);
	ring_contact_awake(rank->ends.contact);
}

static int wait_for_place(struct rank *rank)
{
	int err;
	while ((err = ring_join_placed(rank->join, &rank->placement, &rank->failure)) == RING_EAGAIN)
		wait_a_little(rank, 1000);
	return err;
}

static void close_edges(struct rank *rank)
{
	for (int i = 0; i < 4; i++)
		ring_edge_drop(&rank->edges[i]);
}

/* Connects with both neighbours. returns 0; RING_ENOTSUP: start again; an error */
static int link_up(struct rank *rank)
{
	bool ready = rank->size == 1;
	ring_contact_renew(rank->ends.contact, rank->placement.attempt);
	for (int i = 0; i < 4; i++) {
		bool outgoing = i % 2 == 0;
		rank->edges[i] = (struct ring_edge){
			.role = RING_ROLE_CONTROL,
			.channel = i / 2,
			.outgoing = outgoing,
			.peer = outgoing ? &rank->placement.next : &rank->placement.prev,
		};
	}
	while (!ready) {
		int err = ring_join_verdict(rank->join, &rank->failure);
		if (err != RING_EAGAIN)
			return err;
		ready = true;
		for (int i = 0; i < 4; i++) {
			err = ring_edge_step(&rank->edges[i], &rank->ends, &rank->failure);
			if (err && err != RING_EAGAIN)
				return err;
			ready = ready && !err;
		}
		if (!ready)
			wait_a_little(rank, 1000);
	}
	return 0;
}

/* Edges lead to the right neighbour: what comes along it says from whom. */
static bool edges_are_broken(struct rank *rank)
{
	for (int i = 0; i < 4 && rank->size > 1; i++) {
		unsigned char name = (unsigned char)rank->number;
		int fd = rank->edges[i].fd;
		if (i % 2 == 0 && send(fd, &name, 1, MSG_NOSIGNAL) != 1)
			return true;
		struct pollfd readable = {.fd = fd, .events = POLLIN};
		if (i % 2 == 1 && (poll(&readable, 1, 10000) != 1 || read(fd, &name, 1) != 1 ||
				   name != rank->placement.prev.rank))
			return true;
	}
	return false;
}

static int report(struct rank *rank, bool broken)
{
	uint32_t failed = 0;
	if (rank->size > 1)
		failed = (broken ? ~0u : rank->unusable) & 1u << rank->placement.next_transport;
	while (rank->linger_ms && ring_clock_ms() < rank->linger_ms)
		wait_a_little(rank, 50);
	int err = ring_join_report(rank->join, failed, rank->placement.next.rank,
				   failed ? "it is broken" : "", &rank->failure);
	if (err)
		return err;
	while ((err = ring_join_verdict(rank->join, &rank->failure)) == RING_EAGAIN)
		wait_a_little(rank, 1000);
	return err;
}

static int enter(struct rank *rank)
{
	struct ring_identity identity;
	int err = ring_identity_read(&rank->id, &identity);
	if (!err)
		err = ring_watcher_hold(&rank->watcher, &rank->config, &identity.root,
					&rank->failure);
	if (err)
		return err;
	struct ring_peer self = {
		.rank = rank->number,
		.pid = getpid(),
		.uid = getuid(),
		.numa = -1,
		.tcp = *ring_watcher_address(rank->watcher),
		.process = ring_watcher_process(rank->watcher),
	};
	snprintf(self.local, sizeof(self.local), "%s", ring_watcher_local_name(rank->watcher));
	snprintf(self.host, sizeof(self.host), "%s", rank->host);
	rank->ends.self = rank->number;
	err = ring_contact_open(&rank->ends.contact, rank->watcher,
				ring_watcher_address(rank->watcher), identity.job, identity.secret,
				rank->number, &rank->failure);
	return err ? err
		   : ring_join_start(&rank->join, rank->size, &self, &identity, &rank->config,
				     &rank->failure);
}

static void leave(struct rank *rank)
{
	close_edges(rank);
	ring_join_close(rank->join, &rank->failure);
	ring_contact_close(rank->ends.contact);
	if (rank->watcher)
		ring_watcher_drop(rank->watcher);
	rank->join = NULL;
	rank->ends.contact = NULL;
	rank->watcher = NULL;
}

static void *run_rank(void *argument)
{
	struct rank *rank = argument;
	rank->err = enter(rank);
	while (!rank->err) {
		rank->err = wait_for_place(rank);
		if (!rank->err)
			rank->err = link_up(rank);
		if (!rank->err)
			rank->err = report(rank, edges_are_broken(rank));
		close_edges(rank);
		if (rank->err != RING_ENOTSUP || rank->failure.err)
			break;
		rank->err = 0;
	}
	leave(rank);
	return NULL;
}

static void run_ranks(struct rank *ranks, int count)
{
	for (int i = 0; i < count; i++)
		assert_int_equal(pthread_create(&ranks[i].thread, NULL, run_rank, &ranks[i]), 0);
	for (int i = 0; i < count; i++)
		pthread_join(ranks[i].thread, NULL);
}

static void assert_met(const struct rank *rank)
{
	if (rank->err)
		fail_msg("rank %d: %d %s", rank->number, rank->err, rank->failure.text);
}

static void assert_failed(const struct rank *rank, int err, const char *words)
{
	if (rank->err != err || !strstr(rank->failure.text, words))
		fail_msg("rank %d: %d, no \"%s\" in: %s", rank->number, rank->err, words,
			 rank->failure.text);
}

/* A meeting of `count` ranks, each with the timeouts and options of its own. */
static void gather(struct rank *ranks, int count, int size)
{
	struct ring_unique_id id;
	assert_int_equal(ring_unique_id_create(&id), 0);
	for (int i = 0; i < count; i++)
		ranks[i] = new_rank(&id, i, size);
}

static int quiet; /* descriptors of a process that has no watcher */

/* After every test. Meetings may end a little after their ranks did. */
static int assert_nothing_left(void **state)
{
	(void)state;
	uint64_t patience_ms = ring_clock_ms() + 5000;
	while (holdings_fds() > quiet && ring_clock_ms() < patience_ms)
		usleep(10000);
	assert_int_equal(holdings_fds(), quiet);
	return 0;
}

/* ---- meetings that work ---- */

static void threads_meet(void **state)
{
	(void)state;
	struct rank ranks[RANKS_MAX];
	for (int size = 1; size <= RANKS_MAX; size++) {
		gather(ranks, size, size);
		run_ranks(ranks, size);
		for (int i = 0; i < size; i++) {
			assert_met(&ranks[i]);
			const struct ring_placement *mine = &ranks[i].placement;
			assert_int_equal(mine->next.rank == mine->prev.rank, size <= 2);
			assert_int_equal(ranks[mine->next.rank].placement.prev.rank, i);
		}
	}
}

static pid_t fork_rank(const struct rank *rank)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	struct rank mine = *rank;
	run_rank(&mine);
	if (mine.failure.err)
		fprintf(stderr, "# rank %d: %s\n", mine.number, mine.failure.text);
	_exit(mine.err ? 1 : 0);
}

static void processes_meet(void **state)
{
	(void)state;
	struct rank ranks[RANKS_MAX];
	pid_t pids[RANKS_MAX];
	gather(ranks, RANKS_MAX, RANKS_MAX);
	for (int i = 0; i < RANKS_MAX; i++)
		pids[i] = fork_rank(&ranks[i]);
	for (int i = 0; i < RANKS_MAX; i++) {
		int status;
		waitpid(pids[i], &status, 0);
		assert_int_equal(status, 0);
	}
}

/* All start again without what one of them could not use; the first attempt's words are forgotten. */
static void again_with_fewer_transports(void **state)
{
	(void)state;
	struct rank ranks[4];
	gather(ranks, 4, 4);
	ranks[2].unusable = 1;
	run_ranks(ranks, 4);
	for (int i = 0; i < 4; i++) {
		assert_met(&ranks[i]);
		assert_int_equal(ranks[i].placement.attempt, 1);
		assert_int_not_equal(ranks[i].placement.next_transport, 0);
	}
}

/* All ranks of both its hosts will do without it, those of other hosts not. */
static void both_hosts_of_a_failed_link_shun_it(void **state)
{
	(void)state;
	static const char *const hosts[] = {"a", "a", "b", "b", "c"};
	static const uint32_t shunned[] = {0, 0, 1, 1, 1};
	struct rank ranks[5];
	gather(ranks, 5, 5);
	for (int i = 0; i < 5; i++)
		ranks[i].host = hosts[i];
	ranks[3].unusable = 1; /* its next is rank 4 */
	run_ranks(ranks, 5);
	for (int i = 0; i < 5; i++) {
		assert_met(&ranks[i]);
		assert_int_equal(ranks[i].placement.attempt, 1);
		assert_int_equal(ranks[i].placement.shunned, shunned[i]);
	}
}

/* ---- meetings that fail ---- */

static void no_transport_left(void **state)
{
	(void)state;
	struct rank ranks[3];
	gather(ranks, 3, 3);
	ranks[1].unusable = ~0u;
	run_ranks(ranks, 3);
	for (int i = 0; i < 3; i++)
		assert_failed(&ranks[i], RING_ENOTSUP, "it is broken");
}

static void missing_rank_is_named(void **state)
{
	(void)state;
	struct rank ranks[8];
	gather(ranks, 8, 8);
	ranks[3] = ranks[0];
	ranks[3].number = 4;
	for (int i = 0; i < 4; i++)
		ranks[i].config.create_timeout_ms = 1500;
	run_ranks(ranks, 4);
	for (int i = 0; i < 4; i++)
		assert_failed(&ranks[i], RING_ETIMEDOUT,
			      "ranks 3, 5..7 never came within 1500 ms (4 of 8 met at ");
}

static void slow_rank_is_named(void **state)
{
	(void)state;
	struct rank ranks[3];
	gather(ranks, 3, 3);
	ranks[0].config.create_timeout_ms = 1500;
	ranks[1].linger_ms = ring_clock_ms() + 4000;
	run_ranks(ranks, 3);
	for (int i = 0; i < 3; i++)
		assert_failed(&ranks[i], RING_ETIMEDOUT, "rank 1 met the others at ");
}

static void two_claim_one_rank(void **state)
{
	(void)state;
	struct rank ranks[3];
	gather(ranks, 3, 4);
	ranks[2].number = 1;
	run_ranks(ranks, 3);
	for (int i = 0; i < 3; i++)
		assert_failed(&ranks[i], RING_EMISMATCH, "both claim to be rank 1");
}

static void sizes_differ(void **state)
{
	(void)state;
	struct rank ranks[3];
	gather(ranks, 3, 4);
	ranks[2].size = 3;
	run_ranks(ranks, 3);
	for (int i = 0; i < 3; i++)
		assert_failed(&ranks[i], RING_EMISMATCH, " ranks, but rank ");
}

static void options_differ(void **state)
{
	(void)state;
	struct rank ranks[3];
	gather(ranks, 3, 3);
	ranks[2].config.chunk_bytes = 4096;
	run_ranks(ranks, 3);
	for (int i = 0; i < 3; i++)
		assert_failed(&ranks[i], RING_EMISMATCH,
			      "RING_CHUNK_BYTES is 4096 on rank 2 but unset on rank 0");
	gather(ranks, 3, 3);
	strcpy(ranks[0].config.transport, "tcp");
	run_ranks(ranks, 3);
	for (int i = 0; i < 3; i++)
		assert_failed(&ranks[i], RING_EMISMATCH,
			      "RING_TRANSPORT is unset on rank 1 but tcp on rank 0");
}

/* Ranks 0 and 1 of four, in threads. */
static void start_two(struct rank ranks[3], int timeout_ms)
{
	for (int i = 0; i < 2; i++) {
		ranks[i].config.create_timeout_ms = timeout_ms;
		pthread_create(&ranks[i].thread, NULL, run_rank, &ranks[i]);
	}
}

/* Rank 2 comes as well and is gone after `ms`, for a reason that the others should hear: `words`. */
typedef void leave_after(struct rank ranks[3], int ms, char words[64]);

static void be_killed(struct rank ranks[3], int ms, char words[64])
{
	pid_t victim = fork_rank(&ranks[2]);
	start_two(ranks, ms + 15000);
	usleep((useconds_t)ms * 1000);
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
	snprintf(words, 64, "rank 2 (host host, pid %d) died", victim);
}

static void give_reason(struct rank ranks[3], int ms, char words[64])
{
	struct rank *third = &ranks[2];
	assert_int_equal(enter(third), 0);
	start_two(ranks, ms + 15000);
	uint64_t until_ms = ring_clock_ms() + (uint64_t)ms;
	while (ring_clock_ms() < until_ms) {
		assert_int_equal(ring_join_placed(third->join, &third->placement, NULL),
				 RING_EAGAIN);
		wait_a_little(third, 50);
	}
	third->failure = (struct ring_failure){RING_ENOMEM, "rank 2 has no\nmemory"};
	leave(third);
	snprintf(words, 64, "rank 2 has no memory");
}

/* False if rank 2 had not come when it left, or not said who it was: others kept the CPUs. */
static bool others_hear(leave_after *act, int ms, int err)
{
	struct rank ranks[3];
	char words[64];
	gather(ranks, 3, 4);
	act(ranks, ms, words);
	uint64_t left_ms = ring_clock_ms();
	for (int i = 0; i < 2; i++)
		pthread_join(ranks[i].thread, NULL);
	if (strstr(ranks[0].failure.text, "ranks 2, 3 never came") ||
	    strstr(ranks[0].failure.text, "rank 2 died"))
		return false;
	for (int i = 0; i < 2; i++)
		assert_failed(&ranks[i], err, words);
	assert_true(ring_clock_ms() - left_ms < 10000);
	return true;
}

/* The rank that waits for the others is killed; those who came learn who it was, at once. */
static void killed_rank_is_named(void **state)
{
	(void)state;
	assert_true(others_hear(be_killed, 300, RING_EPEER) ||
		    others_hear(be_killed, 5000, RING_EPEER));
}

/* A rank that gives up for a reason of its own is believed. */
static void reason_reaches_others(void **state)
{
	(void)state;
	assert_true(others_hear(give_reason, 300, RING_ENOMEM) ||
		    others_hear(give_reason, 5000, RING_ENOMEM));
}

/* Another meeting keeps this process listening: whoever comes late learns that the door is shut. */
static void one_id_makes_one_communicator(void **state)
{
	(void)state;
	struct rank ranks[2], other;
	gather(&other, 1, 1);
	gather(ranks, 2, 2);
	run_ranks(ranks, 2);
	assert_met(&ranks[0]);
	run_rank(&ranks[0]);
	assert_failed(&ranks[0], RING_EPEER, "one id makes one communicator");
	run_rank(&other);
	assert_met(&other);
}

/* Nobody serves where the id says: its process has ended. */
static void nobody_serves(void **state)
{
	(void)state;
	int ids[2];
	struct ring_unique_id id;
	assert_int_equal(pipe(ids), 0);
	pid_t pid = fork();
	if (!pid) {
		int err = ring_unique_id_create(&id);
		_exit(err || write(ids[1], &id, sizeof(id)) != sizeof(id));
	}
	assert_int_equal(read(ids[0], &id, sizeof(id)), sizeof(id));
	close(ids[0]);
	close(ids[1]);
	waitpid(pid, NULL, 0);
	struct rank rank = new_rank(&id, 0, 2);
	rank.config.create_timeout_ms = 300;
	run_rank(&rank);
	assert_failed(&rank, RING_ETIMEDOUT, "nobody served the meeting at ");
}

static void garbage_is_no_id(void **state)
{
	(void)state;
	struct ring_unique_id id;
	memset(&id, 'x', sizeof(id));
	struct rank rank = new_rank(&id, 0, 2);
	run_rank(&rank);
	assert_int_equal(rank.err, RING_EINVAL);
	assert_int_equal(ring_unique_id_job(&id), 0);
}

/* ---- strangers ---- */

static int call_root(const struct ring_unique_id *id)
{
	struct ring_identity identity = {0};
	struct ring_wire wire = ring_wire_reader(id->bytes, sizeof(id->bytes));
	ring_wire_identity(&wire, &identity);
	int fd = socket(identity.root.ss_family, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&identity.root,
				 ring_address_length(&identity.root)),
			 0);
	return fd;
}

/* They probe, babble, or hold the line and say nothing; the ranks meet all the same. */
static void strangers_are_harmless(void **state)
{
	(void)state;
	enum { SILENT = 200 };
	int silent[SILENT];
	const char *babble[] = {
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "ring", "\n",
		"ring\x63\0\0\0 another version, and then some more of whatever it says"};
	struct rank ranks[RANKS_MAX];
	gather(ranks, RANKS_MAX, RANKS_MAX);
	for (int i = 0; i < SILENT; i++)
		silent[i] = call_root(&ranks[0].id);
	for (int i = 0; i < 4; i++) {
		int fd = call_root(&ranks[0].id);
		assert_true(write(fd, babble[i], i == 3 ? 60 : strlen(babble[i])) > 0);
		close(fd);
	}
	run_ranks(ranks, RANKS_MAX);
	for (int i = 0; i < RANKS_MAX; i++)
		assert_met(&ranks[i]);
	for (int i = 0; i < SILENT; i++)
		close(silent[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(threads_meet, assert_nothing_left),
		cmocka_unit_test_teardown(processes_meet, assert_nothing_left),
		cmocka_unit_test_teardown(again_with_fewer_transports, assert_nothing_left),
		cmocka_unit_test_teardown(both_hosts_of_a_failed_link_shun_it, assert_nothing_left),
		cmocka_unit_test_teardown(no_transport_left, assert_nothing_left),
		cmocka_unit_test_teardown(missing_rank_is_named, assert_nothing_left),
		cmocka_unit_test_teardown(slow_rank_is_named, assert_nothing_left),
		cmocka_unit_test_teardown(two_claim_one_rank, assert_nothing_left),
		cmocka_unit_test_teardown(sizes_differ, assert_nothing_left),
		cmocka_unit_test_teardown(options_differ, assert_nothing_left),
		cmocka_unit_test_teardown(killed_rank_is_named, assert_nothing_left),
		cmocka_unit_test_teardown(reason_reaches_others, assert_nothing_left),
		cmocka_unit_test_teardown(one_id_makes_one_communicator, assert_nothing_left),
		cmocka_unit_test_teardown(nobody_serves, assert_nothing_left),
		cmocka_unit_test_teardown(garbage_is_no_id, assert_nothing_left),
		cmocka_unit_test_teardown(strangers_are_harmless, assert_nothing_left),
	};
	quiet = holdings_fds();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
