/* SPDX-License-Identifier: MIT */
/*
 * The standard output, for people and parsers: nccl-tests' table with a few more columns. Only rank
 * 0 writes; on other ranks all of these do nothing.
 */
#ifndef PERF_REPORT_H
#define PERF_REPORT_H

#include <stdio.h>

#include "run.h"

void report_start(const struct perf_run *run);
void report_limits(const struct perf_run *run);
void report_table(const struct perf_run *run, const struct perf_collective *collective);
/* Whether the table went to a pipe that nobody reads any more. */
bool report_is_unread(void);

void report_row(const struct perf_run *run, const struct perf_row *row);
/* The row of a call in a run that only explains. */
void report_carried(const struct perf_run *run, const struct perf_call *call,
		    const struct ring_carried *carried);

void report_end(const struct perf_run *run);

/* Says so if other programs kept the machine busy, on rank 0, and also in a run without rows. */
void report_busyness(const struct perf_run *run, FILE *out);

/* Says on a terminal what is measured, and how many sizes of all are done; all 0: not known. */
void report_progress(struct perf_run *run, const struct perf_call *call, size_t done, size_t all);

#endif
