/* SPDX-License-Identifier: MIT */
/* Two threads that do something at nearly the same time, again and again: for tests of orderings. */
#ifndef RING_TEST_MEET_H
#define RING_TEST_MEET_H

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

/*
 * The one of the two that ends the rounds asks this in each: true after MEET_SECONDS. On a busy
 * machine a meeting may take a scheduler's turn of every other process.
 */
#define MEET_SECONDS 60
#define MEET_LOOKS 256 /* rounds between looks at the clock */

static inline bool meet_is_enough(time_t begun, uint64_t round)
{
	return round % MEET_LOOKS == MEET_LOOKS - 1 && time(NULL) - begun > MEET_SECONDS;
}

/* Both leave at nearly the same time; sometimes one is earlier, sometimes the other. */
static inline void meet(_Atomic uint64_t *mine, _Atomic uint64_t *theirs, uint64_t round)
{
	atomic_store(mine, round + 1);
	for (int looks = 0; atomic_load(theirs) < round + 1; looks++)
		if (looks > 1000)
			sched_yield();
	for (volatile uint64_t pause =
		     (round * UINT64_C(0x9e3779b97f4a7c15) ^ (uintptr_t)mine) >> 7 & 63;
	     pause > 0; pause--)
		;
}

static inline void run_two(void *(*first)(void *), void *(*second)(void *), void *argument)
{
	pthread_t threads[2];
	assert_int_equal(pthread_create(&threads[0], NULL, first, argument), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, second, argument), 0);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

#endif
