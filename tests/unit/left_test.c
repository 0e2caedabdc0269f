/* SPDX-License-Identifier: MIT */
/*
 * A rank that sends its last message and leaves while others keep the receiver from the CPU: what lies there is received
 * all the same, however long ago the goodbye was. The receiver's clock is this test's: it lets the other rank leave.
 */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/comm.h"
#include "api/create.h"

#define RANKS 2
#define LATE_S 5 /* much more than a goodbye's grace */
#define ROUNDS 20

static struct ring_comm *comms[RANKS];
static sem_t may_leave, has_left;
static _Thread_local int late_s; /* this thread's clock is late by that; -1: from the next look on */

int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (late_s < 0) {
		late_s = 0;
		sem_post(&may_leave);
		sem_wait(&has_left);
		late_s = LATE_S;
	}
	int err = (int)syscall(SYS_clock_gettime, clock, now);
	now->tv_sec += late_s;
	return err;
}

static void *send_and_leave(void *nothing)
{
	char byte = 7;
	assert_int_equal(ring_send(comms[1], &byte, 1, RING_INT8, 0, NULL), 0);
	sem_wait(&may_leave);
	assert_int_equal(ring_send(comms[1], &byte, 1, RING_INT8, 0, NULL), 0);
	ring_comm_destroy(comms[1]);
	sem_post(&has_left);
	return nothing;
}

static void create(const char *transport)
{
	struct ring_creation *creations[RANKS];
	struct ring_options options;
	struct ring_unique_id id;
	struct ring_failure failure = {0};
	ring_options_init(&options);
	options.create_timeout_ms = 20000;
	options.transport = transport;
	assert_int_equal(ring_unique_id_create(&id), 0);
	for (int rank = 0; rank < RANKS; rank++)
		assert_int_equal(ring_creation_begin(&creations[rank], &comms[rank], RANKS, rank,
						     &id, &options, &failure),
				 0);
	assert_int_equal(ring_creations_run(creations, RANKS), 0);
}

static void receive_late(const char *transport)
{
	pthread_t other;
	char byte = 0;
	create(transport);
	assert_int_equal(sem_init(&may_leave, 0, 0) | sem_init(&has_left, 0, 0), 0);
	assert_int_equal(pthread_create(&other, NULL, send_and_leave, NULL), 0);
	assert_int_equal(ring_recv(comms[0], &byte, 1, RING_INT8, 1, NULL), 0);
	byte = 0;
	late_s = -1;
	int err = ring_recv(comms[0], &byte, 1, RING_INT8, 1, NULL);
	late_s = 0;
	if (err || byte != 7)
		fail_msg("%s: %d, %s", transport, err, ring_comm_error(comms[0]));
	pthread_join(other, NULL);
	ring_comm_destroy(comms[0]);
}

static void what_was_sent_before_a_goodbye_is_received(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		receive_late("loopback");
		receive_late("tcp");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_sent_before_a_goodbye_is_received),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
