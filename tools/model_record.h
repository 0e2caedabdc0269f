/* SPDX-License-Identifier: MIT */
/*
 * Reads the records of ring_perf --json.
 */
#ifndef MODEL_RECORD_H
#define MODEL_RECORD_H

#include <stdio.h>

#include "model_fit.h"

/* Where a record comes from; a fitted model names its sources. */
struct model_source {
	char file[256], start_time[40], kernel[128], host[64], cpu[96];
	char link[48];    /* RING_LINK; "": none */
	char version[32]; /* of ringccl */
};

/* Why a row is no sample. */
enum model_reason {
	MODEL_ONE_RANK,
	MODEL_NO_TIME,
	MODEL_OTHER_CALL,      /* there is no model of the call        */
	MODEL_OTHER_ALGORITHM, /* the model is of another algorithm    */
	MODEL_REASONS
};

struct model_record {
	struct model_sample *samples; /* in the file's order */
	size_t count;
	size_t left_out[MODEL_REASONS];
	char algorithms[96];      /* those of MODEL_OTHER_ALGORITHM, "oneshot, direct" */
	struct model_known known; /* the reduction rate is that of the largest size measured */
	double spread;            /* median over rows of p90 / p10; 0: not known */
	double others;            /* CPUs that other programs used; 0: not known */
	bool busy;                /* because of one of these */
	struct model_source source;
};

/* A quiet machine has a smaller spread. */
#define MODEL_BUSY_SPREAD 2.0

/*
 * Samples are the medians of rows, on a busy machine the fastest times. returns whether it is a
 * record of ring_perf with samples; if not, there is a sentence on stderr
 */
bool model_record_read(const char *path, struct model_record *record);

/* Prints comment lines: which rows were left out and why, whether the machine was busy. */
void model_record_remark(const struct model_record *record, FILE *out);
void model_record_free(struct model_record *record);

/* "all_reduce 64 KiB on 4 ranks over tcp" */
void model_sample_name(const struct model_sample *sample, char *text, size_t room);

#endif
