/* SPDX-License-Identifier: MIT */
/*
 * Rank 0's files if a signal ends the measurement: the rows until then. A thread of rank 0's
 * process waits for SIGINT, SIGTERM, SIGHUP and SIGUSR1, as a row may take long.
 */
#ifndef PERF_ENDING_H
#define PERF_ENDING_H

#include "run.h"

/* Starts that thread, if there are such files. Call it before any other thread is made. */
void perf_ending_begin(const struct perf_options *options);

/* From now on a signal writes the files of this run, if it is rank 0's. */
void perf_ending_watch(struct perf_run *run);

/* The files are written, with the lock: a signal does again what it always does. */
void perf_ending_forget(void);

/* Rows are complete, and files are written by one thread only, between these. */
void perf_ending_lock(void);
void perf_ending_unlock(void);

#endif
