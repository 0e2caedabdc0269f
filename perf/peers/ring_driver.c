/* SPDX-License-Identifier: MIT */
/*
 * This library as a peer, for what ring_perf does not measure: the time from the launch of ranks to
 * their first result.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"
#include "ringccl.h"

static struct ring_comm *comm;

static void check(int err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", ring_comm_error(comm));
	exit(1);
}

void peer_join(int *rank, int *size)
{
	check(ring_comm_create_from_env(&comm, NULL));
	*rank = ring_comm_rank(comm);
	*size = ring_comm_size(comm);
}

void peer_barrier(void)
{
	check(ring_barrier(comm, NULL));
}

void peer_max(double *values, int count)
{
	check(ring_all_reduce(comm, values, values, (size_t)count, RING_FLOAT64, RING_MAX, NULL));
}

bool peer_prepare(const struct job *job)
{
	return strcmp(job->collective, "all_reduce") == 0 && job->algorithm[0] == '\0';
}

void peer_call(const struct job *job)
{
	check(ring_all_reduce(comm, job->data, job->data, job->count, RING_FLOAT32, RING_SUM, NULL));
}

void peer_leave(void)
{
	ring_comm_destroy(comm);
}
