/* SPDX-License-Identifier: MIT */
/* One thread that has a communicator on each of several devices. */
#include "checks.h"

#define DEVICES 4

struct part {
	ncclComm_t half;
	struct CUstream_st *stream;
	int32_t *far, *near;
};

static int check_part(struct bench *bench, const struct part *part, int rank, int32_t should)
{
	CUDA_MUST(cuda.stream_synchronize(part->stream));
	return *part->near == should ? 0
				     : harness_fail(bench->self, "device %d has %d, not %d", rank,
						    (int)*part->near, (int)should);
}

static void choose_device(int device)
{
	struct CUctx_st *context;
	CUDA_MUST(cuda.primary_retain(&context, device));
	CUDA_MUST(cuda.context_set(context));
}

static void make_parts(struct part parts[DEVICES])
{
	for (int rank = 0; rank < DEVICES; rank++) {
		choose_device(rank);
		CUDA_MUST(cuda.stream_create(&parts[rank].stream, RING_CUDA_STREAM_NON_BLOCKING, 0));
		CUDA_MUST(cuda.memory_alloc((void **)&parts[rank].far, sizeof(int32_t)));
		CUDA_MUST(cuda.host_alloc((void **)&parts[rank].near, sizeof(int32_t),
					  RING_CUDA_HOST_PORTABLE));
	}
}

static void add_up(struct part parts[DEVICES], const ncclComm_t *comms)
{
	for (int rank = 0; rank < DEVICES; rank++) {
		*parts[rank].near = 1 << rank;
		CUDA_MUST(cuda.memory_copy(parts[rank].far, parts[rank].near, sizeof(int32_t),
					   parts[rank].stream));
	}
	NCCL_MUST(ncclGroupStart());
	for (int rank = 0; rank < DEVICES; rank++)
		NCCL_MUST(ncclAllReduce(parts[rank].far, parts[rank].far, 1, ncclInt32, ncclSum,
					comms[rank], parts[rank].stream));
	NCCL_MUST(ncclGroupEnd());
	for (int rank = 0; rank < DEVICES; rank++)
		CUDA_MUST(cuda.memory_copy(parts[rank].near, parts[rank].far, sizeof(int32_t),
					   parts[rank].stream));
}

/* In a group whose end does not wait for them. */
static int create_all(struct bench *bench, ncclComm_t comms[DEVICES])
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclUniqueId id;
	int bad = 0;
	config.blocking = 0;
	NCCL_MUST(ncclGetUniqueId(&id));
	NCCL_MUST(ncclGroupStart());
	for (int rank = 0; rank < DEVICES; rank++) {
		choose_device(rank);
		NCCL_MUST(ncclCommInitRankConfig(&comms[rank], DEVICES, id, rank, &config));
	}
	if (ncclGroupEnd() != ncclInProgress)
		return harness_fail(bench->self, "a group of creations that do not block");
	for (int rank = 0; rank < DEVICES; rank++)
		bad |= bench_await(comms[rank]) != ncclSuccess;
	return bad;
}

int check_one_thread(struct bench *bench)
{
	struct part parts[DEVICES];
	ncclComm_t comms[DEVICES], halves[DEVICES];
	int backwards[DEVICES] = {3, 2, 1, 0}, device = -1, bad = 0;
	make_parts(parts);
	NCCL_MUST(ncclCommInitAll(comms, DEVICES, backwards));
	for (int rank = 0; rank < DEVICES; rank++) {
		NCCL_MUST(ncclCommCuDevice(comms[rank], &device));
		bad |= device != backwards[rank];
		NCCL_MUST(ncclCommDestroy(comms[rank]));
	}
	bad |= create_all(bench, comms);
	add_up(parts, comms);
	for (int rank = 0; rank < DEVICES; rank++)
		bad |= check_part(bench, &parts[rank], rank, 15);
	NCCL_MUST(ncclGroupStart());
	for (int rank = 0; rank < DEVICES; rank++)
		NCCL_MUST(ncclCommSplit(comms[rank], rank / 2, rank, &halves[rank], NULL));
	bad |= ncclGroupEnd() != ncclInProgress;
	for (int rank = 0; rank < DEVICES; rank++)
		bad |= bench_await(comms[rank]) != ncclSuccess;
	add_up(parts, halves);
	for (int rank = 0; rank < DEVICES; rank++)
		bad |= check_part(bench, &parts[rank], rank, rank < 2 ? 3 : 12);
	NCCL_MUST(ncclGroupStart());
	for (int rank = 0; rank < DEVICES; rank++) {
		NCCL_MUST(ncclCommFinalize(halves[rank]));
		NCCL_MUST(ncclCommDestroy(halves[rank]));
		NCCL_MUST(ncclCommDestroy(comms[rank]));
	}
	NCCL_MUST(ncclGroupEnd());
	return bad ? harness_fail(bench->self, "one thread with all devices") : 0;
}
