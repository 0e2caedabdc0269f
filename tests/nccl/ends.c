/* SPDX-License-Identifier: MIT */
/* How communicators end: aborted, in a group, by ranks that differ or die. */
#include "checks.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static void *abort_it(void *comm)
{
	return (void *)(uintptr_t)ncclCommAbort(comm);
}

/*
 * The last rank makes no call, and ends its communicator when the others have: one thread of theirs
 * waits for its stream, another aborts.
 */
int check_aborted(struct bench *bench)
{
	ncclComm_t comm = bench_join(bench, NULL);
	pthread_t thread;
	void *result = NULL;
	if (!comm)
		return 1;
	harness_barrier(bench->self);
	if (bench->self->rank == bench->self->size - 1) {
		harness_barrier(bench->self);
		harness_barrier(bench->self);
		return ncclCommAbort(comm);
	}
	NCCL_MUST(ncclAllReduce(bench_far(bench, 0), bench_far(bench, 0), COUNT, ncclInt32, ncclSum,
				comm, bench->stream));
	harness_barrier(bench->self);
	pthread_create(&thread, NULL, abort_it, comm);
	CUDA_MUST(cuda.stream_synchronize(bench->stream));
	pthread_join(thread, &result);
	harness_barrier(bench->self);
	return result ? harness_fail(bench->self, "%s", ncclGetLastError(NULL)) : 0;
}

/* In a group, the way PyTorch does it. */
int check_ended_in_a_group(struct bench *bench)
{
	ncclComm_t first = bench_join(bench, NULL), second = bench_join(bench, NULL);
	if (!first || !second)
		return 1;
	NCCL_MUST(ncclGroupStart());
	NCCL_MUST(ncclAllReduce(bench_far(bench, 0), bench_far(bench, 0), COUNT, ncclInt32, ncclSum,
				second, bench->stream));
	NCCL_MUST(ncclCommAbort(first));
	NCCL_MUST(ncclCommDestroy(second));
	ncclResult_t result = ncclGroupEnd();
	CUDA_MUST(cuda.stream_synchronize(bench->stream));
	harness_barrier(bench->self);
	return result ? harness_fail(bench->self, "%s: %s", ncclGetErrorString(result),
				     ncclGetLastError(NULL))
		      : 0;
}

/* What one rank calls is not what the others do. */
int check_mismatched(struct bench *bench)
{
	ncclComm_t comm = bench_join(bench, NULL);
	if (!comm)
		return 1;
	size_t count = bench->self->rank ? COUNT : COUNT - 1;
	ncclAllReduce(bench_far(bench, 0), bench_far(bench, 0), count, ncclInt32, ncclSum, comm,
		      bench->stream); /* fails at once if the others' calls have already met */
	CUDA_MUST(cuda.stream_synchronize(bench->stream));
	ncclResult_t state, should = bench->self->size > 1 ? ncclInvalidUsage : ncclSuccess;
	NCCL_MUST(ncclCommGetAsyncError(comm, &state));
	int bad = 0;
	if (state != should)
		bad = harness_fail(bench->self, "%s, not %s", ncclGetErrorString(state),
				   ncclGetErrorString(should));
	if (should && !strstr(ncclGetLastError(comm), "all_reduce"))
		bad = harness_fail(bench->self, "which call? %s", ncclGetLastError(comm));
	harness_barrier(bench->self);
	NCCL_MUST(ncclCommAbort(comm));
	return bad;
}

/* A rank's process ends: the others hear who it was. */
int check_died(struct bench *bench)
{
	ncclComm_t comm = bench_join(bench, NULL);
	if (!comm)
		return 1;
	harness_barrier(bench->self); /* all have it */
	if (bench->self->rank == 1)
		_exit(0);
	ncclAllReduce(bench_far(bench, 0), bench_far(bench, 0), COUNT, ncclInt32, ncclSum, comm,
		      bench->stream);
	CUDA_MUST(cuda.stream_synchronize(bench->stream));
	ncclResult_t state;
	NCCL_MUST(ncclCommGetAsyncError(comm, &state));
	int bad = 0;
	if (state != ncclRemoteError || !strstr(ncclGetLastError(comm), "rank 1"))
		bad = harness_fail(bench->self, "%s: %s", ncclGetErrorString(state),
				   ncclGetLastError(comm));
	NCCL_MUST(ncclCommAbort(bench->comm)); /* as rank 1 is gone */
	NCCL_MUST(ncclCommAbort(comm));
	return bad;
}
