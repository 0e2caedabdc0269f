/* SPDX-License-Identifier: MIT */
/*
 * Starts one rank of a job as a child process. It knows the environment of ranks and how a child is
 * tied to its launcher, but not what the job does.
 */
#ifndef SPAWN_H
#define SPAWN_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "signals.h"

/* What all ranks of a job have in common. */
struct spawn {
	const char *path;  /* file to execute; searched for in PATH if it has no slash */
	char *const *argv; /* its arguments, argv[0] first, NULL last                  */
	const char *id;    /* RING_ID: the job's ring_unique_id as hex digits          */
	int size;          /* how many ranks there are                                 */
	bool capture;      /* hand stdout and stderr to the launcher through pipes     */
	bool bind;         /* give each rank a CPU in turn unless there are more CPUs   */
	const struct signals *signals; /* as the launcher inherited them; for the ranks    */
	const struct rlimit *files;    /* the limit of open files, likewise                */
};

struct spawned {
	pid_t pid;
	int output[2]; /* our ends of its stdout and stderr, never blocking; -1 if not captured */
};

/*
 * Starts a rank as the leader of its own process group, so that everything it starts can be ended
 * with it. The kernel kills it if the launcher dies. Its standard input is /dev/null.
 *
 * returns   0, or the errno of the failure, also of exec
 */
int spawn_rank(const struct spawn *spawn, int rank, struct spawned *child);

#endif
