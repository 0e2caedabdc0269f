/* SPDX-License-Identifier: MIT */
/*
 * A communicator as one rank holds it. create.c makes it, comm.c answers for it, collective.c turns
 * calls into plans, queue.c decides who runs them, progress.c runs them.
 */
#ifndef RING_COMM_H
#define RING_COMM_H

#include <pthread.h>

#include "channel.h"
#include "flag.h"
#include "lanes.h"
#include "options.h"
#include "rendezvous.h"
#include "watcher.h"

#define RING_CHANNELS_MAX 8

/* One collective call, from its arguments to its end. */
struct ring_call {
	enum ring_kind kind;
	struct ring_operands operands;
	uint64_t count;
	int root;
	struct ring_record record;
	struct ring_stream *stream; /* NULL: somebody waits for it */
	uint64_t position;          /* in stream */
	int result;
	bool done; /* under the queue's lock */
	struct ring_call *next;
};

struct ring_queue;

struct ring_comm {
	int size, rank;
	struct ring_config config;
	struct ring_placement placement; /* its order is the join's and gone with it ... */
	int *order;                      /* ... this copy is ours: position -> rank     */
	struct ring_watcher *watcher;
	struct ring_lanes *lanes;
	struct ring_join *join; /* while creating */
	struct ring_bell bell;
	struct ring_channel channels[RING_CHANNELS_MAX];
	int channel_count;
	struct ring_trace *trace;
	unsigned fork_generation;

	uint64_t sequence;       /* calls made; the caller's */
	pthread_mutex_t running; /* held by whoever runs a call */
	uint64_t current;        /* sequence of the call that runs, or ran last; under running */
	uint64_t calls;          /* completed; under running */
	struct ring_queue *queue;

	/* The first failure: failed is raised once failure is complete. */
	pthread_mutex_t failing;
	struct ring_flag failed;
	struct ring_failure failure;
	uint64_t failed_call;        /* the first call that it ends; 0: all */
	struct ring_failure refused; /* the last call that was refused; under failing */

	/* prev, next said goodbye, and when */
	struct ring_flag left[2];
	uint64_t left_ms[2];
};

/*
 * comm.c: makes the news the communicator's failure, unless there is one already, and tells the
 * other ranks if `tell`. Any thread. returns the failure that sticks
 */
int ring_comm_fail_with(struct ring_comm *comm, const struct ring_news *news, bool tell);

/* comm.c: the same for a failure that ends all calls, told to the others. */
__attribute__((format(printf, 4, 5))) int ring_comm_fail(struct ring_comm *comm, int err,
							 int culprit, const char *format, ...);

/* 0, or the failure that sticks. */
static inline int ring_comm_failed(const struct ring_comm *comm)
{
	return ring_flag_is_raised(&comm->failed) ? comm->failure.err : 0;
}

/*
 * 0, or the failure if it ends call number `call`. A mismatch ends none of the calls before it: all
 * ranks made those alike, so they complete.
 */
static inline int ring_comm_failed_in(const struct ring_comm *comm, uint64_t call)
{
	int err = ring_comm_failed(comm);
	return err && comm->failed_call <= call ? err : 0;
}

/* comm.c: callbacks for the lanes, owner is the communicator. */
void ring_comm_heard(void *owner, const struct ring_news *news);
void ring_comm_neighbour_left(void *owner, int rank);

/* comm.c: true if `peer` (-1: any neighbour) said goodbye at least grace_ms ago. */
bool ring_comm_departed(const struct ring_comm *comm, int peer, int grace_ms);

/* comm.c: adds to the failure's sentence what this rank was doing. */
void ring_comm_note_call(struct ring_comm *comm, const struct ring_call *call, int peer, int step);

/* comm.c: "rank 2 (host h, pid 123)" for a neighbour, "rank 2" for others. Returns text. */
#define RING_RANK_TEXT 128
const char *ring_comm_rank_text(const struct ring_comm *comm, int rank, char *text);

/* progress.c: runs one call to its end in this thread; comm->running is held. returns its result */
int ring_progress_run(struct ring_comm *comm, struct ring_call *call);

#endif
