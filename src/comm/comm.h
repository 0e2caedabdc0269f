/* SPDX-License-Identifier: MIT */
/*
 * A communicator as one rank holds it, in parts by owner, each with a header of its own. create.c
 * makes it, comm.c answers for it, submit.c takes calls, group.c collects them, queue.c decides who
 * runs them, carry.c turns them into plans and runs those.
 */
#ifndef RING_COMM_H
#define RING_COMM_H

#include "caller.h"
#include "team/failure.h"
#include "team/kernels.h"
#include "team/links.h"
#include "team/memory.h"
#include "team/roll.h"
#include "run.h"
#include "team/team.h"

struct ring_comm {
	struct ring_team team;            /* nobody's any more: it stays as it was created */
	struct ring_links links;          /* creation's */
	struct ring_comm_failure failure; /* any thread's, with a lock */
	struct ring_roll roll;            /* any thread's, with a lock */
	struct ring_caller caller;        /* of the thread that makes calls */
	struct ring_comm_memory memory;   /* the caller's, but what is lent */
	struct ring_kernels kernels;      /* the caller's; how they end is for the running thread */
	struct ring_run run;              /* of the thread that carries calls out */

	struct ring_comm *next_living, **living; /* farewell.c's list */
};

/* comm.c: whether this process may use it in `call`. returns 0; RING_EINVAL, with the sentence */
int ring_comm_check(const struct ring_comm *comm, const char *call);

/* collective.c: an all-gather of bytes that is the library's own, as traces say. */
int ring_all_gather_own(struct ring_comm *comm, const void *send, void *recv, size_t bytes,
			struct ring_stream *stream);

/*
 * carry.c: carries out a call, and those together with it, in this thread; one thread at a time.
 * returns their result
 */
int ring_carry(struct ring_comm *comm, struct ring_call *call);

#endif
