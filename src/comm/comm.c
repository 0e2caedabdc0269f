/* SPDX-License-Identifier: MIT */
/* What a communicator tells about itself, but for counters (stats.c). */
#include "comm.h"

int ring_comm_check(const struct ring_comm *comm, const char *call)
{
	if (!comm)
		return ring_refuse(RING_EINVAL, "%s: comm is NULL", call);
	if (!ring_team_is_mine(&comm->team))
		return ring_refuse(
			RING_EINVAL,
			"%s: this communicator belongs to the parent process; a child of "
			"fork() must create its own",
			call);
	return 0;
}

int ring_comm_size(const struct ring_comm *comm)
{
	return comm ? comm->team.size : ring_comm_check(comm, "ring_comm_size");
}

int ring_comm_rank(const struct ring_comm *comm)
{
	return comm ? comm->team.rank : ring_comm_check(comm, "ring_comm_rank");
}

int ring_comm_status(const struct ring_comm *comm)
{
	int err = ring_comm_check(comm, "ring_comm_status");
	if (!err)
		ring_kernels_look(&comm->kernels, (struct ring_comm_failure *)&comm->failure);
	return err ? err : ring_comm_failed(&comm->failure);
}

/*
 * The sentence may still grow while a call ends, so readers get a copy. A child of fork() may find
 * the lock taken for good; what it was refused is in its thread.
 */
const char *ring_comm_error(const struct ring_comm *comm)
{
	static _Thread_local char copy[RING_FAILURE_TEXT];
	if (!comm || !ring_team_is_mine(&comm->team))
		return ring_failure_remembered();
	ring_comm_sentence((struct ring_comm_failure *)&comm->failure, copy);
	return copy;
}

int ring_comm_abort(struct ring_comm *comm)
{
	int err = ring_comm_check(comm, "ring_comm_abort");
	if (err)
		return err;
	ring_comm_fail(&comm->failure, RING_EABORTED, comm->team.rank,
		       "rank %d aborted the communicator", comm->team.rank);
	return 0;
}
