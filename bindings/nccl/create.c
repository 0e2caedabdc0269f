/* SPDX-License-Identifier: MIT */
/* Making communicators, from an id or from another communicator, and ending them. */
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "config.h"
#include "device.h"
#include "error.h"
#include "group.h"

NCCL_CALL(int, ncclGetUniqueId, struct ring_unique_id *id)
{
	if (!id)
		return nccl_refuse(NCCL_INVALID_ARGUMENT, "ncclGetUniqueId: uniqueId is NULL");
	return nccl_result_of(ring_unique_id_create(id), NULL);
}

/* ---- from an id ------------------------------------------------------------------------------ */

/* Only a caller that does not wait gets one that came to nothing: it asks it for what happened. */
static int meet(struct nccl_job *job)
{
	struct ncclComm *comm = job->comm;
	struct ring_comm *ring;
	int err = ring_comm_create(&ring, job->size, job->rank, &job->id, NULL);
	int result = nccl_result_of(err, NULL);
	if (!result)
		result = nccl_comm_adopt(comm, ring);
	if (result && comm->blocking) {
		*job->made = NULL;
		nccl_comm_close(comm); /* once this job has left it */
	}
	return result;
}

static int create(struct ncclComm **comm, int size, int rank, const struct ring_unique_id *id,
		  int device, const struct nccl_config *config, const char *call)
{
	struct nccl_job job = {
		.run = meet, .made = comm, .size = size, .rank = rank, .blocking = true};
	if (!comm || !id)
		return nccl_refuse(NCCL_INVALID_ARGUMENT, "%s: %s is NULL", call,
				   comm ? "the id" : "comm");
	if (size < 1 || rank < 0 || rank >= size)
		return nccl_refuse(NCCL_INVALID_ARGUMENT, "%s: rank %d of %d ranks makes no sense",
				   call, rank, size);
	job.id = *id;
	int result = nccl_config_read(config, call, &job.blocking);
	if (!result)
		result = nccl_comm_open(&job.comm, size, rank, device, job.blocking);
	if (result)
		return result;
	*comm = job.comm;
	return nccl_job_submit(&job);
}

static int create_here(struct ncclComm **comm, int size, int rank, const struct ring_unique_id *id,
		       const struct nccl_config *config, const char *call)
{
	int device;
	int result = nccl_device_current(&device);
	if (!result)
		result = create(comm, size, rank, id, device, config, call);
	return nccl_group_note(result);
}

NCCL_CALL(int, ncclCommInitRank, struct ncclComm **comm, int size, struct ring_unique_id id,
	  int rank)
{
	return create_here(comm, size, rank, &id, NULL, "ncclCommInitRank");
}

NCCL_CALL(int, ncclCommInitRankConfig, struct ncclComm **comm, int size, struct ring_unique_id id,
	  int rank, const struct nccl_config *config)
{
	return create_here(comm, size, rank, &id, config, "ncclCommInitRankConfig");
}

/* All ranks have the same ids: one is enough. */
NCCL_CALL(int, ncclCommInitRankScalable, struct ncclComm **comm, int size, int rank, int id_count,
	  const struct ring_unique_id *ids, const struct nccl_config *config)
{
	return create_here(comm, size, rank, id_count > 0 ? ids : NULL, config,
			   "ncclCommInitRankScalable");
}

NCCL_CALL(int, ncclCommInitAll, struct ncclComm **comms, int count, const int *devices)
{
	struct ring_unique_id id;
	int visible;
	int result = nccl_device_count(&visible);
	if (!result && (!comms || count < 1 || (!devices && count > visible)))
		result = nccl_refuse(NCCL_INVALID_ARGUMENT,
				     "ncclCommInitAll: %d communicators, and %d devices", count,
				     visible);
	if (!result)
		result = pncclGetUniqueId(&id);
	if (result)
		return nccl_group_note(result);
	pncclGroupStart();
	for (int rank = 0; rank < count; rank++)
		nccl_group_note(create(&comms[rank], count, rank, &id,
				       devices ? devices[rank] : rank, NULL, "ncclCommInitAll"));
	return pncclGroupEnd();
}

/* ---- from another communicator --------------------------------------------------------------- */

