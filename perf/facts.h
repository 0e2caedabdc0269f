/* SPDX-License-Identifier: MIT */
/*
 * What a reader of a measurement must know: where it ran, on what, when, and with which ranks.
 */
#ifndef PERF_FACTS_H
#define PERF_FACTS_H

#include "tools/machine.h"
#include "team.h"

struct perf_rank_facts {
	int32_t pid;
	struct machine machine;
};

/* A rank's device, if ranks have some. */
struct perf_device_facts {
	int32_t err, chip;
	char text[PERF_DEVICE_TEXT]; /* "": this rank has none */
};

struct perf_facts {
	char kernel[128];
	char started[32];                  /* ISO 8601, local time with offset */
	double started_at;                 /* of perf_now() */
	struct perf_rank_facts *ranks;     /* [size] */
	struct perf_device_facts *devices; /* [size]; NULL: buffers are in the host's memory */
	double other_cpus; /* CPUs that other programs used, on the busiest host; NAN: not known */
};

/* Collective. returns 0, or a RING_E... with team->error */
int perf_facts_gather(struct perf_team *team, struct perf_facts *facts);

/*
 * Opens the device for this rank's buffers. The ranks of a host take the chips that they can see in
 * turn. Collective; returns as perf_facts_gather
 */
int perf_facts_take_device(struct perf_team *team, const struct perf_options *options,
			   struct perf_facts *facts);

/* How many ranks use a rank's chip, with itself; *before of them have lower numbers. */
int perf_facts_share(const struct perf_facts *facts, int size, int rank, int *before);

/*
 * Measures how much CPU other programs used since then. threads: all ranks are in one process,
 * whose CPU seconds they share. Collective; returns as perf_facts_gather
 */
int perf_facts_watch(struct perf_team *team, struct perf_facts *facts,
		     const struct machine_use *since, bool threads);
void perf_facts_free(struct perf_facts *facts);

#endif
