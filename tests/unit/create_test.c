/* SPDX-License-Identifier: MIT */
/* Several ranks, also of several communicators, made by one thread; and what they know afterwards. */
#include "api/create.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/comm.h"
#include "base/clock.h"

#define RANKS_MAX 9

static struct ring_comm *comms[RANKS_MAX];

static struct ring_options options_with(const char *transport)
{
	struct ring_options options;
	ring_options_init(&options);
	options.transport = transport;
	options.create_timeout_ms = 20000;
	return options;
}

static void begin(struct ring_creation **creations, int count, int size,
		  const struct ring_options *options)
{
	struct ring_unique_id id;
	assert_int_equal(ring_unique_id_create(&id), 0);
	for (int rank = 0; rank < count; rank++) {
		struct ring_failure failure = {0};
		comms[rank] = NULL;
		if (ring_creation_begin(&creations[rank], &comms[rank], size, rank, &id, options,
					&failure))
			fail_msg("rank %d: %s", rank, failure.text);
	}
}

static void destroy(int count)
{
	for (int rank = 0; rank < count; rank++)
		ring_comm_destroy(comms[rank]);
}

/* Nothing of the creation shows in the counters. */
static void assert_fresh(const struct ring_comm *comm)
{
	struct ring_stats stats = {.size = sizeof(stats)};
	assert_int_equal(ring_comm_stats(comm, &stats), 0);
	assert_int_equal(stats.calls, 0);
	assert_int_equal(stats.sent_bytes + stats.received_bytes, 0);
	assert_int_equal(stats.sent_messages + stats.received_messages, 0);
}

/* Every rank knows every rank as that one knows itself, but for what only the meeting needed. */
static void assert_known(int size)
{
	for (int rank = 0; rank < size; rank++) {
		for (int other = 0; other < size; other++) {
			const struct ring_peer *told = &comms[rank]->team.peers[other];
			const struct ring_peer *own = &comms[other]->team.peers[other];
			assert_int_equal(told->rank, other);
			assert_int_equal(told->pid, getpid());
			assert_memory_equal(told, own, sizeof(*told));
			assert_int_equal(told->cpus[0], 0);
			assert_int_equal(ring_transport_choose(told, own, NULL,
							       comms[rank]->team.placement.masked),
					 0);
		}
	}
}

static void one_thread_makes_all(void **state)
{
	(void)state;
	static const char *const transports[] = {NULL, "shm", "tcp"};
	for (int t = 0; t < 3; t++) {
		struct ring_options options = options_with(transports[t]);
		for (int size = 1; size <= RANKS_MAX; size += size < 3 ? 1 : 3) {
			struct ring_creation *creations[RANKS_MAX];
			begin(creations, size, size, &options);
			if (ring_creations_run(creations, size))
				fail_msg("%s", ring_comm_error(NULL));
			for (int rank = 0; rank < size; rank++)
				assert_fresh(comms[rank]);
			assert_known(size);
			destroy(size);
		}
	}
}

/* Descriptions are larger than a chunk, several rings are linked: they go around all the same. */
static void any_tuning(void **state)
{
	(void)state;
	struct ring_options options = options_with(NULL);
	struct ring_creation *creations[4];
	options.chunk_bytes = 16;
	options.depth = 1;
	options.chunks_per_round = 3;
	options.channels = 8;
	begin(creations, 4, 4, &options);
	assert_int_equal(ring_creations_run(creations, 4), 0);
	assert_known(4);
	destroy(4);
}

/* Some succeed, some cannot: each comes to its own end. */
static void each_has_its_own_end(void **state)
{
	(void)state;
	struct ring_options options = options_with(NULL), hasty = options_with(NULL);
	struct ring_creation *creations[4];
	hasty.create_timeout_ms = 1000;
	begin(creations, 2, 3, &hasty);
	begin(creations + 2, 2, 2, &options);
	uint64_t begin_ms = ring_clock_ms();
	assert_int_equal(ring_creations_run(creations, 4), RING_ETIMEDOUT);
	assert_true(ring_clock_ms() - begin_ms < 15000);
	assert_non_null(strstr(ring_comm_error(NULL), "rank 2 never came within 1000 ms"));
	assert_known(2);
	destroy(2);
}

