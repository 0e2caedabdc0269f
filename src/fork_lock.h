/* SPDX-License-Identifier: MIT */
/*
 * A lock that fork() waits for: no child is born while one of its parent's threads has it, whom nobody
 * could ask for it any more. What it guards takes no other such lock meanwhile.
 */
#ifndef RING_FORK_LOCK_H
#define RING_FORK_LOCK_H

#include <pthread.h>

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
	__attribute__((constructor)) static void lock##_watch(void)                                \
	{                                                                                          \
		pthread_atfork(lock##_take, lock##_give, lock##_give);                             \
	}

#endif
