/* SPDX-License-Identifier: MIT */
/*
 * Two ranks of one thread, each on a device of its own, whose calls are ordered by CUDA streams: all
 * that they do is done in groups.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/device/twin.h"
#include "tests/harness.h"

#include "driver.h"

#define COUNT 5000
#define BYTES (COUNT * sizeof(int32_t))
#define PAIR 2

static int32_t value(int rank, int i)
{
	return (rank + 1) * 100000 + i;
}

/* What the thread has of each rank. */
struct half {
	struct ring_comm *comm;
	struct CUstream_st *handle;
	struct ring_stream *stream;
	int32_t *far, *near;
};

static int make_halves(struct harness_rank *self, struct half halves[PAIR])
{
	struct ring_options options;
	struct ring_unique_id id;
	struct CUctx_st *context;
	harness_options(self, &options);
	int err = ring_unique_id_create(&id);
	ring_group_start();
	for (int rank = 0; rank < PAIR && !err; rank++)
		err = ring_comm_create(&halves[rank].comm, PAIR, rank, &id, &options);
	int ended = ring_group_end();
	twin_end(twin_make(1)); /* the driver is begun with */
	for (int rank = 0; rank < PAIR; rank++) {
		struct half *half = &halves[rank];
		CUDA_MUST(cuda.primary_retain(&context, rank));
		CUDA_MUST(cuda.context_set(context));
		CUDA_MUST(cuda.memory_alloc((void **)&half->far, BYTES));
		CUDA_MUST(cuda.host_alloc((void **)&half->near, BYTES, RING_CUDA_HOST_PORTABLE));
		CUDA_MUST(cuda.stream_create(&half->handle, RING_CUDA_STREAM_NON_BLOCKING, 0));
	}
	return err || ended ? harness_fail(self, "%s", ring_comm_error(NULL)) : 0;
}

/* A call in the group that makes its stream is one too many: nothing of the group happens. */
static int order_halves(struct half halves[PAIR], bool too_many)
{
	ring_group_start();
	for (int rank = 0; rank < PAIR; rank++)
		ring_stream_from_cuda(halves[rank].comm, halves[rank].handle, &halves[rank].stream);
	int err = too_many ? ring_barrier(halves[0].comm, halves[0].stream) : 0;
	int ended = ring_group_end();
	if (!too_many)
		return ended;
	for (int rank = 0; rank < PAIR; rank++)
		ring_stream_destroy(halves[rank].stream);
	return err == RING_EINVAL && ended == RING_EINVAL ? 0 : RING_ESYSTEM;
}

static int run_halves(struct harness_rank *self)
{
	struct half halves[PAIR];
	int err = make_halves(self, halves);
	if (!err)
		err = order_halves(halves, true);
	if (!err)
		err = order_halves(halves, false);
	if (err)
		return harness_fail(self, "%s: %s", ring_strerror(err),
				    ring_comm_error(halves[0].comm));
	for (int rank = 0; rank < PAIR; rank++) {
		for (int i = 0; i < COUNT; i++)
			halves[rank].near[i] = value(rank, i);
		CUDA_MUST(cuda.memory_copy(halves[rank].far, halves[rank].near, BYTES,
					   halves[rank].handle));
	}
	ring_group_start();
	for (int rank = 0; rank < PAIR; rank++)
		ring_all_reduce(halves[rank].comm, halves[rank].far, halves[rank].far, COUNT,
				RING_INT32, RING_SUM, halves[rank].stream);
	err = ring_group_end();
	for (int rank = 0; rank < PAIR; rank++)
		CUDA_MUST(cuda.memory_copy(halves[rank].near, halves[rank].far, BYTES,
					   halves[rank].handle));
	for (int rank = 0; rank < PAIR; rank++) {
		CUDA_MUST(cuda.stream_synchronize(halves[rank].handle));
		for (int i = 0; i < COUNT && !err; i++)
			err = halves[rank].near[i] != value(0, i) + value(1, i);
		ring_stream_destroy(halves[rank].stream);
	}
	ring_comm_destroy(halves[0].comm);
	ring_comm_destroy(halves[1].comm);
	return err ? harness_fail(self, "%d: the sums are wrong", err) : 0;
}

int main(void)
{
	static const char *const engines[] = {"host", "kernel"};
	int failed = 0;
	printf("1..2\n");
	for (int i = 0; i < 2; i++) {
		struct harness one = {.world = &harness_worlds[1], .size = 1, .body = run_halves};
		snprintf(one.label, sizeof(one.label), "two ranks of one thread, by the %s",
			 engines[i]);
		setenv("RING_CUDA_ENGINE", engines[i], 1);
		failed |= harness_report(one.label, harness_run(&one));
	}
	return failed != 0;
}
