/* SPDX-License-Identifier: MIT */
/*
 * Runs all ranks of a job on this machine and ends them together. ring_run, ring_perf and others
 * call this; it does not know what the ranks do.
 */
#ifndef LAUNCHER_H
#define LAUNCHER_H

#include <stdbool.h>

#include "tools/statuses.h"

#define LAUNCH_SIGNAL_GRACE_MS 10000 /* ranks that do not handle the signal end at once */

struct launch {
	const char *name;    /* the program's name in messages, "ring_run"                      */
	const char *path;    /* program to execute; searched for in PATH if it has no slash     */
	char *const *argv;   /* its arguments, argv[0] first, NULL last                         */
	int ranks;           /* how many to start                                               */
	bool capture;        /* pass output on line by line; else ranks write to our outputs    */
	bool tag;            /* put "[rank] " before every captured line                        */
	bool tells;          /* say where ranks were that a signal or timeout ends         */
	bool quiet;          /* do not say how the job ended                              */
	bool bind;           /* give each rank a CPU in turn unless there are more CPUs         */
	int grace_ms;        /* from the first failure until the others are ended               */
	int signal_grace_ms; /* from a signal that ends the job until they are ended         */
	double timeout_s;    /* of the whole job; 0: none                                       */
};

/*
 * Makes the job's id, serves the meeting, starts the ranks and waits until all are reaped. If one
 * fails, says which and why in one line on stderr, and ends the others.
 *
 * The ranks' environment has RING_RANK, RING_SIZE, RING_ID, RING_LOCAL_RANK and RING_LOCAL_SIZE,
 * and RING_INTERFACE=lo unless it was set. If RING_TRACE names a file, it has one trace of all
 * ranks.
 *
 * returns   the exit status for the caller: 0, the first failure's (128 + signal if killed), or
 *           one of tools/statuses.h
 */
int launch_ranks(const struct launch *launch);

#endif
