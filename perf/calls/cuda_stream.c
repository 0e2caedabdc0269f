/* SPDX-License-Identifier: MIT */
#include "cuda_stream.h"

#include <stdio.h>

#include "kernels/cuda/driver.h"

int perf_cuda_stream_open(struct perf_cuda_stream *stream, int chip, char *why, size_t room)
{
	struct ring_failure failure = {0};
	struct CUctx_st *context;
	*stream = (struct perf_cuda_stream){.chip = chip};
	const struct ring_cuda_driver *driver = ring_cuda_driver(&failure);
	int result = driver ? driver->primary_retain(&context, chip) : RING_CUDA_OK;
	if (driver && !result) {
		stream->driver = driver;
		result = driver->context_set(context);
	}
	if (driver && !result)
		result = driver->stream_create(&stream->handle, RING_CUDA_STREAM_NON_BLOCKING, 0);
	ring_cuda_error(result, "making a stream", &failure);
	if (failure.err)
		snprintf(why, room, "%s", failure.text);
	return failure.err;
}

void perf_cuda_stream_close(struct perf_cuda_stream *stream)
{
	const struct ring_cuda_driver *driver = stream->driver;
	if (driver && stream->handle)
		driver->stream_destroy(stream->handle);
	if (driver) {
		driver->context_set(NULL);
		driver->primary_release(stream->chip);
	}
	*stream = (struct perf_cuda_stream){0};
}
