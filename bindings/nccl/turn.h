/* SPDX-License-Identifier: MIT */
/*
 * What every call on a stream has before and behind it: the communicator is entered, the stream
 * found, the library's group opened if the thread has one; and what came of it told in NCCL's way.
 */
#ifndef NCCL_TURN_H
#define NCCL_TURN_H

#include "comm.h"

struct nccl_turn {
	struct ncclComm *comm;
	struct ring_comm *ring; /* its */
	struct ring_stream *stream;
	void *handle; /* the program's stream */
	int op;
	bool made_op; /* for this call only */
};

/* returns NCCL_SUCCESS: make the call, then end the turn; else a result, which is the call's */
int nccl_turn_begin(struct nccl_turn *turn, const char *call, struct ncclComm *comm, void *stream);

/* Of a call that reduces: a scalar of the device's is read now, which waits for the stream. */
int nccl_turn_begin_op(struct nccl_turn *turn, const char *call, int op, struct ncclComm *comm,
		       void *stream);

/* `err` is what the library's call returned. returns the call's result */
int nccl_turn_end(struct nccl_turn *turn, int err);

#endif
