/* SPDX-License-Identifier: MIT */
/*
 * Progress of calls: what carry.c has started is advanced until every channel has sent and reduced
 * everything, and messages beside it. A rank that finds nothing to do looks again, yields or sleeps
 * (wait.h), and finds out whether it waits in vain.
 */
#ifndef RING_PROGRESS_H
#define RING_PROGRESS_H

#include "comm.h"
#include "tell.h"

/* How long this call has found nothing to do, and when it must end. All zero at first. */
struct ring_waiting {
	int looks;            /* empty looks in a row */
	uint64_t since_ms;    /* of the first one, about; 0: the clock was not read yet */
	uint64_t deadline_ms; /* 0: never */
	bool told;            /* the neighbours know which call it waits in */
	struct ring_telling telling;
};

/* From now on a queue attends to what runs; NULL: there is no queue any more. */
void ring_progress_attend(struct ring_comm *comm, ring_attend *attend);

/*
 * Advances collective and messages, until what comm->run.current has started is done; with none,
 * until comm->run.leaves. Blocks. returns 0, or the failure, which the communicator knows
 */
int ring_progress_run(struct ring_comm *comm, struct ring_waiting *waiting);

#endif
