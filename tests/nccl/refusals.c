/* SPDX-License-Identifier: MIT */
/* Memory that is registered, and what is refused. */
#include "checks.h"

#include <string.h>

int check_memory(struct bench *bench)
{
	struct call call = {.type = ncclFloat32, .size = bench->self->size, .count = COUNT};
	void *made, *handle, *mine = NULL, *nothing = bench;
	ncclWindow_t window;
	NCCL_MUST(ncclMemAlloc(&nothing, 0));
	NCCL_MUST(ncclMemFree(nothing));
	NCCL_MUST(ncclMemAlloc(&made, 1 << 16));
	NCCL_MUST(ncclCommRegister(bench->comm, made, 1 << 16, &handle));
	NCCL_MUST(ncclCommWindowRegister(bench->comm, made, 1 << 16, &window,
					 NCCL_WIN_COLL_SYMMETRIC));
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 2)
	NCCL_MUST(ncclWinGetUserPtr(bench->comm, window, &mine));
#else
	mine = made;
#endif
	harness_barrier(bench->self);
	int bad = nothing || mine != made || bench_check(bench, &call);
	harness_barrier(bench->self);
	NCCL_MUST(ncclCommWindowDeregister(bench->comm, window));
	NCCL_MUST(ncclCommDeregister(bench->comm, handle));
	NCCL_MUST(ncclMemFree(made));
	harness_barrier(bench->self);
	return bad;
}

static int refused(struct bench *bench, ncclResult_t is, ncclResult_t should, const char *word)
{
	const char *sentence = ncclGetLastError(bench->comm);
	if (is == should && strstr(sentence, word))
		return 0;
	return harness_fail(bench->self, "%s, not %s with \"%s\": %s", ncclGetErrorString(is),
			    ncclGetErrorString(should), word, sentence);
}

/* Nothing of a group happens of which one call is wrong, and everything can go on. */
int check_refusals(struct bench *bench)
{
	void *far = bench_far(bench, 0);
	ncclComm_t comm = bench->comm;
	struct CUstream_st *stream = bench->stream;
	int version, size = bench->self->size, bad = 0;
	bad |= refused(bench, ncclAllReduce(far, far, 1, ncclInt32, ncclSum, NULL, stream),
		       ncclInvalidArgument, "comm is NULL");
	bad |= refused(bench, ncclAllReduce(far, NULL, 1, ncclInt32, ncclSum, comm, stream),
		       ncclInvalidArgument, "recv is NULL");
	bad |= refused(bench, ncclAllReduce(far, far, 1, ncclNumTypes, ncclSum, comm, stream),
		       ncclInvalidArgument, "not a datatype");
	bad |= refused(bench, ncclBroadcast(far, far, 1, ncclInt32, size, comm, stream),
		       ncclInvalidArgument, "root");
	bad |= refused(bench, ncclAllReduce(far, far, 1, ncclInt32, (ncclRedOp_t)5, comm, stream),
		       ncclInvalidArgument, "5 is not an operation");
	bad |= refused(bench, ncclGroupEnd(), ncclInvalidUsage, "no group open");
	NCCL_MUST(ncclGroupStart());
	NCCL_MUST(ncclAllReduce(far, far, 1, ncclInt32, ncclSum, comm, stream));
	bad |= refused(bench, ncclBroadcast(far, far, 1, ncclInt32, -1, comm, stream),
		       ncclInvalidArgument, "root");
	bad |= refused(bench, ncclGroupEnd(), ncclInvalidArgument, "root");
	bad |= refused(bench, ncclCommRevoke(comm, 0), ncclInvalidUsage, "ncclCommAbort");
	ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
	int32_t *mine = bench_host(bench, 0);
	*mine = 7;
	CUDA_MUST(cuda.memory_copy(far, mine, sizeof(*mine), stream));
	NCCL_MUST(ncclGroupStart());
	NCCL_MUST(ncclAllReduce(far, far, 1, ncclInt32, ncclSum, comm, stream));
	bad |= refused(bench, ncclGroupSimulateEnd(&info), ncclInvalidUsage, "not timed");
	CUDA_MUST(cuda.memory_copy(mine, far, sizeof(*mine), stream));
	CUDA_MUST(cuda.stream_synchronize(stream));
	bad |= *mine != 7;
	NCCL_MUST(ncclGetVersion(&version));
	struct call call = {.type = ncclInt8, .size = size, .count = COUNT};
	return bad || version < 22800 || bench_check(bench, &call);
}
