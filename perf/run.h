/* SPDX-License-Identifier: MIT */
/*
 * One rank's whole measurement: every row that was asked for, and their summary.
 */
#ifndef PERF_RUN_H
#define PERF_RUN_H

#include "facts.h"
#include "perf/limits/limits.h"
#include "measure.h"
#include "options.h"
#include "team.h"
#include "tools/progress.h"

struct perf_run {
	const struct perf_options *options;
	char **argv; /* as given, NULL last */
	struct perf_team team;
	struct perf_team start;  /* agrees when a sample begins, if RING_ALGORITHM is set */
	struct perf_team lender; /* of a device's shared memory */
	struct perf_facts facts;
	struct perf_limits limits;
	struct perf_row *rows; /* [row_count], measured so far */
	size_t row_count;
	struct progress progress;
};

/* How busy other programs kept the machine. */
struct perf_busyness {
	size_t times, spread; /* medians; those with a 90th percentile beyond 1.5 times of it */
	bool busy;            /* times say little */
};

/* What all rows show together. */
struct perf_summary {
	uint64_t wrong, reordered, out_of_bounds;
	uint64_t payload_mismatches;  /* places whose counters disagree with the formula */
	double average_bus;           /* GB/s, over all places of all rows               */
	const struct perf_row *peak;  /* the row with the highest bus bandwidth; or NULL */
	enum perf_place peak_place;   /* the place with it                               */
	const struct perf_row *small; /* the row with the fewest bytes; or NULL          */
	const struct perf_row *large; /* the row with the most bytes; or NULL            */
};

/*
 * Measures as one rank and, as rank 0, reports. The caller has joined the team.
 * returns   an enum exit_status
 */
int perf_run_rows(struct perf_run *run);
void perf_run_free(struct perf_run *run);

struct perf_busyness perf_run_busyness(const struct perf_run *run);
struct perf_summary perf_run_summary(const struct perf_run *run);

/* GB/s (1e9 bytes): of the vector, and of one link if a ring carried it. */
double perf_algorithm_bandwidth(const struct perf_call *call, double microseconds);
double perf_bus_bandwidth(const struct perf_call *call, double microseconds);

/* The result of the row's last place: in place, if it has that. */
const struct perf_result *perf_row_result(const struct perf_row *row);

/* The median time of that result; it is compared with the limit. */
double perf_row_time(const struct perf_row *row);

/* How close that time is to the limit, in percent; 0: not known. */
double perf_row_percent(const struct perf_row *row);

#endif
