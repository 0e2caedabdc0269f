/* SPDX-License-Identifier: MIT */
/*
 * One rank of mpi_test: makes every integer call twice, with MPI and with this library, on the same
 * inputs, and compares what arrives byte by byte. First as the whole job, then as the parts into which
 * both split it alike.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/multi/calls.h"

#define COUNT_MAX 4099
#define RANKS_MAX 8
#define BYTES_MAX (COUNT_MAX * RANKS_MAX * ELEMENT_BYTES_MAX)

static const enum ring_datatype types[] = {RING_INT8,   RING_UINT8, RING_INT32,
					   RING_UINT32, RING_INT64, RING_UINT64};
static const enum ring_op ops[] = {RING_SUM, RING_PROD, RING_MAX, RING_MIN};
static const size_t counts[] = {0, 1, 13, COUNT_MAX};
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* The same ranks, as each library holds them. */
struct job {
	MPI_Comm mpi;
	struct ring_comm *ring;
	int size, rank;
	unsigned long compared;
};

static unsigned char input[BYTES_MAX], theirs[BYTES_MAX], ours[BYTES_MAX];

static void fail(const struct job *job, const char *what)
{
	fprintf(stderr, "rank %d of %d: %s: %s\n", job->rank, job->size, what,
		ring_comm_error(job->ring));
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static MPI_Datatype mpi_type(enum ring_datatype type)
{
	switch (type) {
	case RING_INT8:
		return MPI_INT8_T;
	case RING_UINT8:
		return MPI_UINT8_T;
	case RING_INT32:
		return MPI_INT32_T;
	case RING_UINT32:
		return MPI_UINT32_T;
	case RING_INT64:
		return MPI_INT64_T;
	default:
		return MPI_UINT64_T;
	}
}

static MPI_Op mpi_op(enum ring_op op)
{
	switch (op) {
	case RING_PROD:
		return MPI_PROD;
	case RING_MAX:
		return MPI_MAX;
	case RING_MIN:
		return MPI_MIN;
	default:
		return MPI_SUM;
	}
}

static void call_mpi(const struct job *job, const struct call *call, const void *send, void *recv)
{
	const MPI_Datatype type = mpi_type(call->type);
	const MPI_Op op = mpi_op(call->op);
	const int count = (int)call->count, root = call->root;
	switch (call->kind) {
	case ALL_REDUCE:
		MPI_Allreduce(send, recv, count, type, op, job->mpi);
		return;
	case REDUCE_SCATTER:
		MPI_Reduce_scatter_block(send, recv, count, type, op, job->mpi);
		return;
	case ALL_GATHER:
		MPI_Allgather(send, count, type, recv, count, type, job->mpi);
		return;
	case BROADCAST:
		if (job->rank == root)
			memcpy(recv, send, call_send_bytes(call, job->size));
		MPI_Bcast(recv, count, type, root, job->mpi);
		return;
	case REDUCE:
		MPI_Reduce(send, recv, count, type, op, root, job->mpi);
		return;
	case GATHER:
		MPI_Gather(send, count, type, recv, count, type, root, job->mpi);
		return;
	case SCATTER:
		MPI_Scatter(send, count, type, recv, count, type, root, job->mpi);
		return;
	case ALL_TO_ALL:
		MPI_Alltoall(send, count, type, recv, count, type, job->mpi);
		return;
	default:
		MPI_Barrier(job->mpi);
	}
}

/* Other numbers for each call and each rank of the whole job. */
static void fill(const struct job *job)
{
	int world_rank;
	MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
	uint64_t state = job->compared * 1000003 + (uint64_t)world_rank;
	for (size_t at = 0; at < BYTES_MAX; at += sizeof(state)) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		uint64_t mixed = state ^ state >> 29;
		memcpy(input + at, &mixed, sizeof(mixed));
	}
	memset(theirs, 0xee, BYTES_MAX);
	memset(ours, 0xee, BYTES_MAX);
}

/* Also that neither touched what it should not. */
static void compare(struct job *job, const char *what)
{
	job->compared++;
	if (memcmp(theirs, ours, BYTES_MAX) != 0)
		fail(job, what);
}

static void check_call(struct job *job, const struct call *call)
{
	char text[CALL_TEXT];
	fill(job);
	call_mpi(job, call, input, theirs);
	if (call_make(job->ring, call, input, ours, NULL))
		fail(job, "a call");
	compare(job, call_text(call, text));
}

static void check_kind(struct job *job, enum call_kind kind)
{
	for (size_t t = 0; t < LENGTH(types); t++)
		for (size_t c = 0; c < LENGTH(counts); c++)
			for (size_t o = 0; o < (call_kind_reduces(kind) ? LENGTH(ops) : 1); o++)
				check_call(job,
					   &(struct call){.kind = kind,
							  .count = counts[c],
							  .type = types[t],
							  .op = ops[o],
							  .root = (int)(t + c + o) % job->size});
}

/* Each rank sends to the one `distance` further and receives from the one as far behind. */
static void check_shift(struct job *job, int distance, size_t count)
{
	const int to = (job->rank + distance) % job->size;
	const int from = (job->rank + job->size - distance) % job->size;
	fill(job);
	MPI_Sendrecv(input, (int)count, MPI_INT32_T, to, 0, theirs, (int)count, MPI_INT32_T, from,
		     0, job->mpi, MPI_STATUS_IGNORE);
	if (ring_group_start() || ring_send(job->ring, input, count, RING_INT32, to, NULL) ||
	    ring_recv(job->ring, ours, count, RING_INT32, from, NULL) || ring_group_end())
		fail(job, "send and receive");
	compare(job, "send and receive");
}

static void check_all(struct job *job)
{
	for (int kind = 0; kind < CALL_COLLECTIVES; kind++)
		check_kind(job, (enum call_kind)kind);
	for (int distance = 0; distance < job->size; distance++)
		for (size_t c = 0; c < LENGTH(counts); c++)
			check_shift(job, distance, counts[c]);
}

static void check_split(struct job *whole, int color, int key)
{
	struct job part = {.compared = 0};
	MPI_Comm_split(whole->mpi, color < 0 ? MPI_UNDEFINED : color, key, &part.mpi);
	if (ring_comm_split(whole->ring, color, key, &part.ring))
		fail(whole, "split");
	if ((part.mpi == MPI_COMM_NULL) != (part.ring == NULL))
		fail(whole, "a split leaves others out");
	if (!part.ring)
		return;
	MPI_Comm_size(part.mpi, &part.size);
	MPI_Comm_rank(part.mpi, &part.rank);
	if (ring_comm_size(part.ring) != part.size || ring_comm_rank(part.ring) != part.rank)
		fail(&part, "a split orders ranks otherwise");
	check_all(&part);
	whole->compared += part.compared;
	ring_comm_destroy(part.ring);
	MPI_Comm_free(&part.mpi);
}

int main(int argc, char **argv)
{
	struct ring_unique_id id;
	struct job job = {.mpi = MPI_COMM_WORLD};
	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &job.size);
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	if (job.size > RANKS_MAX || (job.rank == 0 && ring_unique_id_create(&id)))
		fail(&job, "an id");
	MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
	if (ring_comm_create(&job.ring, job.size, job.rank, &id, NULL))
		fail(&job, "creation");
	check_all(&job);
	check_split(&job, job.rank % 3 == 2 ? RING_COLOR_NONE : job.rank % 3, -job.rank / 2);
	if (job.rank == 0)
		printf("%d ranks: %lu calls give the same bytes\n", job.size, job.compared);
	ring_comm_destroy(job.ring);
	MPI_Finalize();
	return 0;
}
