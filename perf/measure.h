/* SPDX-License-Identifier: MIT */
/*
 * The rows of one call: timed calls, then checked and counted calls, out of place and in place.
 */
#ifndef PERF_MEASURE_H
#define PERF_MEASURE_H

#include "perf/calls/check.h"
#include "options.h"
#include "placed.h"
#include "perf/limits/sampling.h"
#include "team.h"

/* One place of a row. */
struct perf_result {
	struct perf_times times;
	struct perf_check check;
};

struct perf_row {
	struct perf_call call;
	enum perf_buffers buffers;
	bool has_place[PERF_PLACES];
	struct perf_result places[PERF_PLACES];
	double limit_us; /* no ring can be faster on this machine; 0: not known */
};

/*
 * Times calls of `team` on zeros, with each kind of buffers that is wanted. `start` has the same
 * ranks and agrees when a sample begins. Collective. returns 0, or a RING_E... with the team's
 * error
 */
int perf_measure_times(struct perf_team *team, struct perf_team *start,
		       const struct perf_options *options, const struct perf_placed *placed,
		       struct perf_times times[PERF_BUFFERS]);

/*
 * Measures a call at its places. Fills in one row for each kind of buffers that is wanted; the rows
 * share one check. start as above. Collective.
 *
 * returns   0, or a RING_E... with team->error
 */
int perf_measure_rows(struct perf_team *team, struct perf_team *start,
		      const struct perf_options *options, const struct perf_call *call,
		      struct perf_buffer buffers[2], struct perf_row rows[PERF_BUFFERS]);

#endif
