/* SPDX-License-Identifier: MIT */
/*
 * What the trainer calls of NVIDIA's driver, in whose library it looks once a run is to use a GPU:
 * nothing is linked. All calls return 0 or a number that train_cuda_failed() has a sentence for.
 */
#ifndef TRAIN_CUDA_DRIVER_H
#define TRAIN_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#define TRAIN_CUDA_LIBRARY "libcuda.so.1"

/* X(name, symbol in the library, parameters) */
#define TRAIN_CUDA_CALLS(X)                                                                         \
	X(init, cuInit, (unsigned flags))                                                           \
	X(error_name, cuGetErrorName, (int result, const char **name))                              \
	X(error_text, cuGetErrorString, (int result, const char **text))                            \
	X(device_count, cuDeviceGetCount, (int *count))                                             \
	X(device_get, cuDeviceGet, (int *device, int ordinal))                                      \
	X(device_name, cuDeviceGetName, (char *name, int room, int device))                         \
	X(context_retain, cuDevicePrimaryCtxRetain, (void **context, int device))                   \
	X(context_release, cuDevicePrimaryCtxRelease_v2, (int device))                              \
	X(context_set, cuCtxSetCurrent, (void *context))                                            \
	X(memory_alloc, cuMemAlloc_v2, (void **memory, size_t bytes))                               \
	X(memory_free, cuMemFree_v2, (void *memory))                                                \
	X(memory_copy, cuMemcpyAsync, (void *to, const void *from, size_t bytes, void *stream))     \
	X(memory_set, cuMemsetD8Async,                                                              \
	  (void *memory, unsigned char value, size_t bytes, void *stream))                          \
	X(stream_create, cuStreamCreateWithPriority, (void **stream, unsigned flags, int priority)) \
	X(stream_destroy, cuStreamDestroy_v2, (void *stream))                                       \
	X(stream_synchronize, cuStreamSynchronize, (void *stream))                                  \
	X(stream_wait_event, cuStreamWaitEvent, (void *stream, void *event, unsigned flags))        \
	X(event_create, cuEventCreate, (void **event, unsigned flags))                              \
	X(event_destroy, cuEventDestroy_v2, (void *event))                                          \
	X(event_record, cuEventRecord, (void *event, void *stream))                                 \
	X(event_elapsed, cuEventElapsedTime, (float *milliseconds, void *from, void *to))           \
	X(module_load, cuModuleLoadData, (void **module, const void *image))                        \
	X(module_unload, cuModuleUnload, (void *module))                                            \
	X(module_function, cuModuleGetFunction, (void **function, void *module, const char *name))  \
	X(function_attribute, cuFuncGetAttribute, (int *value, int attribute, void *function))      \
	X(launch, cuLaunchKernel,                                                                   \
	  (void *function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,                 \
	   unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,       \
	   void *stream, void **arguments, void **extra))

struct train_cuda_driver {
#define TRAIN_CUDA_MEMBER(name, symbol, parameters) int(*name) parameters;
	TRAIN_CUDA_CALLS(TRAIN_CUDA_MEMBER)
#undef TRAIN_CUDA_MEMBER
};

enum {
	TRAIN_CUDA_STREAM_NON_BLOCKING = 1, /* does not wait for the legacy stream */
	TRAIN_CUDA_LOCAL_BYTES = 3,         /* of a function; to ask loads it */
};

/* Opened and started once. returns NULL with a sentence on stderr */
const struct train_cuda_driver *train_cuda_driver(void);

/* Says on stderr what failed, unless result is 0. */
bool train_cuda_failed(int result, const char *doing);

#endif
