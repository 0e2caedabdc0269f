/* SPDX-License-Identifier: MIT */
/* The driver; see device.h. It is the one that the library has opened, with the same sentences. */
#include "device.h"

#include "error.h"
#include "kernels/cuda/driver.h"

static const struct ring_cuda_driver *find_driver(void)
{
	struct ring_failure failure = {0};
	const struct ring_cuda_driver *driver = ring_cuda_driver(&failure);
	if (!driver)
		nccl_refuse(NCCL_CUDA_ERROR, "%s", failure.text);
	return driver;
}

static int result_of(int result, const char *doing)
{
	struct ring_failure failure = {0};
	return ring_cuda_error(result, doing, &failure)
		       ? nccl_refuse(NCCL_CUDA_ERROR, "%s", failure.text)
		       : NCCL_SUCCESS;
}

int nccl_device_current(int *device)
{
	const struct ring_cuda_driver *driver = find_driver();
	struct CUctx_st *context = NULL;
	if (!driver)
		return NCCL_CUDA_ERROR;
	int result = driver->context_current(&context);
	*device = 0;
	if (!result && context)
		result = driver->context_device(device);
	return result_of(result, "asking for the thread's device");
}

int nccl_device_count(int *count)
{
	const struct ring_cuda_driver *driver = find_driver();
	return driver ? result_of(driver->device_count(count), "counting devices") : NCCL_CUDA_ERROR;
}

int nccl_device_hold(int device, struct CUctx_st **context)
{
	const struct ring_cuda_driver *driver = find_driver();
	return driver ? result_of(driver->primary_retain(context, device), "opening the device")
		      : NCCL_CUDA_ERROR;
}

void nccl_device_let_go(int device)
{
	const struct ring_cuda_driver *driver = find_driver();
	if (driver)
		driver->primary_release(device);
}

int nccl_device_enter(struct CUctx_st *context)
{
	return result_of(find_driver()->context_push(context), "entering the device's context");
}

void nccl_device_leave(void)
{
	struct CUctx_st *context;
	find_driver()->context_pop(&context);
}

int nccl_device_stream(struct CUstream_st **stream)
{
	return result_of(find_driver()->stream_create(stream, RING_CUDA_STREAM_NON_BLOCKING, 0),
			 "creating a stream");
}

void nccl_device_stream_end(struct CUstream_st *stream)
{
	find_driver()->stream_destroy(stream);
}

int nccl_device_read(void *host, const void *memory, size_t bytes, void *stream)
{
	const struct ring_cuda_driver *driver = find_driver();
	int result = driver->memory_copy(host, memory, bytes, stream);
	if (!result)
		result = driver->stream_synchronize(stream);
	return result_of(result, "reading a scalar");
}

int nccl_device_alloc(void **memory, size_t bytes)
{
	const struct ring_cuda_driver *driver = find_driver();
	return driver ? result_of(driver->memory_alloc(memory, bytes), "allocating memory")
		      : NCCL_CUDA_ERROR;
}

int nccl_device_free(void *memory)
{
	const struct ring_cuda_driver *driver = find_driver();
	return driver ? result_of(driver->memory_free(memory), "freeing memory") : NCCL_CUDA_ERROR;
}
