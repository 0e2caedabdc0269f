/* SPDX-License-Identifier: MIT */
/*
 * A lock that fork() waits for: no child is born while one of its parent's threads has it, whom
 * nobody could ask for it any more. What it guards takes no other such lock meanwhile. fork() knows
 * of it before main() begins: what is registered while another thread forks is not waited for, and
 * its child not told.
 */
#ifndef RING_FORK_LOCK_H
#define RING_FORK_LOCK_H

#include <pthread.h>

/*
 * Before all other constructors: whose locks guard more are registered later, and so taken earlier.
 */
#define RING_FORK_FIRST 101

/* Defines lock, for this file. */
#define RING_FORK_LOCK(lock)                                                                       \
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;                                   \
	static void lock##_take(void)                                                              \
	{                                                                                          \
		pthread_mutex_lock(&lock);                                                         \
	}                                                                                          \
	static void lock##_give(void)                                                              \
	{                                                                                          \
		pthread_mutex_unlock(&lock);                                                       \
	}                                                                                          \
	__attribute__((constructor(RING_FORK_FIRST))) static void lock##_watch(void)               \
	{                                                                                          \
		pthread_atfork(lock##_take, lock##_give, lock##_give);                             \
	}

#endif
