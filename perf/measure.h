/* SPDX-License-Identifier: MIT */
/*
 * One row of the table: timed calls, then checked and counted calls, out of place and in place.
 */
#ifndef PERF_MEASURE_H
#define PERF_MEASURE_H

#include "check.h"
#include "options.h"
#include "placed.h"
#include "team.h"

/* Microseconds of one call; each sample is the slowest rank's. */
struct perf_times {
	double median, p10, p90, p99, min, max;
	int samples, calls_per_sample;
};

/* One place of a row. */
struct perf_result {
	struct perf_times times;
	struct perf_check check;
};

struct perf_row {
	struct perf_call call;
	bool has_place[PERF_PLACES];
	struct perf_result places[PERF_PLACES];
	double limit_us; /* no ring here can be faster; 0: unknown */
};

/* Times calls on zeros. Collective. returns 0, or a RING_E... with team->error */
int perf_measure_times(struct perf_team *team, const struct perf_options *options,
		       const struct perf_placed *placed, struct perf_times *times);

/* Fills in the row for row->call; collective. returns 0, or a RING_E... with team->error */
int perf_measure_row(struct perf_team *team, const struct perf_options *options,
		     struct perf_buffer buffers[2], struct perf_row *row);

#endif
