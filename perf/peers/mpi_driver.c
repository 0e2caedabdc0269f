/* SPDX-License-Identifier: MIT */
/*
 * MPI as a peer: Open MPI and MPICH. Errors end the job, as is MPI's default.
 */
#include <mpi.h>
#include <string.h>

#include "peer.h"

void peer_join(int *rank, int *size)
{
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, rank);
	MPI_Comm_size(MPI_COMM_WORLD, size);
}

void peer_barrier(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

void peer_max(double *values, int count)
{
	MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static void all_reduce(const struct job *job)
{
	MPI_Allreduce(MPI_IN_PLACE, job->data, (int)job->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_scatter(const struct job *job)
{
	MPI_Reduce_scatter_block(MPI_IN_PLACE, job->data, (int)job->part, MPI_FLOAT, MPI_SUM,
				 MPI_COMM_WORLD);
}

static void all_gather(const struct job *job)
{
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, job->data, (int)job->part, MPI_FLOAT,
		      MPI_COMM_WORLD);
}

static void broadcast(const struct job *job)
{
	MPI_Bcast(job->data, (int)job->count, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

static void all_to_all(const struct job *job)
{
	MPI_Alltoall(job->data, (int)job->part, MPI_FLOAT, job->result, (int)job->part, MPI_FLOAT,
		     MPI_COMM_WORLD);
}

static const struct {
	const char *collective;
	void (*call)(const struct job *job);
} calls[] = {
	{"all_reduce", all_reduce}, {"reduce_scatter", reduce_scatter}, {"all_gather", all_gather},
	{"broadcast", broadcast},   {"all_to_all", all_to_all},
};

static void (*call)(const struct job *job);

bool peer_prepare(const struct job *job)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].collective, job->collective) == 0)
			call = calls[i].call;
	}
	return call && job->algorithm[0] == '\0';
}

void peer_call(const struct job *job)
{
	call(job);
}

void peer_leave(void)
{
	MPI_Finalize();
}
