/* SPDX-License-Identifier: MIT */
/*
 * Reads what others have measured: the records of ring_perf --json.
 */
#ifndef MODEL_RECORD_H
#define MODEL_RECORD_H

#include <jansson.h>

#include "model_fit.h"

/* Who measured: what a fitted model says it comes from. */
struct model_source {
	char file[256], start_time[40], kernel[128], host[64], cpu[96];
};

struct model_record {
	struct model_sample *samples; /* in the file's order */
	size_t count;
	double reduce_rate; /* bytes per second at the largest size it measured; 0: unknown */
	struct model_source source;
};

/* Reads a JSON file, "-" is standard input. returns NULL with a sentence on stderr */
json_t *model_json_read(const char *path);

/* returns whether it is a record of ring_perf with rows; else there is a sentence on stderr */
bool model_record_read(const char *path, struct model_record *record);
void model_record_free(struct model_record *record);

/* "all_reduce 64 KiB on 4 ranks over tcp" */
void model_sample_name(const struct model_sample *sample, char *text, size_t room);

/* "64 KiB" */
void model_size_name(double bytes, char text[24]);

#endif
