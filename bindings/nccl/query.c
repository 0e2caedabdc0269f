/* SPDX-License-Identifier: MIT */
/* What communicators and the library say of themselves. */
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "error.h"

NCCL_CALL(int, ncclGetVersion, int *version)
{
	if (!version)
		return nccl_refuse(NCCL_INVALID_ARGUMENT, "ncclGetVersion: version is NULL");
	*version = NCCL_VERSION_HERE;
	return NCCL_SUCCESS;
}

/* A communicator's own failure, or that of its last job; else the thread's last. */
NCCL_CALL(const char *, ncclGetLastError, struct ncclComm *comm)
{
	if (!comm)
		return nccl_last_sentence();
	pthread_mutex_lock(&comm->lock);
	const struct ring_comm *ring = comm->ring;
	const char *sentence = comm->sentence;
	pthread_mutex_unlock(&comm->lock);
	if (ring && ring_comm_status(ring))
		return ring_comm_error(ring);
	return sentence ? sentence : nccl_last_sentence();
}

/* What it is in the middle of, else what ended it, else what its last job came to. */
static int state_of(struct ncclComm *comm)
{
	pthread_mutex_lock(&comm->lock);
	int state = comm->state;
	bool flushes = comm->finalized && !comm->blocking;
	pthread_mutex_unlock(&comm->lock);
	const struct ring_comm *ring = nccl_comm_ring(comm);
	if (state == NCCL_IN_PROGRESS || !ring)
		return state;
	int err = ring_comm_status(ring);
	if (err || state)
		return err ? nccl_result_of_code(err) : state;
	return flushes ? nccl_comm_flush(comm, false) : NCCL_SUCCESS;
}

NCCL_CALL(int, ncclCommGetAsyncError, struct ncclComm *comm, int *state)
{
	if (!comm || !state)
		return nccl_refuse(NCCL_INVALID_ARGUMENT, "ncclCommGetAsyncError: %s is NULL",
				   comm ? "asyncError" : "comm");
	*state = state_of(comm);
	return NCCL_SUCCESS;
}

static int tell(const struct ncclComm *comm, const char *call, int *told, int value)
{
	if (!comm || !told)
		return nccl_refuse(NCCL_INVALID_ARGUMENT, "%s: %s is NULL", call,
				   comm ? "the result" : "comm");
	*told = value;
	return NCCL_SUCCESS;
}

NCCL_CALL(int, ncclCommCount, const struct ncclComm *comm, int *size)
{
	return tell(comm, "ncclCommCount", size, comm ? comm->size : 0);
}

NCCL_CALL(int, ncclCommUserRank, const struct ncclComm *comm, int *rank)
{
	return tell(comm, "ncclCommUserRank", rank, comm ? comm->rank : 0);
}

NCCL_CALL(int, ncclCommCuDevice, const struct ncclComm *comm, int *device)
{
	return tell(comm, "ncclCommCuDevice", device, comm ? comm->device : 0);
}

NCCL_CALL(int, ncclCommQueryProperties, const struct ncclComm *comm, struct nccl_properties *told)
{
	const size_t head = offsetof(struct nccl_properties, rank);
	if (!comm || !told || told->magic != (uint32_t)NCCL_MAGIC || told->size < head)
		return nccl_refuse(NCCL_INVALID_ARGUMENT,
				   "ncclCommQueryProperties: comm is NULL, or the properties were "
				   "not initialized: begin with NCCL_COMM_PROPERTIES_INITIALIZER");
	struct nccl_properties properties = {.rank = comm->rank,
					     .size_of_comm = comm->size,
					     .device = comm->device,
					     .nvml_device = comm->device,
					     .load_store_teams = comm->size};
	size_t bytes = told->size < sizeof(properties) ? told->size : sizeof(properties);
	memcpy((char *)told + head, (char *)&properties + head, bytes - head);
	return NCCL_SUCCESS;
}

/* ---- memory that can be given back ----------------------------------------------------------- */

/* No buffers of the device are held between calls. */
NCCL_CALL(int, ncclCommMemStats, const struct ncclComm *comm, int which, uint64_t *value)
{
	if (!comm || !value || which < 0 || which > 3)
		return nccl_refuse(NCCL_INVALID_ARGUMENT,
				   "ncclCommMemStats: comm or value is NULL, or there is no "
				   "statistic %d",
				   which);
	*value = 0;
	return NCCL_SUCCESS;
}

static int do_nothing(struct ncclComm *comm, const char *call)
{
	int result = nccl_comm_enter(comm, call);
	if (!result)
		nccl_comm_leave(comm);
	return result;
}

NCCL_CALL(int, ncclCommSuspend, struct ncclComm *comm, int flags)
{
	(void)flags;
	return do_nothing(comm, "ncclCommSuspend");
}

NCCL_CALL(int, ncclCommResume, struct ncclComm *comm)
{
	return do_nothing(comm, "ncclCommResume");
}

/* ---- teams: ranks that reach one another's memory by loads and stores ------------------------ */

/* Every rank is such a team by itself. */
NCCL_CALL(struct nccl_team, ncclTeamLsa, const struct ncclComm *comm)
{
	(void)comm;
	return (struct nccl_team){.size = 1, .rank = 0, .stride = 1};
}

NCCL_CALL(struct nccl_team, ncclTeamCft, const struct ncclComm *comm, int mode)
{
	(void)mode;
	return pncclTeamLsa(comm);
}

NCCL_CALL(struct nccl_team, ncclTeamCftMultimem, const struct ncclComm *comm)
{
	return pncclTeamLsa(comm);
}

NCCL_CALL(struct nccl_team, ncclTeamWorld, const struct ncclComm *comm)
{
	return (struct nccl_team){.size = comm->size, .rank = comm->rank, .stride = 1};
}

NCCL_CALL(struct nccl_team, ncclTeamRail, const struct ncclComm *comm)
{
	return pncclTeamWorld(comm);
}

/* Where a rank of `team` is, as seen from this one. */
static int offset_of(struct nccl_team team, int rank)
{
	return (rank - team.rank) * team.stride;
}

NCCL_CALL(int, ncclTeamRankToWorld, const struct ncclComm *comm, struct nccl_team team, int rank)
{
	return comm->rank + offset_of(team, rank);
}

NCCL_CALL(int, ncclTeamRankToLsa, const struct ncclComm *comm, struct nccl_team team, int rank)
{
	(void)comm;
	return offset_of(team, rank);
}
