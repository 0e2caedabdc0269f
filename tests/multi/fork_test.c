/* SPDX-License-Identifier: MIT */
/*
 * fork() while other threads make communicators, and allocate and free memory that ranks share: whatever lock they hold,
 * a child makes a communicator of its own and allocates, too. What fork() waits for it knows before main() begins.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ringccl.h"

#define CHILDREN 200
#define THREADS 2
#define CHILD_S 10
#define USES 20 /* of a communicator */

static atomic_bool stop;
static atomic_bool began;
static atomic_int late; /* registrations since then */

typedef int register_function(void (*)(void), void (*)(void), void (*)(void), void *);

/* What glibc's pthread_atfork() calls. */
register_function __register_atfork;
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *handle)
{
	register_function *next = (register_function *)dlsym(RTLD_NEXT, "__register_atfork");
	if (atomic_load(&began))
		atomic_fetch_add(&late, 1);
	return next(prepare, parent, child, handle);
}

static struct ring_comm *create(void)
{
	struct ring_unique_id id;
	struct ring_comm *comm;
	if (ring_unique_id_create(&id) || ring_comm_create(&comm, 1, 0, &id, NULL)) {
		fprintf(stderr, "%s\n", ring_comm_error(NULL));
		exit(1);
	}
	return comm;
}

static int use(struct ring_comm *comm)
{
	void *memory;
	int err = ring_mem_alloc(comm, 4096, &memory);
	return err ? err : ring_mem_free(comm, memory);
}

static void *allocate(void *result)
{
	while (!*(int *)result && !atomic_load_explicit(&stop, memory_order_relaxed)) {
		struct ring_comm *comm = create();
		for (int i = 0; i < USES && !*(int *)result; i++)
			*(int *)result = use(comm);
		ring_comm_destroy(comm);
	}
	return NULL;
}

static int be_child(void)
{
	alarm(CHILD_S);
	struct ring_comm *comm = create();
	int err = use(comm);
	ring_comm_destroy(comm);
	return err != 0;
}

/* returns 0 if a child did what it was to do */
static int try_child(void)
{
	int status = -1;
	pid_t child = fork();
	if (child == 0)
		_exit(be_child());
	if (child > 0)
		waitpid(child, &status, 0);
	return status;
}

int main(void)
{
	pthread_t threads[THREADS];
	int results[THREADS] = {0}, born = 0, status = 0;
	atomic_store(&began, true);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, allocate, &results[i]))
			abort();
	while (born < CHILDREN && !status) {
		status = try_child();
		born++;
	}
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		status = status ? status : results[i];
	}
	if (late > 0)
		fprintf(stderr, "%d times fork() was told to wait after main() began\n", late);
	if (status)
		fprintf(stderr, "child %d: status %d\n", born, status);
	else
		printf("%d children of a process that allocates\n", born);
	return status != 0 || late > 0;
}
