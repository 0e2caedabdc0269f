/* SPDX-License-Identifier: MIT */
/*
 * Reads the records of ring_perf --json: each row is a call that some algorithm carried, so its
 * work is known, and the model can be fitted to it or compared with it.
 */
#ifndef MODEL_RECORD_H
#define MODEL_RECORD_H

#include <stdio.h>

#include "call.h"
#include "fit.h"

/* Where a record comes from. */
struct model_source {
	char file[256], start_time[40], kernel[128], host[64], cpu[96];
	char link[48];    /* RING_LINK; "": none */
	char version[32]; /* of ringccl */
};

struct model_sample {
	struct model_timed timed;
	enum ring_path path;
	double bytes; /* of all parts */
};

/* Why a row is not a sample. */
enum model_reason {
	MODEL_ONE_RANK,
	MODEL_NO_TIME,
	MODEL_OTHER_CALL, /* there is no model of the call */
	MODEL_DEVICE,     /* buffers on a device           */
	MODEL_REASONS
};

struct model_record {
	struct model_sample *samples; /* in the file's order */
	size_t count;
	size_t left_out[MODEL_REASONS];
	double spread; /* median over rows of p90 / p10; 0: not known */
	double others; /* CPUs that other programs used; 0: not known */
	bool busy;     /* because of one of these */
	struct model_source source;
	int *order; /* of the samples' plans */
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

/* "all_reduce 64 KiB on 4 ranks, ring over network" */
void model_sample_name(const struct model_sample *sample, char *text, size_t room);

/* What links ranks that name these transports, on this many hosts, with RING_LINK or "". */
enum ring_path model_path_of(const char *transports, int hosts, const char *link);

#endif
