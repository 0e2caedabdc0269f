/* SPDX-License-Identifier: MIT */
/*
 * Threads of the library: a first thread that OpenMP bound to one core bound them, too, and a rank counted one
 * CPU; and what may hang has a deadline.
 */
#include "base/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "ringccl.h"

#define BYTES (RING_CPU_SETS * sizeof(cpu_set_t))

static cpu_set_t whole[RING_CPU_SETS]; /* the process's, before a test */

static int remember(void **state)
{
	(void)state;
	return sched_getaffinity(0, BYTES, whole) < 0;
}

static int restore(void **state)
{
	(void)state;
	return sched_setaffinity(0, BYTES, whole);
}

static void bind_to_first(void)
{
	cpu_set_t one[RING_CPU_SETS];
	size_t cpu = 0;
	while (!CPU_ISSET_S(cpu, BYTES, whole))
		cpu++;
	CPU_ZERO_S(BYTES, one);
	CPU_SET_S(cpu, BYTES, one);
	assert_int_equal(sched_setaffinity(0, BYTES, one), 0);
}

static void *read_own(void *sets)
{
	(void)!sched_getaffinity(0, BYTES, sets);
	return NULL;
}

static void assert_started_with(const cpu_set_t *wanted)
{
	pthread_t thread;
	cpu_set_t sets[RING_CPU_SETS] = {{{0}}};
	assert_int_equal(ring_thread_start(&thread, "test", 0, read_own, sets), 0);
	pthread_join(thread, NULL);
	assert_memory_equal(sets, wanted, BYTES);
}

static void one_core_of_the_caller_binds_no_thread(void **state)
{
	(void)state;
	if (CPU_COUNT_S(BYTES, whole) < 2)
		skip();
	assert_started_with(whole);
	bind_to_first();
	assert_started_with(whole);
}

/* As the user said it: taskset before the program begins. */
static void a_bound_process_stays_bound(void **state)
{
	(void)state;
	char command[64];
	bind_to_first();
	snprintf(command, sizeof(command), "exec /proc/%d/exe --bound", (int)getpid());
	assert_int_equal(system(command), 0);
}

static int say_cpus(void)
{
	cpu_set_t sets[RING_CPU_SETS];
	return ring_thread_cpus(sets) || CPU_COUNT_S(BYTES, sets) != 1;
}

/* All threads of a program with a stream are seen from outside. */
static void queue_and_watcher(void **state)
{
	(void)state;
	struct ring_unique_id id;
	struct ring_comm *comm;
	struct ring_stream *stream;
	float x = 1;
	if (CPU_COUNT_S(BYTES, whole) < 2)
		skip();
	setenv("RING_INTERFACE", "lo", 0);
	bind_to_first();
	assert_int_equal(ring_unique_id_create(&id), 0);
	assert_int_equal(ring_comm_create(&comm, 1, 0, &id, NULL), 0);
	assert_int_equal(ring_stream_create(comm, &stream), 0);
	assert_int_equal(ring_all_reduce(comm, &x, &x, 1, RING_FLOAT32, RING_SUM, stream), 0);
	assert_int_equal(ring_stream_wait(stream, ring_stream_position(stream)), 0);
	int bound = system("[ $(grep -h Cpus_allowed_list /proc/$PPID/task/*/status | "
			   "grep -c '[-,]') -ge 2 ]");
	ring_stream_destroy(stream);
	ring_comm_destroy(comm);
	assert_int_equal(bound, 0);
}

/* ---- what may hang ---- */

static int dropped; /* guarded by `ending` */
static pthread_mutex_t ending = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

static void add_one(void *number)
{
	++*(int *)number;
}

static void hang(void *gate)
{
	pthread_mutex_lock(gate);
	pthread_mutex_unlock(gate);
}

static void drop(void *gate)
{
	(void)gate;
	pthread_mutex_lock(&ending);
	dropped++;
	pthread_cond_signal(&ended);
	pthread_mutex_unlock(&ending);
}

static void an_end_is_awaited(void **state)
{
	(void)state;
	int number = 1;
	assert_int_equal(ring_thread_await(add_one, drop, &number, ring_clock_ms() + 60000), 0);
	assert_int_equal(number, 2);
	assert_int_equal(dropped, 0);
}

static void what_hangs_is_left(void **state)
{
	(void)state;
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&gate);
	uint64_t deadline_ms = ring_clock_ms() + 50;
	assert_int_equal(ring_thread_await(hang, drop, &gate, deadline_ms), RING_ETIMEDOUT);
	assert_true(ring_clock_ms() >= deadline_ms);
	pthread_mutex_unlock(&gate);
	pthread_mutex_lock(&ending);
	while (!dropped)
		pthread_cond_wait(&ended, &ending);
	pthread_mutex_unlock(&ending);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--bound") == 0)
		return say_cpus();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_core_of_the_caller_binds_no_thread, remember,
						restore),
		cmocka_unit_test_setup_teardown(a_bound_process_stays_bound, remember, restore),
		cmocka_unit_test_setup_teardown(queue_and_watcher, remember, restore),
		cmocka_unit_test(an_end_is_awaited),
		cmocka_unit_test(what_hangs_is_left),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
