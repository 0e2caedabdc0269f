/* SPDX-License-Identifier: MIT */
/*
 * A run as a file of JSON lines: first {"record": "run"} with its facts, then {"record": "step"}
 * for each step and rank, last {"record": "summary"} with all metrics by their names. A run that
 * ended before its last step has {"record": "end"}, with how. A run that goes on from another one
 * has its lines behind that one's.
 */
#ifndef TRAIN_RECORD_H
#define TRAIN_RECORD_H

#include <stdio.h>

#include "summary.h"

/* How a run ended before its last step. */
struct train_end {
	int status;    /* as an exit status; 0: it did not */
	uint64_t step; /* the last one before the end */
	const char *why;
};

struct train_record {
	const char *earlier; /* lines of the runs before */
	size_t earlier_bytes;
	const struct train_summary *summary;
	const struct train_step *steps; /* as train_summary_make */
	size_t each;
	struct train_end end;
};

/* returns 0; -1 with a sentence on stderr */
int train_record_write(const char *path, const struct train_record *record);

/* The lines. */
void train_record_put_run(FILE *out, const struct train_facts *facts);
void train_record_put_step(FILE *out, int rank, const struct train_step *step);
void train_record_put_end(FILE *out, const struct train_end *end);
bool train_record_is_end(const char *line);

/*
 * Reads facts and summary of another run's file, of its last run. returns 0; -1 with a sentence on
 * stderr
 */
int train_record_read(const char *path, struct train_summary *summary);

/*
 * Reads predictions: any JSON object whose members, or those of its member "predicted", have names
 * of metrics. values[TRAIN_METRICS]: NAN where it has none. returns 0; -1 with a sentence on stderr
 */
int train_record_read_predictions(const char *path, double *values);

#endif
