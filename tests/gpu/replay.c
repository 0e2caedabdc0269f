/* SPDX-License-Identifier: MIT */
/*
 * An all-reduce of 8 bytes that GPUs carry out by themselves, in a graph that is launched again and
 * again: whether it is right, and how long one takes. A rank that a launcher started:
 *
 *	RING_CUDA_ENGINE=kernel ring_run -n 2 tests/gpu/replay [SAMPLES]    101 if not said
 *
 * Rank 0 prints JSON. A graph of one call has the host's launch in its time, as far as that takes
 * longer than the call; one of many shows the call.
 */
#include <stdio.h>
#include <stdlib.h>

#include "gpu.h"
#include "ringccl.h"

#define COUNT 2    /* elements of int32_t */
#define REPLAYS 50 /* of a sample */
#define SAMPLES_MOST 10000

struct rank {
	struct ring_comm *comm;
	int number, size;
	struct CUstream_st *handle;
	struct ring_stream *stream;
	int32_t *send, *recv; /* of the device */
	int32_t *near;        /* pinned */
};

static int fail(const struct rank *rank, const char *what)
{
	fprintf(stderr, "%s: %s\n", what, ring_comm_error(rank->comm));
	return 1;
}

/* Ranks take the devices in turn. */
static int open_rank(struct rank *rank)
{
	struct gpu gpu;
	const char *why;
	const int devices = gpu_find(&why);
	if (!devices) {
		printf("%s\n", why);
		return 77;
	}
	if (ring_comm_create_from_env(&rank->comm, NULL))
		return fail(rank, "a communicator");
	rank->number = ring_comm_rank(rank->comm);
	rank->size = ring_comm_size(rank->comm);
	gpu_open(&gpu, rank->number % devices);
	rank->handle = gpu_stream(0);
	rank->send = gpu_memory(COUNT * sizeof(int32_t));
	rank->recv = gpu_memory(COUNT * sizeof(int32_t));
	rank->near = gpu_pinned(COUNT * sizeof(int32_t));
	return ring_stream_from_cuda(rank->comm, rank->handle, &rank->stream)
		       ? fail(rank, "a stream")
		       : 0;
}

static void copy(const struct rank *rank, void *to, const void *from)
{
	CUDA_MUST(cuda.memory_copy(to, from, COUNT * sizeof(int32_t), rank->handle));
	CUDA_MUST(cuda.stream_synchronize(rank->handle));
}

/* returns NULL: it has said why */
static struct CUgraphExec_st *capture(const struct rank *rank, int calls)
{
	struct CUgraph_st *graph;
	struct CUgraphExec_st *exec;
	int err = 0;
	CUDA_MUST(cuda.capture_begin(rank->handle, CUDA_CAPTURE_GLOBAL));
	for (int call = 0; call < calls && !err; call++)
		err = ring_all_reduce(rank->comm, rank->send, rank->recv, COUNT, RING_INT32,
				      RING_SUM, rank->stream);
	CUDA_MUST(cuda.capture_end(rank->handle, &graph));
	CUDA_MUST(cuda.graph_instantiate(&exec, graph, 0));
	CUDA_MUST(cuda.graph_destroy(graph));
	if (!err)
		return exec;
	fail(rank, "a call that is captured");
	return NULL;
}

/* Behind one by which all are there. returns seconds of one; less than 0: it was wrong, and has said so */
static double sample(const struct rank *rank, struct CUgraphExec_st *exec, int number)
{
	int sum = 0;
	for (int i = 0; i < COUNT; i++)
		rank->near[i] = rank->number + number + i;
	copy(rank, rank->send, rank->near);
	CUDA_MUST(cuda.graph_launch(exec, rank->handle));
	CUDA_MUST(cuda.stream_synchronize(rank->handle));
	const double began = gpu_clock();
	for (int i = 0; i < REPLAYS; i++)
		CUDA_MUST(cuda.graph_launch(exec, rank->handle));
	CUDA_MUST(cuda.stream_synchronize(rank->handle));
	const double took = gpu_clock() - began;
	copy(rank, rank->near, rank->recv);
	for (int other = 0; other < rank->size; other++)
		sum += other + number;
	for (int i = 0; i < COUNT; i++)
		if (rank->near[i] != sum + rank->size * i) {
			fprintf(stderr, "sample %d: element %d is %d, not %d; %s\n", number, i,
				rank->near[i], sum + rank->size * i, ring_comm_error(rank->comm));
			return -1;
		}
	return took / REPLAYS;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* returns 0 if all were right */
static int measure(const struct rank *rank, int calls, int samples)
{
	static double took[SAMPLES_MOST];
	struct CUgraphExec_st *exec = capture(rank, calls);
	if (!exec)
		return 1;
	for (int i = 0; i < samples; i++) {
		took[i] = sample(rank, exec, i);
		if (took[i] < 0)
			return 1;
	}
	qsort(took, (size_t)samples, sizeof(took[0]), compare);
	if (rank->number == 0)
		printf("%s{\"calls\": %d, \"replays\": %d, \"samples\": %d, \"least_us\": %.3f, "
		       "\"median_us\": %.3f, \"most_us\": %.3f}",
		       calls > 1 ? ", " : "", calls, REPLAYS, samples, took[0] * 1e6,
		       took[samples / 2] * 1e6, took[samples - 1] * 1e6);
	CUDA_MUST(cuda.graph_exec_destroy(exec));
	return 0;
}

int main(int argc, char **argv)
{
	struct rank rank = {0};
	const long samples = argc > 1 ? strtol(argv[1], NULL, 10) : 101;
	if (samples < 1 || samples > SAMPLES_MOST) {
		fprintf(stderr, "usage: replay [SAMPLES]\n");
		return 2;
	}
	int status = open_rank(&rank);
	if (status)
		return status;
	if (rank.number == 0)
		printf("{\"ranks\": %d, \"bytes\": %zu, \"graphs\": [", rank.size,
		       COUNT * sizeof(int32_t));
	status = measure(&rank, 1, (int)samples) || measure(&rank, 20, (int)samples);
	if (rank.number == 0)
		printf("]}\n");
	ring_stream_destroy(rank.stream);
	ring_comm_destroy(rank.comm);
	return status;
}
