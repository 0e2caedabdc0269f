/* SPDX-License-Identifier: MIT */
/* A stream of CUDA's, made as programs make theirs: by the driver, not by a communicator. */
#ifndef PERF_CUDA_STREAM_H
#define PERF_CUDA_STREAM_H

#include <stddef.h>

struct perf_cuda_stream {
	const struct ring_cuda_driver *driver; /* NULL: there is none */
	struct CUstream_st *handle;            /* a cudaStream_t */
	int chip;
};

/*
 * Makes the chip's primary context the calling thread's, and a stream there. returns 0;
 * RING_ENOTSUP, RING_ENOMEM, RING_ESYSTEM: `why` says why. It is closed in any case.
 */
int perf_cuda_stream_open(struct perf_cuda_stream *stream, int chip, char *why, size_t room);

/* By the same thread, once nothing of the library's has the stream. */
void perf_cuda_stream_close(struct perf_cuda_stream *stream);

#endif
