/* SPDX-License-Identifier: MIT */
/* The table at the end of a run, for people. */
#ifndef TRAIN_REPORT_H
#define TRAIN_REPORT_H

#include <stdio.h>

#include "summary.h"

/*
 * steps, each   as for train_summary_make
 * predicted     [TRAIN_METRICS] a model's values, NAN where it has none; NULL: no such column
 */
void train_report_print(FILE *out, const struct train_summary *summary,
			const struct train_step *steps, size_t each, const double *predicted);

#endif
