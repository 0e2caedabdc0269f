/* SPDX-License-Identifier: MIT */
/*
 * The roster of a communicator while something goes wrong. It needs no more than linked ranks, so
 * that here communicators that were made gather it once more.
 */
#include "comm/roster.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "api/create.h"

#define RANKS 4

static struct ring_comm *comms[RANKS];

/* How gathering ended on each rank. */
static struct {
	int err;
	struct ring_failure failure;
} ends[RANKS];

static void make_some(const struct ring_unique_id *id, int count, const char *transport)
{
	struct ring_options options;
	struct ring_creation *creations[RANKS];
	ring_options_init(&options);
	options.transport = transport;
	memset(comms, 0, sizeof(comms));
	for (int rank = 0; rank < count; rank++)
		assert_int_equal(ring_creation_begin(&creations[rank], &comms[rank], RANKS, rank,
						     id, &options, NULL),
				 0);
	assert_int_equal(ring_creations_run(creations, count), 0);
}

static void make(const char *transport)
{
	struct ring_unique_id id;
	assert_int_equal(ring_unique_id_create(&id), 0);
	make_some(&id, RANKS, transport);
}

static void unmake(void)
{
	for (int rank = 0; rank < RANKS; rank++)
		ring_comm_destroy(comms[rank]);
}

/* Moves one rank on; returns how many of fds it waits for. */
static int step(int rank, struct ring_roster *roster, struct pollfd *fds, int *ms)
{
	ring_bell_announce(&comms[rank]->links.bell, true);
	ends[rank].err = ring_roster_step(roster, comms[rank], &ends[rank].failure);
	if (ends[rank].err != RING_EAGAIN)
		return 0;
	return ring_roster_poll(roster, comms[rank], fds, ms);
}

static void awake(int rank)
{
	uint64_t count;
	ring_bell_awake(&comms[rank]->links.bell);
	(void)!read(comms[rank]->links.bell.event_fd, &count, sizeof(count));
}

/* All ranks but `idle` gather for at most so long, asleep as long as they may. */
static void gather(int idle, int timeout_ms)
{
	struct ring_roster rosters[RANKS] = {{0}};
	uint64_t deadline_ms = ring_clock_ms() + (uint64_t)timeout_ms;
	int nfds;
	for (int rank = 0; rank < RANKS; rank++) {
		ends[rank].failure = (struct ring_failure){0};
		ends[rank].err = rank == idle ? 0 : RING_EAGAIN;
		if (rank != idle)
			assert_int_equal(ring_roster_begin(&rosters[rank], comms[rank], deadline_ms,
							   NULL),
					 0);
	}
	do {
		struct pollfd fds[RANKS * RING_ROSTER_FDS];
		int ms = 1000;
		nfds = 0;
		for (int rank = 0; rank < RANKS; rank++)
			if (ends[rank].err == RING_EAGAIN)
				nfds += step(rank, &rosters[rank], fds + nfds, &ms);
		if (nfds > 0)
			poll(fds, (nfds_t)nfds, ms);
		for (int rank = 0; rank < RANKS; rank++)
			if (rank != idle)
				awake(rank);
		assert_true(ring_clock_ms() < deadline_ms + 5000);
	} while (nfds > 0);
	for (int rank = 0; rank < RANKS; rank++)
		ring_roster_free(&rosters[rank]);
}

static void assert_ended(int rank, int err, const char *words)
{
	if (ends[rank].err != err || !strstr(ends[rank].failure.text, words))
		fail_msg("rank %d: %d, no \"%s\" in: %s", rank, ends[rank].err, words,
			 ends[rank].failure.text);
}

static void gathers_again(void **state)
{
	(void)state;
	static const char *const transports[] = {"loopback", "shm", "tcp"};
	for (int t = 0; t < 3; t++) {
		make(transports[t]);
		gather(-1, 10000);
		for (int rank = 0; rank < RANKS; rank++) {
			assert_int_equal(ends[rank].err, 0);
			assert_memory_equal(comms[rank]->team.peers, comms[0]->team.peers,
					    RANKS * sizeof(struct ring_peer));
		}
		unmake();
	}
}

