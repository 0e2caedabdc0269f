/* SPDX-License-Identifier: MIT */
/* What a rank has of CUDA and of the library, for calls on two CUDA streams. */
#ifndef CUDA_BENCH_H
#define CUDA_BENCH_H

#include <stddef.h>

#include "tests/harness.h"

#include "driver.h"

struct check; /* what a program tries there */

struct bench {
	struct harness_rank *self;
	const struct check *check;
	struct ring_comm *comm;
	struct CUstream_st *handles[2];
	struct ring_stream *streams[2]; /* ordered by these */
	char *send, *recv, *other;      /* of the device, of `room` bytes each */
	void *near, *near_other;        /* pinned, likewise */
};

/* Once there is a communicator. returns 0; 1: it has said why */
int bench_furnish(struct bench *bench, size_t room);

/* Streams and communicator; the memory goes with the process. */
void bench_leave(struct bench *bench);

/* The connections that there are; shuts all others, which bench_furnish() has made since. */
void bench_note_connections(void);
void bench_break_connections(void);

/* Has the rank fail, with the communicator's sentence. returns 1 */
int bench_say(const struct bench *bench, const char *what);

/* Between the device and the host; both streams' work may go on. */
void bench_copy(const struct bench *bench, void *to, const void *from, size_t bytes);

#endif
