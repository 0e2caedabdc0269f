/* SPDX-License-Identifier: MIT */
/*
 * A communicator as NCCL's callers have it: one of the library's, on the device that was current
 * when it was made; the program's streams, each with one of the library's behind it; and who is
 * inside its calls, so that any thread may abort it.
 */
#ifndef NCCL_COMM_H
#define NCCL_COMM_H

#include <pthread.h>

#include "abi.h"
#include "ringccl.h"

#define NCCL_STREAMS 32 /* that a communicator remembers while they have nothing to do */

struct CUctx_st;

/* One of the program's streams. */
struct nccl_stream {
	void *handle;
	pthread_t thread; /* whose default stream it is, if it is a thread's */
	struct ring_stream *ring;
};

/* A pre-multiplied sum. */
struct nccl_op {
	int number; /* the program's */
	int type;
	enum ring_op ring;  /* unless ... */
	const void *scalar; /* ... the scalar lies on the device; else NULL */
	struct nccl_op *next;
};

struct ncclComm {
	struct ring_comm *ring; /* NULL: it is not made yet, or that failed */
	int size, rank, device;
	struct CUctx_st *context; /* of the device, held */
	bool blocking;
	bool finalized;

	pthread_mutex_t lock;
	pthread_cond_t left; /* users are fewer */
	int users;           /* calls, groups and jobs that are inside it */
	int state;      /* NCCL_IN_PROGRESS while a job works on it, then what became of that */
	char *sentence; /* of state; NULL: there is none */
	bool aborted, orphan; /* the last user that leaves frees an orphan */

	struct nccl_stream *streams; /* [stream_count], with room for a power of two */
	int stream_count;
	struct nccl_op *ops;
	int next_op; /* behind those that are built in */
};

/*
 * Makes one that has no ring yet, on a device; in progress, with its maker inside. returns a result
 */
int nccl_comm_open(struct ncclComm **comm, int size, int rank, int device, bool blocking);

/*
 * Gives it what a job has made, and links it for streams of its device, on which the calling thread
 * is. returns a result
 */
int nccl_comm_adopt(struct ncclComm *comm, struct ring_comm *ring);

/* Its ring, for callers that are not inside; NULL: it has none yet. */
struct ring_comm *nccl_comm_ring(struct ncclComm *comm);

/*
 * A call begins: the communicator stays until it leaves. returns NCCL_SUCCESS; why it may not be
 * used, with the sentence
 */
int nccl_comm_enter(struct ncclComm *comm, const char *call);
void nccl_comm_leave(struct ncclComm *comm);

/* NCCL_SUCCESS, unless it was finalized. The caller is inside. */
int nccl_comm_takes_calls(const struct ncclComm *comm, const char *call);

/* One more inside, of a caller that is inside already. */
void nccl_comm_hold(struct ncclComm *comm);

/* A job begins; whoever asks learns that something is in progress. Otherwise as entering. */
int nccl_comm_begin(struct ncclComm *comm, const char *call);
/* It came to `result`, which one that does not block keeps. Leaves. */
void nccl_comm_end(struct ncclComm *comm, int result);

/*
 * Finds the stream's counterpart, or makes it. The caller is inside. returns a result
 */
int nccl_comm_stream(struct ncclComm *comm, void *handle, struct ring_stream **stream);

/*
 * Waits for all calls, or only looks: NCCL_IN_PROGRESS. returns a result, that of the first call
 * that failed
 */
int nccl_comm_flush(struct ncclComm *comm, bool waits);

/* Ends its calls on all ranks, those of other threads too, and refuses more. */
void nccl_comm_stop(struct ncclComm *comm);

/*
 * Waits for its calls and frees it. While others are inside one that was stopped it waits for them,
 * a second at most; then, or if it was not, whoever leaves last frees it.
 */
void nccl_comm_close(struct ncclComm *comm);

#endif
