/* SPDX-License-Identifier: MIT */
/*
 * All ranks of the training. Gradients have their own communicator, so that its counters count only
 * gradients; another one carries everything else.
 */
#ifndef TRAIN_TEAM_H
#define TRAIN_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/machine.h"
#include "clock.h"
#include "ringccl.h"

struct train_options;

struct train_team {
	struct ring_comm *comm;  /* for gradients */
	struct ring_comm *aside; /* for everything else */
	int rank, size;
	char transports[64]; /* this rank's, "shm,tcp"; "-" alone */
	int cpus;            /* usable by the ranks, on all hosts together */
	int hosts;
	int local;              /* how many lower ranks are on this rank's host */
	int host;               /* the lowest rank on this rank's host */
	struct machine machine; /* rank 0's */
	double behind;          /* this rank's clock + behind == rank 0's clock; 0 on its host */
};

/*
 * Joins as `rank`, which the environment gave. returns 0, or a RING_E code with its sentence on
 * stderr
 */
int train_team_join(struct train_team *team, const struct train_options *options, int rank);
void train_team_leave(struct train_team *team);

/* Says on stderr why a call failed, unless err is 0. returns err */
int train_team_failed(const struct train_team *team, int err, const char *doing);

/* All of these are collective and return 0, or a RING_E code with its sentence on stderr. */
int train_team_barrier(struct train_team *team);
int train_team_sum(struct train_team *team, double *values, size_t count);
int train_team_max(struct train_team *team, double *values, size_t count);
int train_team_average(struct train_team *team, float *values, size_t count);
int train_team_broadcast(struct train_team *team, void *data, size_t bytes); /* rank 0's */

/* CPUs that other programs have used since then, on the busiest host; NAN: not known. */
int train_team_others(struct train_team *team, const struct machine_use *since, double *others);

/*
 * Gathers the records of all ranks on rank 0. Their numbers may differ.
 *
 * all      on rank 0: all ranks' records one after the other, to be freed; NULL elsewhere
 * counts   on rank 0: [size] records of each rank, to be freed; NULL elsewhere
 */
int train_team_gather(struct train_team *team, const void *records, size_t count,
		      size_t record_bytes, void **all, size_t **counts);

#endif
