/* SPDX-License-Identifier: MIT */
/*
 * A rank that falls asleep looks once more a moment later, at what was stored by one whom no fence has reached: a rank
 * that stores just then, and sees nobody asleep. Sleeping is this test's: it lets the other rank make its call.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
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
#include "transport/doorbell_words.h"
#include "base/waits.h"

#define RANKS 2
#define CALLS 10

static struct ring_comm *comms[RANKS];
static struct ring_doorbell_page awake; /* what rank 1 takes for the other's doorbell */
static const struct ring_bell unseen = {.page = &awake, .memory_fd = -1, .event_fd = -1};
static sem_t may_call, has_called;
static _Thread_local bool meddles; /* with this thread's sleep */
static int sleeps;
static bool slept_long;

static void let_the_other_call(void)
{
	sem_post(&may_call);
	sem_wait(&has_called);
}

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long a[6];
	va_list args;
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	if (!meddles || number != SYS_futex || (a[1] & FUTEX_CMD_MASK) != FUTEX_WAIT)
		return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	const struct timespec *timeout = (const struct timespec *)a[3];
	slept_long |= !timeout || timeout->tv_sec > 0 || timeout->tv_nsec > RING_NAP_MS * 1000000L;
	if (sleeps++ == 0)
		let_the_other_call();
	errno = ETIMEDOUT;
	return -1;
}

static void add(int rank)
{
	double value = rank + 1, sum;
	assert_int_equal(ring_all_reduce(comms[rank], &value, &sum, 1, RING_FLOAT64, RING_SUM, NULL),
			 0);
	assert_true(sum == 3);
}

static void *be_the_other(void *nothing)
{
	for (int call = 0; call < CALLS; call++) {
		sem_wait(&may_call);
		add(1);
		sem_post(&has_called);
	}
	return nothing;
}

/* Of rank 0, to the other. */
static void hide_doorbell(void)
{
	struct ring_channel *channel = &comms[1]->links.channels[0];
	for (int i = 0; i < channel->route_count; i++)
		if (channel->routes[i].bell)
			channel->routes[i].bell = &unseen;
}

static void create(void)
{
	struct ring_creation *creations[RANKS];
	struct ring_options options;
	struct ring_unique_id id;
	struct ring_failure failure = {0};
	ring_options_init(&options);
	options.create_timeout_ms = 20000;
	assert_int_equal(ring_unique_id_create(&id), 0);
	for (int rank = 0; rank < RANKS; rank++)
		assert_int_equal(ring_creation_begin(&creations[rank], &comms[rank], RANKS, rank,
						     &id, &options, &failure),
				 0);
	assert_int_equal(ring_creations_run(creations, RANKS), 0);
}

static void who_sees_nobody_asleep_is_seen_a_moment_later(void **state)
{
	(void)state;
	pthread_t other;
	create();
	if (!ring_doorbell_is_light(comms[0]->links.bell.page))
		skip(); /* the kernel cannot fence others, and nobody relies on it */
	assert_int_equal(sem_init(&may_call, 0, 0) | sem_init(&has_called, 0, 0), 0);
	assert_int_equal(pthread_create(&other, NULL, be_the_other, NULL), 0);
	comms[0]->team.patience = (struct ring_patience){0};
	for (int call = 0; call < CALLS; call++) {
		hide_doorbell();
		sleeps = 0;
		meddles = true;
		add(0);
		meddles = false;
		assert_int_equal(sleeps, 1);
		assert_false(slept_long);
	}
	pthread_join(other, NULL);
	for (int rank = 0; rank < RANKS; rank++)
		ring_comm_destroy(comms[rank]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_sees_nobody_asleep_is_seen_a_moment_later),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
