/* SPDX-License-Identifier: MIT */
/*
 * Threads of the library. They leave signals to the program. They have the CPUs of the thread that
 * starts them; but if that one is bound to a single core, as OpenMP does it with a program's first
 * thread (OMP_PROC_BIND), they have those that the process had as the library was loaded, so that
 * they need not wait for the program. What bound the whole process before (taskset, a launcher)
 * and control groups still bind them.
 */
#ifndef RING_THREAD_H
#define RING_THREAD_H

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>

/*
 * name           at most 15 bytes, as debuggers show it
 * stack_bytes    0: as usual
 * returns        0; else the cause, as pthread_create
 */
int ring_thread_start(pthread_t *thread, const char *name, size_t stack_bytes,
		      void *(*run)(void *argument), void *argument);

/* A set of CPUs as large as the kernel has them: sets[RING_CPU_SETS] */
#define RING_CPU_SETS 8

/* What a thread that this one starts would have. returns 0; -1 with errno */
int ring_thread_cpus(cpu_set_t sets[RING_CPU_SETS]);

/*
 * Runs work(context) in a thread of its own and waits for its end: for what may hang, such as a
 * call of another library. Where no thread can be had, it runs in this one.
 *
 * returns 0; RING_ETIMEDOUT at deadline_ms: then work goes on and has the context to itself, and
 * drop(context) follows it
 */
int ring_thread_await(void (*work)(void *context), void (*drop)(void *context), void *context,
		      uint64_t deadline_ms);

#endif
