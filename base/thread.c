/* SPDX-License-Identifier: MIT */
/* Starts threads, chooses their CPUs, and waits for one that may not end. */
#include "thread.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fd.h"
#include "status.h"

#define SETS_BYTES (RING_CPU_SETS * sizeof(cpu_set_t))

/* ---- CPUs ---- */

static cpu_set_t loaded[RING_CPU_SETS]; /* of the process, as the library was loaded */

/* Of all its threads: the first may have been bound by then. */
__attribute__((constructor)) static void note_cpus(void)
{
	cpu_set_t one[RING_CPU_SETS];
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	(void)sched_getaffinity(0, SETS_BYTES, loaded);
	while (tasks && (task = readdir(tasks))) {
		pid_t tid = (pid_t)strtol(task->d_name, NULL, 10);
		memset(one, 0, sizeof(one));
		if (tid > 0 && sched_getaffinity(tid, SETS_BYTES, one) >= 0)
			CPU_OR_S(SETS_BYTES, loaded, loaded, one);
	}
	if (tasks)
		closedir(tasks);
}

/* The CPUs of one core, from text such as "0,32" or "0-1". */
static void read_siblings(int cpu, cpu_set_t siblings[RING_CPU_SETS])
{
	char path[96];
	int first, last;
	char mark = ',';
	CPU_ZERO_S(SETS_BYTES, siblings);
	CPU_SET_S((size_t)cpu, SETS_BYTES, siblings);
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
		 cpu);
	FILE *file = ring_fd_file(path);
	while (file && mark == ',' && fscanf(file, "%d", &first) == 1) {
		last = first;
		mark = (char)fgetc(file);
		if (mark == '-' && fscanf(file, "%d", &last) == 1)
			mark = (char)fgetc(file);
		for (int i = first; i >= 0 && i <= last; i++)
			CPU_SET_S((size_t)i, SETS_BYTES, siblings);
	}
	if (file)
		fclose(file);
}

static bool is_one_core(const cpu_set_t sets[RING_CPU_SETS])
{
	cpu_set_t siblings[RING_CPU_SETS];
	size_t cpu = 0;
	int count = CPU_COUNT_S(SETS_BYTES, sets);
	if (count <= 1)
		return true;
	while (!CPU_ISSET_S(cpu, SETS_BYTES, sets))
		cpu++;
	read_siblings((int)cpu, siblings);
	CPU_AND_S(SETS_BYTES, siblings, siblings, sets);
	return CPU_COUNT_S(SETS_BYTES, siblings) == count;
}

int ring_thread_cpus(cpu_set_t sets[RING_CPU_SETS])
{
	memset(sets, 0, SETS_BYTES);
	if (sched_getaffinity(0, SETS_BYTES, sets) < 0)
		return -1;
	if (is_one_core(sets))
		CPU_OR_S(SETS_BYTES, sets, sets, loaded);
	return 0;
}

/* ---- threads ---- */

static void set_cpus(pthread_attr_t *attributes)
{
	cpu_set_t mine[RING_CPU_SETS], sets[RING_CPU_SETS];
	memset(mine, 0, sizeof(mine));
	if (sched_getaffinity(0, SETS_BYTES, mine) < 0 || ring_thread_cpus(sets))
		return;
	if (!CPU_EQUAL_S(SETS_BYTES, mine, sets))
		pthread_attr_setaffinity_np(attributes, SETS_BYTES, sets);
}

static int create(pthread_t *thread, size_t stack_bytes, bool chosen_cpus,
		  void *(*run)(void *argument), void *argument)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	if (stack_bytes)
		pthread_attr_setstacksize(&attributes, stack_bytes);
	if (chosen_cpus)
		set_cpus(&attributes);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int cause = pthread_create(thread, &attributes, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return cause;
}

int ring_thread_start(pthread_t *thread, const char *name, size_t stack_bytes,
		      void *(*run)(void *argument), void *argument)
{
	int cause = create(thread, stack_bytes, true, run, argument);
	if (cause == EINVAL || cause == EPERM) /* the CPUs are no longer this process's */
		cause = create(thread, stack_bytes, false, run, argument);
	if (!cause)
		pthread_setname_np(*thread, name);
	return cause;
}

/* ---- what may hang ---- */

struct errand {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool done, left; /* left: nobody waits any more */
	void (*work)(void *context);
	void (*drop)(void *context);
	void *context;
};

static void free_errand(struct errand *errand)
{
	pthread_cond_destroy(&errand->ended);
	pthread_mutex_destroy(&errand->lock);
	free(errand);
}

static void *run_errand(void *argument)
{
	struct errand *errand = argument;
	errand->work(errand->context);
	pthread_mutex_lock(&errand->lock);
	bool left = errand->left;
	errand->done = true;
	pthread_cond_signal(&errand->ended);
	pthread_mutex_unlock(&errand->lock);
	if (left) {
		errand->drop(errand->context);
		free_errand(errand);
	}
	return NULL;
}

static bool await_errand(struct errand *errand, uint64_t deadline_ms)
{
	struct timespec until = {.tv_sec = (time_t)(deadline_ms / 1000),
				 .tv_nsec = (long)(deadline_ms % 1000) * 1000000};
	int late = 0;
	pthread_mutex_lock(&errand->lock);
	while (!errand->done && !late)
		late = pthread_cond_clockwait(&errand->ended, &errand->lock, CLOCK_MONOTONIC,
					      &until);
	bool done = errand->done;
	errand->left = !done;
	pthread_mutex_unlock(&errand->lock);
	return done;
}

int ring_thread_await(void (*work)(void *context), void (*drop)(void *context), void *context,
		      uint64_t deadline_ms)
{
	pthread_t thread;
	struct errand *errand = malloc(sizeof(*errand));
	if (errand)
		*errand = (struct errand){.lock = PTHREAD_MUTEX_INITIALIZER,
					  .ended = PTHREAD_COND_INITIALIZER,
					  .work = work,
					  .drop = drop,
					  .context = context};
	if (!errand || ring_thread_start(&thread, "ring-errand", 0, run_errand, errand)) {
		free(errand);
		work(context);
		return 0;
	}
	if (await_errand(errand, deadline_ms)) {
		pthread_join(thread, NULL);
		free_errand(errand);
		return 0;
	}
	pthread_detach(thread);
	return RING_ETIMEDOUT;
}
