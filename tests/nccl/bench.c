/* SPDX-License-Identifier: MIT */
/* What a rank has; see bench.h. */
#include "bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANKS 4
#define BUFFER_BYTES ((size_t)RANKS * COUNT * 8)
#define PLACE_BYTES (2 * BUFFER_BYTES) /* send, recv */
#define UNTOUCHED 0xa5

void nccl_must(ncclResult_t result, const char *call, const char *file, int line)
{
	if (result == ncclSuccess)
		return;
	fprintf(stderr, "%s:%d: %s: %s: %s\n", file, line, call, ncclGetErrorString(result),
		ncclGetLastError(NULL));
	exit(99);
}

void bench_start(char **argv)
{
	setenv("RING_FAKE_CUDA_DEVICES", "4", 1);
	cuda_use_fake(argv);
	if (!cuda_open())
		exit(1);
}

/* Once in each process. */
static void initialise(void)
{
	CUDA_MUST(cuda.init(0));
}

ncclComm_t bench_join(struct bench *bench, ncclConfig_t *config)
{
	ncclUniqueId *id = bench->self->shared;
	ncclComm_t comm = NULL;
	harness_barrier(bench->self);
	if (bench->self->rank == 0)
		NCCL_MUST(ncclGetUniqueId(id));
	harness_barrier(bench->self);
	ncclResult_t result = config ? ncclCommInitRankConfig(&comm, bench->self->size, *id,
							      bench->self->rank, config)
				     : ncclCommInitRank(&comm, bench->self->size, *id,
							bench->self->rank);
	if (!result)
		return comm;
	harness_fail(bench->self, "%s: %s", ncclGetErrorString(result), ncclGetLastError(NULL));
	return NULL;
}

ncclResult_t bench_await(ncclComm_t comm)
{
	ncclResult_t state = ncclInProgress;
	for (int ms = 0; ms < 30000 && state == ncclInProgress; ms++) {
		NCCL_MUST(ncclCommGetAsyncError(comm, &state));
		usleep(1000);
	}
	return state;
}

/* Ranks take turns over two devices. */
int bench_open(struct bench *bench)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct CUctx_st *context;
	pthread_once(&once, initialise);
	bench->device = bench->self->rank % 2;
	CUDA_MUST(cuda.primary_retain(&context, bench->device));
	CUDA_MUST(cuda.context_set(context));
	CUDA_MUST(cuda.stream_create(&bench->stream, RING_CUDA_STREAM_NON_BLOCKING, 0));
	CUDA_MUST(cuda.stream_create(&bench->other, RING_CUDA_STREAM_NON_BLOCKING, 0));
	CUDA_MUST(cuda.memory_alloc((void **)&bench->far, KINDS * PLACE_BYTES));
	CUDA_MUST(cuda.memory_alloc(&bench->far_scalar, 8));
	CUDA_MUST(cuda.host_alloc((void **)&bench->in, KINDS * PLACE_BYTES, 0));
	CUDA_MUST(cuda.host_alloc((void **)&bench->out, KINDS * PLACE_BYTES, 0));
	CUDA_MUST(cuda.host_alloc((void **)&bench->scalar, 8, 0));
	bench->comm = bench_join(bench, NULL);
	return !bench->comm;
}

void bench_close(struct bench *bench)
{
	harness_barrier(bench->self);
	NCCL_MUST(ncclCommDestroy(bench->comm));
	harness_barrier(bench->self);
	CUDA_MUST(cuda.memory_free(bench->far));
	CUDA_MUST(cuda.memory_free(bench->far_scalar));
	CUDA_MUST(cuda.host_free(bench->in));
	CUDA_MUST(cuda.host_free(bench->out));
	CUDA_MUST(cuda.host_free(bench->scalar));
	CUDA_MUST(cuda.stream_destroy(bench->stream));
	CUDA_MUST(cuda.stream_destroy(bench->other));
}

void *bench_far(const struct bench *bench, int place)
{
	return bench->far + place * PLACE_BYTES;
}

void *bench_host(const struct bench *bench, int place)
{
	return bench->in + place * PLACE_BYTES;
}

static struct CUstream_st *stream_of(const struct bench *bench, int place)
{
	return place % 2 ? bench->other : bench->stream;
}