/* The new one is the caller's before the old one is no longer in progress. */
static int hand_out(struct nccl_job *job, struct ring_comm *ring)
{
	struct ncclComm *comm;
	int result = nccl_comm_open(&comm, ring_comm_size(ring), ring_comm_rank(ring),
				    job->comm->device, job->blocking);
	if (result) {
		ring_comm_destroy(ring);
		return result;
	}
	result = nccl_comm_adopt(comm, ring);
	if (result)
		nccl_comm_close(comm); /* when it ends */
	else
		*job->made = comm;
	nccl_comm_end(comm, result);
	return result;
}

/* Begins a job on an old communicator. Takes `excluded` of the job in any case. */
static int derive(struct nccl_job *job, const struct nccl_config *config, const char *call)
{
	int result = NCCL_SUCCESS;
	if (!job->made)
		result = nccl_refuse(NCCL_INVALID_ARGUMENT, "%s: newcomm is NULL", call);
	job->blocking = job->comm ? job->comm->blocking : true;
	if (!result)
		result = nccl_config_read(config, call, &job->blocking);
	if (!result)
		result = nccl_comm_begin(job->comm, call);
	if (result) {
		free(job->excluded);
		return nccl_group_note(result);
	}
	*job->made = NULL;
	return nccl_group_note(nccl_job_submit(job));
}

static int split(struct nccl_job *job)
{
	struct ring_comm *parent = job->comm->ring, *ring;
	int err = ring_comm_split(parent, job->color, job->key, &ring);
	int result = nccl_result_of(err, parent);
	return result || !ring ? result : hand_out(job, ring);
}

NCCL_CALL(int, ncclCommSplit, struct ncclComm *comm, int color, int key, struct ncclComm **made,
	  const struct nccl_config *config)
{
	struct nccl_job job = {.run = split, .comm = comm, .made = made, .color = color, .key = key};
	return derive(&job, config, "ncclCommSplit");
}

static bool is_excluded(const struct nccl_job *job, int rank)
{
	for (int i = 0; i < job->excluded_count; i++)
		if (job->excluded[i] == rank)
			return true;
	return false;
}

/* The first that stays makes an id and sends it to the others that do, past those that go. */
static int spread_id(struct nccl_job *job, struct ring_comm *old, int first)
{
	const size_t bytes = sizeof(job->id);
	if (ring_comm_rank(old) != first)
		return nccl_result_of(ring_recv(old, &job->id, bytes, RING_UINT8, first, NULL), old);
	int result = pncclGetUniqueId(&job->id);
	if (result)
		return result;
	int err = ring_group_start();
	for (int rank = first + 1; rank < ring_comm_size(old) && !err; rank++)
		if (!is_excluded(job, rank))
			err = ring_send(old, &job->id, bytes, RING_UINT8, rank, NULL);
	int ended = ring_group_end();
	return nccl_result_of(err ? err : ended, old);
}

/* Those who stay, in their order, meet anew. */
static int shrink(struct nccl_job *job)
{
	struct ring_comm *old = job->comm->ring, *ring;
	int size = 0, place = 0, first = -1;
	for (int rank = 0; rank < ring_comm_size(old); rank++) {
		if (is_excluded(job, rank))
			continue;
		first = first < 0 ? rank : first;
		place += rank < ring_comm_rank(old);
		size++;
	}
	if (is_excluded(job, ring_comm_rank(old)))
		return nccl_refuse(NCCL_INVALID_ARGUMENT,
				   "ncclCommShrink: rank %d is among those that are excluded",
				   ring_comm_rank(old));
	int result = spread_id(job, old, first);
	if (!result)
		result = nccl_result_of(ring_comm_create(&ring, size, place, &job->id, NULL), NULL);
	return result ? result : hand_out(job, ring);
}

