/* SPDX-License-Identifier: MIT */
/* What a rank of the program has: a device, two streams, memory, and a communicator of NCCL's. */
#ifndef BENCH_H
#define BENCH_H

#include "values.h"

#include "tests/cuda/driver.h"
#include "tests/harness.h"

#define COUNT 257

struct bench {
	struct harness_rank *self;
	ncclComm_t comm;
	int device;
	struct CUstream_st *stream, *other;
	char *far, *in, *out; /* of the device; pinned: a place for each kind of call */
	void *far_scalar;
	int64_t *scalar; /* pinned */
};

/* Ends the process if that is an error, saying what was called where. */
#define NCCL_MUST(call) nccl_must((call), #call, __FILE__, __LINE__)
void nccl_must(ncclResult_t result, const char *call, const char *file, int line);

/* Before all: starts the program anew with the fake driver. */
void bench_start(char **argv);

/* Both are for all ranks at the same time: no stream may wait for a call meanwhile. */
int bench_open(struct bench *bench);
void bench_close(struct bench *bench);

/* Another communicator of all ranks; NULL: it was said why not. */
ncclComm_t bench_join(struct bench *bench, ncclConfig_t *config);

/* What a communicator that does not block comes to. */
ncclResult_t bench_await(ncclComm_t comm);

/* Where things of a place are. */
void *bench_far(const struct bench *bench, int place);
void *bench_host(const struct bench *bench, int place);

/* Gives the stream the input, makes the call, waits for the result and looks at it. */
void bench_give(struct bench *bench, const struct call *call, int place);
int bench_call(struct bench *bench, const struct call *call, int place);
int bench_look(struct bench *bench, const struct call *call, int place);

/* All three. returns 0 if all is well */
int bench_check(struct bench *bench, const struct call *call);

#endif
