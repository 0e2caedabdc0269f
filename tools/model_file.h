/* SPDX-License-Identifier: MIT */
/*
 * Model files: fits, and the records they come from, as JSON.
 *
 *	{"format": "ringccl model", "version": 1, "ringccl_version": ..., "link" (RING_LINK, or ""),
 *	 "from": [{"file", "start_time", "host", "cpu", "kernel"}, ...],
 *	 "fits": [{"transport", "ranks", "latency_s", "bandwidth_bytes_per_s",
 *	           "reduce_bytes_per_s" (null: takes no time), "overhead_s", "chunk_bytes",
 *	           "reduce_from", "overhead_from", "samples", "least_bytes", "most_bytes",
 *	           "median_error", "worst_error"}, ...]}
 */
#ifndef MODEL_FILE_H
#define MODEL_FILE_H

#include "model_fit.h"
#include "model_record.h"

#define MODEL_FITS_MAX 64

struct model_file {
	struct model_fit fits[MODEL_FITS_MAX];
	size_t count;
	char link[48]; /* RING_LINK of their records */
};

/* All return false with a sentence on stderr; the file appears complete or not at all */
bool model_file_write(const char *path, const struct model_file *file,
		      const struct model_record *records, size_t record_count);

bool model_file_read(const char *path, struct model_file *file);

#endif
