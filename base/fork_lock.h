/* SPDX-License-Identifier: MIT */
/*
 * A lock that fork() waits for: a child born while a thread of its parent held it could never take
 * it. Its holder takes no other such lock, but may open descriptors. It is registered with fork()
 * before main() begins: a fork() under way in another thread would miss it.
 */
#ifndef RING_FORK_LOCK_H
#define RING_FORK_LOCK_H

#include <pthread.h>

/*
 * Before all other constructors: fork() takes last what was registered first, and locks that guard
 * more are taken earlier. That of fd.c is the first: holders of others take it.
 */
#define RING_FORK_FIRST 101
#define RING_FORK_SECOND 102

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
	__attribute__((constructor(RING_FORK_SECOND))) static void lock##_watch(void)              \
	{                                                                                          \
		pthread_atfork(lock##_take, lock##_give, lock##_give);                             \
	}

#endif