static void *recv_of(const struct bench *bench, int place)
{
	return (char *)bench_far(bench, place) + BUFFER_BYTES;
}

/* What is received must differ from what was there. A broadcast in place begins in the same buffer. */
void bench_give(struct bench *bench, const struct call *call, int place)
{
	char *in = bench_host(bench, place);
	size_t count = call->count * (size_t)call->size;
	memset(in + BUFFER_BYTES, UNTOUCHED, BUFFER_BYTES);
	write_input(call, bench->self->rank, count, in);
	if (call->kind == BCAST && bench->self->rank == call->root)
		write_input(call, bench->self->rank, call->count, in + BUFFER_BYTES);
	CUDA_MUST(cuda.memory_copy(bench_far(bench, place), in, PLACE_BYTES,
				   stream_of(bench, place)));
}

static ncclResult_t exchange(const struct bench *bench, const struct call *call, int place)
{
	int next = (bench->self->rank + 1) % call->size;
	int previous = (bench->self->rank + call->size - 1) % call->size;
	NCCL_MUST(ncclGroupStart());
	NCCL_MUST(ncclRecv(recv_of(bench, place), call->count, call->type, previous, bench->comm,
			   stream_of(bench, place)));
	NCCL_MUST(ncclSend(bench_far(bench, place), call->count, call->type, next, bench->comm,
			   stream_of(bench, place)));
	return ncclGroupEnd();
}

static ncclResult_t make_call(const struct bench *bench, const struct call *call, int place)
{
	const void *send = bench_far(bench, place);
	void *recv = recv_of(bench, place);
	struct CUstream_st *stream = stream_of(bench, place);
	ncclComm_t comm = bench->comm;
	switch (call->kind) {
	case ALL_REDUCE:
		return ncclAllReduce(send, recv, call->count, call->type, call->op, comm, stream);
	case REDUCE:
		return ncclReduce(send, recv, call->count, call->type, call->op, call->root, comm,
				  stream);
	case REDUCE_SCATTER:
		return ncclReduceScatter(send, recv, call->count, call->type, call->op, comm,
					 stream);
	case ALL_GATHER:
		return ncclAllGather(send, recv, call->count, call->type, comm, stream);
	case BROADCAST:
		return ncclBroadcast(send, recv, call->count, call->type, call->root, comm, stream);
	case BCAST:
		return ncclBcast(recv, call->count, call->type, call->root, comm, stream);
	case GATHER:
		return ncclGather(send, recv, call->count, call->type, call->root, comm, stream);
	case SCATTER:
		return ncclScatter(send, recv, call->count, call->type, call->root, comm, stream);
	case ALL_TO_ALL:
		return ncclAlltoAll(send, recv, call->count, call->type, comm, stream);
	default:
		return exchange(bench, call, place);
	}
}

int bench_call(struct bench *bench, const struct call *call, int place)
{
	ncclResult_t result = make_call(bench, call, place);
	return result ? harness_fail(bench->self, "%s of %s: %s: %s", kind_names[call->kind],
				     type_names[call->type], ncclGetErrorString(result),
				     ncclGetLastError(bench->comm))
		      : 0;
}

int bench_look(struct bench *bench, const struct call *call, int place)
{
	static _Thread_local unsigned char should[BUFFER_BYTES];
	unsigned char *out = (unsigned char *)bench->out + place * PLACE_BYTES;
	CUDA_MUST(cuda.memory_copy(out, recv_of(bench, place), BUFFER_BYTES,
				   stream_of(bench, place)));
	CUDA_MUST(cuda.stream_synchronize(stream_of(bench, place)));
	memset(should, UNTOUCHED, sizeof(should));
	write_result(call, bench->self->rank, should);
	for (size_t byte = 0; byte < BUFFER_BYTES; byte++)
		if (out[byte] != should[byte])
			return harness_fail(
				bench->self,
				"%s of %s, %s: byte %zu, of element %zu, is %02x, not %02x",
				kind_names[call->kind], type_names[call->type],
				call->op < ncclNumOps ? op_names[call->op] : "pre-multiplied sum",
				byte, byte / type_bytes(call->type), out[byte], should[byte]);
	return 0;
}

int bench_check(struct bench *bench, const struct call *call)
{
	bench_give(bench, call, 0);
	return bench_call(bench, call, 0) || bench_look(bench, call, 0);
}
