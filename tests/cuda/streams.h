/* SPDX-License-Identifier: MIT */
/*
 * What a rank has in stream_test, for calls on CUDA streams that are held meanwhile, and what the
 * test's files share.
 */
#ifndef CUDA_STREAMS_H
#define CUDA_STREAMS_H

#include <semaphore.h>
#include <string.h>

#include "tests/harness.h"

#include "driver.h"

#define COUNT 5000
#define BYTES (COUNT * sizeof(int32_t))
#define CALLS 6

/* What a rank has of CUDA. All memory comes before anything waits, and goes after that. */
struct bench {
	struct harness_rank *self;
	struct ring_comm *comm;
	struct CUstream_st *streams[2], *beside;
	struct CUevent_st *event;
	int32_t *far[4];       /* of the device */
	int32_t (*in)[COUNT];  /* pinned: what each call adds ... */
	int32_t (*out)[COUNT]; /* ... and what came of it */
	uint32_t *gate, gates; /* pinned; the host has opened so many */
	sem_t opened;
	bool by_function; /* streams cannot wait for words */
};

/* Ranks whose memory is the host's among those of devices. */
int streams_host_memory_of_one(struct bench *bench);
int streams_barriers_when_mixed(struct bench *bench);
int streams_links_and_barriers(struct bench *bench);

static inline int32_t value(int rank, int call, int i)
{
	return (rank + 1) * 100000 + call * 7919 + i;
}

static inline int32_t sum(int size, int call, int i)
{
	return size * (size + 1) / 2 * 100000 + size * (call * 7919 + i);
}

/* ---- holding a stream ------------------------------------------------------------------------ */

static inline void wait_for_post(void *opened)
{
	while (sem_wait(opened))
		;
}

/* One at a time. */
static inline void hold(struct bench *bench, struct CUstream_st *stream)
{
	bench->gates++;
	if (bench->by_function)
		CUDA_MUST(cuda.stream_host_function(stream, wait_for_post, &bench->opened));
	else
		CUDA_MUST(cuda.stream_wait_value(stream, bench->gate, bench->gates,
						 RING_CUDA_WAIT_GEQ));
}

static inline void let_go(struct bench *bench)
{
	if (bench->by_function)
		sem_post(&bench->opened);
	__atomic_store_n(bench->gate, bench->gates, __ATOMIC_RELEASE);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static inline struct ring_stream *order_by(struct bench *bench, void *handle)
{
	struct ring_stream *stream = NULL;
	if (ring_stream_from_cuda(bench->comm, handle, &stream))
		harness_fail(bench->self, "ring_stream_from_cuda: %s", ring_comm_error(bench->comm));
	return stream;
}

static inline int all_reduce(struct bench *bench, const void *send, void *recv,
			     struct ring_stream *stream)
{
	int err = ring_all_reduce(bench->comm, send, recv, COUNT, RING_INT32, RING_SUM, stream);
	return err ? harness_fail(bench->self, "%s", ring_comm_error(bench->comm)) : 0;
}

/* Puts the input there, adds, takes the result, and overwrites both: all by the stream's order. */
static inline int give_call(struct bench *bench, struct CUstream_st *handle,
			    struct ring_stream *stream, int call)
{
	int32_t *send = bench->far[0], *recv = call % 2 ? bench->far[0] : bench->far[1];
	CUDA_MUST(cuda.memory_copy(send, bench->in[call], BYTES, handle));
	int bad = all_reduce(bench, send, recv, stream);
	CUDA_MUST(cuda.memory_copy(bench->out[call], recv, BYTES, handle));
	CUDA_MUST(cuda.memory_set(recv, 0xee, BYTES, handle));
	CUDA_MUST(cuda.memory_set(send, 0xdd, BYTES, handle));
	return bad;
}

static inline int check_sum(struct bench *bench, const int32_t *is, int call, int factor)
{
	for (int i = 0; i < COUNT; i++)
		if (is[i] != factor * sum(bench->self->size, call, i))
			return harness_fail(bench->self, "call %d: element %d is %d, not %d", call,
					    i, is[i], factor * sum(bench->self->size, call, i));
	return 0;
}

static inline int check_refused(struct bench *bench, int is, int should, const char *word)
{
	const char *sentence = ring_comm_error(bench->comm);
	if (is == should && strstr(sentence, word))
		return 0;
	return harness_fail(bench->self, "%s, not %s with \"%s\": %s", ring_strerror(is),
			    ring_strerror(should), word, sentence);
}

#endif
