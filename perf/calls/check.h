/* SPDX-License-Identifier: MIT */
/*
 * Checks calls: their results, the memory they must not touch, and the bytes they sent.
 */
#ifndef PERF_CHECK_H
#define PERF_CHECK_H

#include "perf/options.h"
#include "perf/placed.h"

/* What checked calls of one kind showed. Elements and bytes are over all ranks. */
struct perf_check {
	uint64_t wrong;                 /* elements                                             */
	uint64_t reordered;             /* right, but added in another order than documented    */
	uint64_t out_of_bounds;         /* bytes of guard zones and inputs that changed         */
	uint64_t sent_bytes;            /* payload of one call as the links counted it          */
	uint64_t formula_bytes;         /* the same as ringccl.h promises it                    */
	uint64_t sent_least, sent_most; /* payload of one rank                           */
	bool payload_matches;           /* also rank by rank                             */
	struct ring_carried carried;    /* how the last call was carried                 */
};

/*
 * Makes options->checks calls, each with new data, and compares everything. If that is 0, makes one
 * call and only counts its payload. Collective.
 *
 * returns   0, or a RING_E... with team->error
 */
int perf_check_calls(struct perf_team *team, const struct perf_options *options,
		     const struct perf_placed *placed, struct perf_check *check);

#endif