static void beginning_refuses_nonsense(void **state)
{
	(void)state;
	struct ring_unique_id id;
	struct ring_creation *creation;
	struct ring_failure failure = {0};
	memset(&id, 'x', sizeof(id));
	assert_int_equal(ring_creation_begin(&creation, &comms[0], 2, 0, &id, NULL, &failure),
			 RING_EINVAL);
	assert_non_null(strstr(failure.text, "not an id of this version"));
	failure.err = 0;
	assert_int_equal(ring_creation_begin(&creation, &comms[0], 1 << 20, 0, &id, NULL, &failure),
			 RING_EINVAL);
	assert_non_null(strstr(failure.text, "at most 65536"));
}

/* A user waited a minute for a meeting that this very process knew to be over. */
static void a_used_id_is_refused_at_once(void **state)
{
	(void)state;
	struct ring_unique_id id;
	struct ring_options options = options_with(NULL);
	assert_int_equal(ring_unique_id_create(&id), 0);
	assert_int_equal(ring_comm_create(&comms[0], 1, 0, &id, &options), 0);
	destroy(1);
	usleep(1500000); /* the meeting itself answers for a second */
	uint64_t begin_ms = ring_clock_ms();
	assert_int_equal(ring_comm_create(&comms[0], 1, 0, &id, &options), RING_EMISMATCH);
	assert_non_null(strstr(ring_comm_error(NULL), "one id makes one communicator"));
	assert_true(ring_clock_ms() - begin_ms < 10000);
}

/* How many sockets of this process listen at a port between these. */
static int listeners_between(int first, int last)
{
	int found = 0;
	for (int fd = 3; fd < 256; fd++) {
		struct sockaddr_in at;
		socklen_t length = sizeof(at), bytes = sizeof(int);
		int listens = 0;
		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 && listens &&
		    getsockname(fd, (struct sockaddr *)&at, &length) == 0 &&
		    at.sin_family == AF_INET && ntohs(at.sin_port) >= first &&
		    ntohs(at.sin_port) <= last)
			found++;
	}
	return found;
}

/* What a second communicator says of interface and ports is heeded, too. */
static void each_receives_where_its_options_say(void **state)
{
	(void)state;
	struct ring_options options;
	struct ring_unique_id id;
	struct ring_comm *one, *two, *three;
	setenv("RING_INTERFACE", "lo", 1);
	ring_options_init(&options);
	assert_int_equal(ring_unique_id_create(&id), 0);
	assert_int_equal(ring_comm_create(&one, 1, 0, &id, &options), 0);
	options.interface = "nosuch0";
	assert_int_equal(ring_unique_id_create(&id), 0);
	assert_int_equal(ring_comm_create(&two, 1, 0, &id, &options), RING_EINVAL);
	assert_non_null(strstr(ring_comm_error(NULL), "matches no address of this host"));

	options.interface = "=lo";
	options.port_range = "20000-20999";
	assert_int_equal(listeners_between(20000, 20999), 0);
	assert_int_equal(ring_unique_id_create(&id), 0);
	assert_int_equal(ring_comm_create(&two, 1, 0, &id, &options), 0);
	assert_int_equal(ring_unique_id_create(&id), 0);
	assert_int_equal(ring_comm_create(&three, 1, 0, &id, &options), 0);
	assert_int_equal(listeners_between(20000, 20999), 1);
	ring_comm_destroy(three);
	ring_comm_destroy(two);
	ring_comm_destroy(one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread_makes_all),
		cmocka_unit_test(any_tuning),
		cmocka_unit_test(each_has_its_own_end),
		cmocka_unit_test(beginning_refuses_nonsense),
		cmocka_unit_test(a_used_id_is_refused_at_once),
		cmocka_unit_test(each_receives_where_its_options_say),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
