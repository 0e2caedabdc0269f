/* SPDX-License-Identifier: MIT */
/*
 * Copies and sets. Addresses say what is copied from where; copies reach all devices, whether or
 * not kernels do. Memory that is not pinned makes a copy wait for its stream. Those between host
 * and device have queues of their own.
 */
#include "fake.h"

#include <string.h>

static int run_copy(struct CUctx_st *context, struct fake_work *work)
{
	(void)context;
	void *dst = fake_memory_place(work->copy.dst, work->copy.bytes);
	const void *src = fake_memory_place(work->copy.src, work->copy.bytes);
	if (!dst || !src)
		return RING_CUDA_ILLEGAL_ADDRESS;
	memmove(dst, src, work->copy.bytes);
	fake_port_copies(work->copy.dst, work->copy.src, work->copy.bytes);
	return 0;
}

static int run_set(struct CUctx_st *context, struct fake_work *work)
{
	(void)context;
	void *dst = fake_memory_place(work->copy.dst, work->copy.bytes);
	if (!dst)
		return RING_CUDA_ILLEGAL_ADDRESS;
	memset(dst, work->copy.value, work->copy.bytes);
	return 0;
}

static bool is_pageable(const void *memory)
{
	struct fake_range range;
	return !fake_memory_is_far(memory) && !fake_memory_find(memory, &range);
}

static enum fake_engine engine_of(const void *dst, const void *src)
{
	if (!fake_memory_is_far(src))
		return fake_memory_is_far(dst) ? FAKE_TO_DEVICE : FAKE_KERNELS;
	return fake_memory_is_far(dst) ? FAKE_KERNELS : FAKE_FROM_DEVICE;
}

static int copy(const char *function, struct CUstream_st *handle, const struct fake_work *work,
		bool waits)
{
	struct CUstream_st *stream;
	int err = fake_stream_find(handle, &stream);
	if (!err && (!fake_memory_place(work->copy.dst, work->copy.bytes) ||
		     !fake_memory_place(work->copy.src, work->copy.bytes)))
		err = RING_CUDA_INVALID_VALUE;
	if (!err && work->copy.bytes)
		err = fake_submit(function, stream, work, NULL);
	if (!err && waits && !stream->captured)
		err = fake_job_await(stream->last, stream->context, function);
	return err;
}

int cuMemcpyAsync(void *dst, const void *src, size_t bytes, struct CUstream_st *stream)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	struct fake_work work = {.name = "copy",
				 .run = run_copy,
				 .engine = engine_of(dst, src),
				 .copy = {dst, src, bytes, 0}};
	bool waits = is_pageable(dst) || is_pageable(src);
	return fake_end(copy(__func__, stream, &work, waits));
}

int cuMemcpy(void *dst, const void *src, size_t bytes)
{
	int err = fake_begin(__func__, FAKE_CONTEXT | FAKE_SAFE);
	if (err)
		return err;
	struct fake_work work = {.name = "copy",
				 .run = run_copy,
				 .engine = engine_of(dst, src),
				 .copy = {dst, src, bytes, 0}};
	return fake_end(copy(__func__, RING_CUDA_STREAM_LEGACY, &work, true));
}

int cuMemsetD8Async(void *memory, unsigned char value, size_t bytes, struct CUstream_st *handle)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	struct fake_work work = {.name = "set",
				 .run = run_set,
				 .copy = {memory, memory, bytes, value}};
	err = is_pageable(memory) ? RING_CUDA_INVALID_VALUE : copy(__func__, handle, &work, false);
	return fake_end(err);
}
