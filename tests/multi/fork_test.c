/* SPDX-License-Identifier: MIT */
/*
 * fork() while other threads allocate and free memory that ranks share: whatever lock they hold, a child
 * makes a communicator of its own and allocates, too.
 */
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

static atomic_bool stop;

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
	struct ring_comm *comm = create();
	while (!*(int *)result && !atomic_load_explicit(&stop, memory_order_relaxed))
		*(int *)result = use(comm);
	ring_comm_destroy(comm);
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
	if (status)
		fprintf(stderr, "child %d: status %d\n", born, status);
	else
		printf("%d children of a process that allocates\n", born);
	return status != 0;
}
