/* SPDX-License-Identifier: MIT */
/*
 * A run as a file of JSON lines: first {"record": "run"} with its facts, then {"record": "step"}
 * for each step and rank, last {"record": "summary"} with all metrics by their names.
 */
#ifndef TRAIN_RECORD_H
#define TRAIN_RECORD_H

#include "summary.h"

/* steps: as train_summary_make. returns 0; -1 with a sentence on stderr */
int train_record_write(const char *path, const struct train_summary *summary,
		       const struct train_step *steps, size_t each);

/* Reads facts and summary of another run's file. returns 0; -1 with a sentence on stderr */
int train_record_read(const char *path, struct train_summary *summary);

/*
 * Reads predictions: any JSON object whose members, or those of its member "predicted", have names
 * of metrics. values[TRAIN_METRICS]: NAN where it has none. returns 0; -1 with a sentence on stderr
 */
int train_record_read_predictions(const char *path, double *values);

#endif