/* As at first: a user was told to look for "rank 0 (host , pid 0)", whichever rank was meant. */
static void forget_others(struct ring_comm *comm)
{
	for (int rank = 0; rank < RANKS; rank++)
		if (rank != comm->team.rank)
			comm->team.peers[rank] = (struct ring_peer){0};
}

/* One rank does not move: whoever waits for it says so, the others hear it. */
static void silence_times_out(void **state)
{
	(void)state;
	make(NULL);
	for (int rank = 0; rank < RANKS; rank++)
		forget_others(comms[rank]);
	gather(2, 300);
	for (int rank = 0; rank < RANKS; rank++)
		if (rank != 2) {
			assert_ended(rank, RING_ETIMEDOUT, "to hear who the others are");
			assert_null(strstr(ends[rank].failure.text, "pid 0)"));
		}
	unmake();
}

/* What the lanes know ends it at once. */
static void news_end_it(void **state)
{
	(void)state;
	make(NULL);
	assert_int_equal(ring_comm_abort(comms[1]), 0);
	uint64_t begin_ms = ring_clock_ms();
	gather(1, 10000);
	assert_true(ring_clock_ms() - begin_ms < 5000);
	for (int rank = 0; rank < RANKS; rank++)
		if (rank != 1)
			assert_ended(rank, RING_EABORTED, "rank 1 aborted the communicator");
	unmake();
}

/* A rank that is through already may fail in its first call: the others' creation goes on. */
static void calls_do_not_end_it(void **state)
{
	(void)state;
	const struct ring_news news = {.err = RING_EMISMATCH, .culprit = 2, .text = "so", .call = 1};
	make(NULL);
	ring_comm_fail_with(&comms[1]->failure, &news, true);
	for (int rank = 0; rank < RANKS; rank++)
		while (!ring_comm_status(comms[rank]))
			usleep(1000);
	gather(-1, 10000);
	for (int rank = 0; rank < RANKS; rank++)
		assert_int_equal(ends[rank].err, 0);
	unmake();
}

/* A process that dies is named by whoever has a lane to it; nobody blames the links that broke. */
static void death_ends_it(void **state)
{
	(void)state;
	struct ring_unique_id id;
	assert_int_equal(ring_unique_id_create(&id), 0);
	pid_t victim = fork();
	if (!victim) {
		struct ring_comm *comm;
		alarm(60);
		ring_comm_create(&comm, RANKS, RANKS - 1, &id, NULL);
		pause();
	}
	make_some(&id, RANKS - 1, NULL);
	kill(victim, SIGKILL);
	uint64_t begin_ms = ring_clock_ms();
	gather(RANKS - 1, 10000);
	assert_true(ring_clock_ms() - begin_ms < 5000);
	waitpid(victim, NULL, 0);
	for (int rank = 0; rank < RANKS - 1; rank++) {
		assert_ended(rank, RING_EPEER, "rank 3 (host ");
		assert_ended(rank, RING_EPEER, ") died: ");
	}
	unmake();
}

/* A rank that says it is another is not believed. */
static void nonsense_is_refused(void **state)
{
	(void)state;
	make(NULL);
	comms[3]->team.peers[3].rank = 1;
	gather(-1, 10000);
	for (int rank = 0; rank < RANKS; rank++)
		assert_ended(rank, RING_EPEER, "what rank 3 tells about itself makes no sense");
	unmake();
}

/* A link that carries something else; the lanes have nothing to say, so it is told after a moment. */
static void broken_link_is_told(void **state)
{
	(void)state;
	make("tcp");
	int next = comms[0]->team.placement.next.rank;
	struct ring_link *out = ring_channel_link(&comms[0]->links.channels[0], next, true);
	assert_int_equal(ring_link_send(out, "x", 1), 0);
	assert_int_equal(ring_link_poll(out), 0);
	uint64_t begin_ms = ring_clock_ms();
	gather(0, 10000);
	assert_true(ring_clock_ms() - begin_ms >= 500);
	assert_ended(next, RING_EPEER, "broke, or carried what no plan sends");
	unmake();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gathers_again),       cmocka_unit_test(silence_times_out),
		cmocka_unit_test(news_end_it),         cmocka_unit_test(calls_do_not_end_it),
		cmocka_unit_test(death_ends_it),       cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(broken_link_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
