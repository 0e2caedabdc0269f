/* SPDX-License-Identifier: MIT */
/*
 * What a measurement must be read with: where it ran, on what, when, and who took part.
 */
#ifndef PERF_FACTS_H
#define PERF_FACTS_H

#include "../tools/machine.h"
#include "team.h"

struct perf_rank_facts {
	int32_t pid;
	struct machine machine;
};

struct perf_facts {
	char kernel[128];
	char started[32];              /* ISO 8601, local time with offset */
	double started_at;             /* of perf_now() */
	struct perf_rank_facts *ranks; /* one of each */
	double other_cpus; /* that other programs took, on the host where that were most; NAN: not known */
};

/* Collective. returns 0, or a RING_E... with team->error */
int perf_facts_gather(struct perf_team *team, struct perf_facts *facts);

/* What others took since; own CPU seconds are a process's, or shared by ranks that are threads. As perf_facts_gather */
int perf_facts_watch(struct perf_team *team, struct perf_facts *facts,
		     const struct machine_use *since, bool threads);
void perf_facts_free(struct perf_facts *facts);

#endif
