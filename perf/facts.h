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

/* A rank's device, if ranks have some. */
struct perf_device_facts {
	int32_t err, chip;
	char text[PERF_DEVICE_TEXT];
};

struct perf_facts {
	char kernel[128];
	char started[32];                  /* ISO 8601, local time with offset */
	double started_at;                 /* of perf_now() */
	struct perf_rank_facts *ranks;     /* one of each */
	struct perf_device_facts *devices; /* likewise; NULL: buffers are in the host's memory */
	double other_cpus; /* that other programs took, on the host where that were most; NAN: not known */
};

/* Collective. returns 0, or a RING_E... with team->error */
int perf_facts_gather(struct perf_team *team, struct perf_facts *facts);

/*
 * Opens the device that this rank's buffers are to lie on: the ranks of a host share out its
 * devices, in order. As perf_facts_gather
 */
int perf_facts_take_device(struct perf_team *team, const struct perf_options *options,
			   struct perf_facts *facts);

/* What others took since; own CPU seconds are a process's, or shared by ranks that are threads. As perf_facts_gather */
int perf_facts_watch(struct perf_team *team, struct perf_facts *facts,
		     const struct machine_use *since, bool threads);
void perf_facts_free(struct perf_facts *facts);

#endif
