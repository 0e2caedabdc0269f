/* SPDX-License-Identifier: MIT */
/*
 * Results as files for other programs, written whole (tools/whole_file.h).
 */
#ifndef PERF_EXPORT_H
#define PERF_EXPORT_H

#include <stdio.h>

#include "run.h"

/* Writes options->json, csv and plot, whichever are set; also for a run that failed. */
bool perf_export(struct perf_run *run); /* false, with a complaint on stderr, if it could not */

/*
 * Before anything is measured: whether rank `rank` could write its files, and read that of
 * --compare. false, with a complaint
 */
bool perf_export_check(const struct perf_options *options, int rank);

/* To a stream that is open. */
void perf_export_json(const struct perf_run *run, FILE *out);

#endif