/* One that has failed tells its ranks nothing more, so its survivors cannot meet by it. */
NCCL_CALL(int, ncclCommShrink, struct ncclComm *comm, const int *excluded, int count,
	  struct ncclComm **made, const struct nccl_config *config, int flags)
{
	struct nccl_job job = {.run = shrink, .comm = comm, .made = made, .excluded_count = count};
	if (!excluded || count < 1)
		return nccl_group_note(
			nccl_refuse(NCCL_INVALID_ARGUMENT, "ncclCommShrink: no rank is excluded"));
	const struct ring_comm *ring = comm ? nccl_comm_ring(comm) : NULL;
	if (ring && ring_comm_status(ring))
		return nccl_group_note(nccl_refuse(
			NCCL_INVALID_USAGE,
			"ncclCommShrink%s: the communicator has failed: survivors meet by "
			"ncclCommInitRank() with a new id (%s)",
			flags & NCCL_SHRINK_ABORT ? " (NCCL_SHRINK_ABORT)" : "",
			ring_comm_error(ring)));
	job.excluded = malloc((size_t)count * sizeof(*excluded));
	if (!job.excluded)
		return nccl_group_note(nccl_refuse(NCCL_SYSTEM_ERROR, "no memory"));
	memcpy(job.excluded, excluded, (size_t)count * sizeof(*excluded));
	return derive(&job, config, "ncclCommShrink");
}

NCCL_CALL(int, ncclCommGetUniqueId, struct ncclComm *comm, struct ring_unique_id *id)
{
	int result = nccl_comm_enter(comm, "ncclCommGetUniqueId");
	if (result)
		return result;
	result = pncclGetUniqueId(id);
	nccl_comm_leave(comm);
	return result;
}

/* What each old rank tells the others. */
struct word {
	unsigned char knows;
	struct ring_unique_id id;
};

/* The old ranks learn the id of whoever has it, and all meet, the old ones at their places. */
static int grow(struct nccl_job *job)
{
	struct ring_comm *old = job->comm->ring, *ring;
	size_t size = (size_t)ring_comm_size(old);
	struct word mine = {.knows = job->knows_id, .id = job->id};
	struct word *words = malloc(size * sizeof(*words));
	if (!words)
		return nccl_refuse(NCCL_SYSTEM_ERROR, "ncclCommGrow: no memory");
	int err = ring_all_gather(old, &mine, words, sizeof(mine), RING_UINT8, NULL);
	int result = nccl_result_of(err, old);
	size_t root = 0;
	while (!result && root < size && !words[root].knows)
		root++;
	if (!result && root == size)
		result = nccl_refuse(NCCL_INVALID_ARGUMENT,
				     "ncclCommGrow: none of the ranks there were has the id");
	if (!result)
		result = nccl_result_of(ring_comm_create(&ring, job->size, ring_comm_rank(old),
							 &words[root].id, NULL),
					NULL);
	free(words);
	return result ? result : hand_out(job, ring);
}

NCCL_CALL(int, ncclCommGrow, struct ncclComm *comm, int size, const struct ring_unique_id *id,
	  int rank, struct ncclComm **made, const struct nccl_config *config)
{
	struct nccl_job job = {.run = grow, .comm = comm, .made = made, .size = size};
	if (!comm)
		return create_here(made, size, rank, id, config, "ncclCommGrow");
	if (size <= comm->size)
		return nccl_group_note(
			nccl_refuse(NCCL_INVALID_ARGUMENT,
				    "ncclCommGrow: %d ranks are no more than the %d there are",
				    size, comm->size));
	job.knows_id = id != NULL;
	if (id)
		job.id = *id;
	return derive(&job, config, "ncclCommGrow");
}

/* ---- ending one ------------------------------------------------------------------------------ */

NCCL_CALL(int, ncclCommFinalize, struct ncclComm *comm)
{
	int result = nccl_comm_enter(comm, "ncclCommFinalize");
	if (result)
		return nccl_group_note(result);
	result = nccl_comm_takes_calls(comm, "ncclCommFinalize");
	if (!result) {
		pthread_mutex_lock(&comm->lock);
		comm->finalized = true;
		pthread_mutex_unlock(&comm->lock);
		result = nccl_comm_flush(comm, comm->blocking);
	}
	nccl_comm_leave(comm);
	return result;
}

static int close_it(struct nccl_job *job)
{
	nccl_comm_close(job->comm);
	return NCCL_SUCCESS;
}

NCCL_CALL(int, ncclCommDestroy, struct ncclComm *comm)
{
	struct nccl_job job = {.run = close_it, .comm = comm, .ends = true};
	return comm ? nccl_job_submit(&job) : NCCL_SUCCESS;
}

NCCL_CALL(int, ncclCommAbort, struct ncclComm *comm)
{
	if (comm)
		nccl_comm_stop(comm);
	return pncclCommDestroy(comm);
}
