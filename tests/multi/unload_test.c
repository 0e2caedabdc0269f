/* SPDX-License-Identifier: MIT */
/*
 * A program that loads the library as a plugin, uses it and unloads it, while one of its threads may still run. What a user would
 * have seen: a crash a moment later, in no code at all.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ringccl.h"

#define LIBRARY ".libs/libringccl.so"

static void *library;

static void *find(const char *name)
{
	void *found = dlsym(library, name);
	if (!found)
		printf("%s\n", dlerror());
	return found;
}

/* A communicator of one, and an id whose meeting is served for a while yet. */
static int use(void)
{
	__typeof__(ring_unique_id_create) *create_id = find("ring_unique_id_create");
	__typeof__(ring_comm_create) *create = find("ring_comm_create");
	__typeof__(ring_barrier) *barrier = find("ring_barrier");
	__typeof__(ring_comm_destroy) *destroy = find("ring_comm_destroy");
	struct ring_unique_id id;
	struct ring_comm *comm;
	if (!create_id || !create || !barrier || !destroy || create_id(&id) ||
	    create(&comm, 1, 0, &id, NULL))
		return 1;
	int err = barrier(comm, NULL);
	destroy(comm);
	return err || create_id(&id);
}

static int use_and_unload(void)
{
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		printf("%s\n", dlerror());
	if (!library || use() || dlclose(library))
		return 1;
	usleep(100000);
	pid_t child = fork(); /* which the library wants to know of */
	if (child == 0)
		_exit(0);
	return waitpid(child, NULL, 0) != child;
}

int main(void)
{
	if (access(LIBRARY, R_OK)) {
		printf("there is no %s: only static libraries were built\n", LIBRARY);
		return 77;
	}
	fflush(stdout);
	int status = -1;
	pid_t child = fork();
	if (child == 0)
		_exit(use_and_unload());
	if (child < 0 || waitpid(child, &status, 0) != child || status) {
		printf("unloading ended it with status %d, signal %d\n", WEXITSTATUS(status),
		       WTERMSIG(status));
		return 1;
	}
	printf("used, unloaded, and nothing crashed\n");
	return 0;
}
