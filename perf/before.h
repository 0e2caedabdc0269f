/* SPDX-License-Identifier: MIT */
/* --compare: the rows beside those of an earlier run's JSON. */
#ifndef PERF_BEFORE_H
#define PERF_BEFORE_H

#include "run.h"

/* Before anything is measured: whether it is such a record. NULL is fine. false with a sentence */
bool perf_before_check(const char *path);

/* On rank 0: a line for each row that both have, with the ratio of their times and a bar for it. */
void perf_before_report(const struct perf_run *run);

#endif
