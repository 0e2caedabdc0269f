/* SPDX-License-Identifier: MIT */
/*
 * What of NVIDIA's driver is called. Its library is opened when a device is first asked for and
 * nothing is linked, so one libringccl.so serves machines with and without it. The few types are
 * declared here: no header of CUDA is needed. Addresses are the same for host and device, so they
 * are pointers.
 */
#ifndef RING_CUDA_DRIVER_H
#define RING_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define RING_CUDA_LIBRARY "libcuda.so.1"

struct CUctx_st;    /* a context: what a process has on a device */
struct CUevent_st;  /* an event                                  */
struct CUfunc_st;   /* a kernel                                  */
struct CUmod_st;    /* a loaded image of kernels                 */
struct CUstream_st; /* a stream                                  */

/* What names an allocation to other processes of the host. */
struct ring_cuda_handle {
	char bytes[64];
};

/* Where physical memory lies, and who reaches it; all of these as the driver has them. */
struct ring_cuda_site {
	int kind; /* RING_CUDA_SITE_DEVICE */
	int id;
};

struct ring_cuda_physical {
	int kind;    /* RING_CUDA_PHYSICAL_PINNED */
	int handles; /* RING_CUDA_HANDLE_FD: it can have a descriptor */
	struct ring_cuda_site site;
	void *security; /* NULL */
	unsigned char compression, for_rdma, unused[6];
};

struct ring_cuda_access {
	struct ring_cuda_site site;
	int flags; /* RING_CUDA_READ_AND_WRITE */
};

/*
 * X(name, symbol in the library, parameters, arguments). All return 0 or one of enum
 * ring_cuda_result; a name that ends in _v2 has another, older form without it. The driver's manual
 * says what they do.
 */
#define RING_CUDA_CALLS(X)                                                                         \
	/* the library and its errors */                                                           \
	X(init, cuInit, (unsigned flags), (flags))                                                 \
	X(driver_version, cuDriverGetVersion, (int *version), (version))                           \
	X(error_name, cuGetErrorName, (int result, const char **name), (result, name))             \
	X(error_text, cuGetErrorString, (int result, const char **text), (result, text))           \
	/* devices */                                                                              \
	X(device_count, cuDeviceGetCount, (int *count), (count))                                   \
	X(device_get, cuDeviceGet, (int *device, int ordinal), (device, ordinal))                  \
	X(device_name, cuDeviceGetName, (char *name, int room, int device), (name, room, device))  \
	X(device_bus_id, cuDeviceGetPCIBusId, (char *id, int bytes, int device),                   \
	  (id, bytes, device))                                                                     \
	X(device_memory, cuDeviceTotalMem_v2, (size_t * bytes, int device), (bytes, device))       \
	X(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, int device),         \
	  (value, attribute, device))                                                              \
	X(device_reaches, cuDeviceCanAccessPeer, (int *can, int device, int peer),                 \
	  (can, device, peer))                                                                     \
	X(device_peer_attribute, cuDeviceGetP2PAttribute,                                          \
	  (int *value, int attribute, int device, int peer), (value, attribute, device, peer))     \
	/* contexts */                                                                             \
	X(primary_retain, cuDevicePrimaryCtxRetain, (struct CUctx_st * *context, int device),      \
	  (context, device))                                                                       \
	X(primary_release, cuDevicePrimaryCtxRelease_v2, (int device), (device))                   \
	X(primary_state, cuDevicePrimaryCtxGetState, (int device, unsigned *flags, int *active),   \
	  (device, flags, active))                                                                 \
	X(context_push, cuCtxPushCurrent_v2, (struct CUctx_st * context), (context))               \
	X(context_pop, cuCtxPopCurrent_v2, (struct CUctx_st * *context), (context))                \
	X(context_current, cuCtxGetCurrent, (struct CUctx_st * *context), (context))               \
	X(context_set, cuCtxSetCurrent, (struct CUctx_st * context), (context))                    \
	X(context_device, cuCtxGetDevice, (int *device), (device))                                 \
	X(context_synchronize, cuCtxSynchronize, (void), ())                                       \
	X(context_priorities, cuCtxGetStreamPriorityRange, (int *least, int *greatest),            \
	  (least, greatest))                                                                       \
	X(capture_mode, cuThreadExchangeStreamCaptureMode, (int *mode), (mode))                    \
	X(context_enable_peer, cuCtxEnablePeerAccess, (struct CUctx_st * peer, unsigned flags),    \
	  (peer, flags))                                                                           \
	/* memory of a device */                                                                   \
	X(memory_alloc, cuMemAlloc_v2, (void **memory, size_t bytes), (memory, bytes))             \
	X(memory_free, cuMemFree_v2, (void *memory), (memory))                                     \
	X(memory_info, cuMemGetInfo_v2, (size_t * free, size_t * total), (free, total))            \
	X(memory_range, cuMemGetAddressRange_v2, (void **start, size_t *bytes, void *memory),      \
	  (start, bytes, memory))                                                                  \
	X(memory_copy, cuMemcpyAsync,                                                              \
	  (void *dst, const void *src, size_t bytes, struct CUstream_st *stream),                  \
	  (dst, src, bytes, stream))                                                               \
	X(memory_set, cuMemsetD8Async,                                                             \
	  (void *memory, unsigned char value, size_t bytes, struct CUstream_st *stream),           \
	  (memory, value, bytes, stream))                                                          \
	/* memory of a device that other processes reach */                                        \
	X(memory_handle, cuIpcGetMemHandle, (struct ring_cuda_handle * handle, void *memory),      \
	  (handle, memory))                                                                        \
	X(handle_open, cuIpcOpenMemHandle_v2,                                                      \
	  (void **memory, struct ring_cuda_handle it, unsigned flags), (memory, it, flags))        \
	X(handle_close, cuIpcCloseMemHandle, (void *memory), (memory))                             \
	/* memory of the host that a device reaches */                                             \
	X(host_alloc, cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags),               \
	  (memory, bytes, flags))                                                                  \
	X(host_free, cuMemFreeHost, (void *memory), (memory))                                      \
	X(host_register, cuMemHostRegister_v2, (void *memory, size_t bytes, unsigned flags),       \
	  (memory, bytes, flags))                                                                  \
	X(host_unregister, cuMemHostUnregister, (void *memory), (memory))                          \
	X(host_address, cuMemHostGetDevicePointer_v2,                                              \
	  (void **address, void *memory, unsigned flags), (address, memory, flags))                \
	/* what a pointer points to */                                                             \
	X(pointer_attribute, cuPointerGetAttribute,                                                \
	  (void *value, int attribute, const void *memory), (value, attribute, memory))            \
	X(pointer_attributes, cuPointerGetAttributes,                                              \
	  (unsigned count, const int *attributes, void **values, const void *memory),              \
	  (count, attributes, values, memory))                                                     \
	/* streams */                                                                              \
	X(stream_create, cuStreamCreateWithPriority,                                               \
	  (struct CUstream_st * *stream, unsigned flags, int priority), (stream, flags, priority)) \
	X(stream_destroy, cuStreamDestroy_v2, (struct CUstream_st * stream), (stream))             \
	X(stream_query, cuStreamQuery, (struct CUstream_st * stream), (stream))                    \
	X(stream_synchronize, cuStreamSynchronize, (struct CUstream_st * stream), (stream))        \
	X(stream_priority, cuStreamGetPriority, (struct CUstream_st * stream, int *priority),      \
	  (stream, priority))                                                                      \
	X(stream_context, cuStreamGetCtx,                                                          \
	  (struct CUstream_st * stream, struct CUctx_st * *context), (stream, context))            \
	X(stream_capture, cuStreamGetCaptureInfo_v2,                                               \
	  (struct CUstream_st * stream, int *status, uint64_t *id, void *graph,                    \
	   void *dependencies, size_t *count),                                                     \
	  (stream, status, id, graph, dependencies, count))                                        \
	X(stream_wait_event, cuStreamWaitEvent,                                                    \
	  (struct CUstream_st * stream, struct CUevent_st * event, unsigned flags),                \
	  (stream, event, flags))                                                                  \
	X(stream_wait_value, cuStreamWaitValue32_v2,                                               \
	  (struct CUstream_st * stream, const uint32_t *word, uint32_t value, unsigned flags),     \
	  (stream, word, value, flags))                                                            \
	X(stream_write_value, cuStreamWriteValue32_v2,                                             \
	  (struct CUstream_st * stream, uint32_t * word, uint32_t value, unsigned flags),          \
	  (stream, word, value, flags))                                                            \
	X(stream_host_function, cuLaunchHostFunc,                                                  \
	  (struct CUstream_st * stream, void (*function)(void *context), void *context),           \
	  (stream, function, context))                                                             \
	/* events */                                                                               \
	X(event_create, cuEventCreate, (struct CUevent_st * *event, unsigned flags),               \
	  (event, flags))                                                                          \
	X(event_destroy, cuEventDestroy_v2, (struct CUevent_st * event), (event))                  \
	X(event_record, cuEventRecord, (struct CUevent_st * event, struct CUstream_st * stream),   \
	  (event, stream))                                                                         \
	X(event_query, cuEventQuery, (struct CUevent_st * event), (event))                         \
	X(event_synchronize, cuEventSynchronize, (struct CUevent_st * event), (event))             \
	X(event_elapsed, cuEventElapsedTime,                                                       \
	  (float *milliseconds, struct CUevent_st *from, struct CUevent_st *to),                   \
	  (milliseconds, from, to))                                                                \
	/* kernels */                                                                              \
	X(module_load, cuModuleLoadData, (struct CUmod_st * *module, const void *image),           \
	  (module, image))                                                                         \
	X(module_loading, cuModuleGetLoadingMode, (int *mode), (mode))                             \
	X(module_unload, cuModuleUnload, (struct CUmod_st * module), (module))                     \
	X(module_function, cuModuleGetFunction,                                                    \
	  (struct CUfunc_st * *function, struct CUmod_st * module, const char *name),              \
	  (function, module, name))                                                                \
	X(function_attribute, cuFuncGetAttribute,                                                  \
	  (int *value, int attribute, struct CUfunc_st *function), (value, attribute, function))   \
	X(function_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor,                            \
	  (int *blocks, struct CUfunc_st *function, int block_threads, size_t shared_bytes),       \
	  (blocks, function, block_threads, shared_bytes))                                         \
	X(launch, cuLaunchKernel,                                                                  \
	  (struct CUfunc_st * function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,   \
	   unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,      \
	   struct CUstream_st *stream, void **arguments, void **extra),                            \
	  (function, blocks_x, blocks_y, blocks_z, threads_x, threads_y, threads_z, shared_bytes,  \
	   stream, arguments, extra))

/*
 * Virtual memory management: physical memory, addresses, and who reaches it there, one by one. What
 * a driver does not have returns RING_CUDA_NOT_SUPPORTED.
 */
#define RING_CUDA_MAPPING_CALLS(X)                                                                 \
	X(physical_unit, cuMemGetAllocationGranularity,                                            \
	  (size_t * bytes, const struct ring_cuda_physical *what, int option),                     \
	  (bytes, what, option))                                                                   \
	X(physical_create, cuMemCreate,                                                            \
	  (uint64_t * physical, size_t bytes, const struct ring_cuda_physical *what,               \
	   uint64_t flags),                                                                        \
	  (physical, bytes, what, flags))                                                          \
	X(physical_release, cuMemRelease, (uint64_t physical), (physical))                         \
	X(physical_retain, cuMemRetainAllocationHandle, (uint64_t * physical, void *memory),       \
	  (physical, memory))                                                                      \
	X(physical_export, cuMemExportToShareableHandle,                                           \
	  (void *shared, uint64_t physical, int handle, uint64_t flags),                           \
	  (shared, physical, handle, flags))                                                       \
	X(physical_import, cuMemImportFromShareableHandle,                                         \
	  (uint64_t * physical, void *shared, int handle), (physical, shared, handle))             \
	X(addresses_reserve, cuMemAddressReserve,                                                  \
	  (void **start, size_t bytes, size_t alignment, void *wish, uint64_t flags),              \
	  (start, bytes, alignment, wish, flags))                                                  \
	X(addresses_free, cuMemAddressFree, (void *start, size_t bytes), (start, bytes))           \
	X(addresses_map, cuMemMap,                                                                 \
	  (void *start, size_t bytes, size_t offset, uint64_t physical, uint64_t flags),           \
	  (start, bytes, offset, physical, flags))                                                 \
	X(addresses_unmap, cuMemUnmap, (void *start, size_t bytes), (start, bytes))                \
	X(addresses_open, cuMemSetAccess,                                                          \
	  (void *start, size_t bytes, const struct ring_cuda_access *access, size_t count),        \
	  (start, bytes, access, count))

/* The driver's functions, by our names. */
struct ring_cuda_driver {
#define RING_CUDA_MEMBER(name, symbol, parameters, ...) int(*name) parameters;
	RING_CUDA_CALLS(RING_CUDA_MEMBER)
	RING_CUDA_MAPPING_CALLS(RING_CUDA_MEMBER)
#undef RING_CUDA_MEMBER
};

/* ---- numbers, which are fixed for all versions ----------------------------------------------- */

enum ring_cuda_result {
	RING_CUDA_OK = 0,
	RING_CUDA_INVALID_VALUE = 1,
	RING_CUDA_OUT_OF_MEMORY = 2,
	RING_CUDA_NOT_INITIALIZED = 3,
	RING_CUDA_DEINITIALIZED = 4, /* the process exits */
	RING_CUDA_STUB_LIBRARY = 34,
	RING_CUDA_DEVICE_UNAVAILABLE = 46,
	RING_CUDA_NO_DEVICE = 100,
	RING_CUDA_INVALID_DEVICE = 101,
	RING_CUDA_INVALID_IMAGE = 200,
	RING_CUDA_INVALID_CONTEXT = 201,
	RING_CUDA_MAP_FAILED = 205,
	RING_CUDA_NO_BINARY_FOR_GPU = 209,
	RING_CUDA_NO_PEER_ACCESS = 217,
	RING_CUDA_INVALID_PTX = 218,
	RING_CUDA_UNSUPPORTED_PTX_VERSION = 222,
	RING_CUDA_INVALID_HANDLE = 400,
	RING_CUDA_NOT_FOUND = 500,
	RING_CUDA_NOT_READY = 600, /* of an event: it has not happened yet */
	RING_CUDA_ILLEGAL_ADDRESS = 700,
	RING_CUDA_LAUNCH_OUT_OF_RESOURCES = 701,
	RING_CUDA_LAUNCH_TIMEOUT = 702,
	RING_CUDA_PEER_ALREADY_ENABLED = 704,
	RING_CUDA_TOO_MANY_PEERS = 711,
	RING_CUDA_CONTEXT_DESTROYED = 709,
	RING_CUDA_ALREADY_REGISTERED = 712,
	RING_CUDA_NOT_REGISTERED = 713,
	RING_CUDA_MISALIGNED_ADDRESS = 716,
	RING_CUDA_LAUNCH_FAILED = 719,
	RING_CUDA_NOT_PERMITTED = 800,
	RING_CUDA_NOT_SUPPORTED = 801,
	RING_CUDA_SYSTEM_NOT_READY = 802,
	RING_CUDA_DRIVER_MISMATCH = 803,
	RING_CUDA_CAPTURE_UNSUPPORTED = 900,
	RING_CUDA_CAPTURE_INVALIDATED = 901,
	RING_CUDA_CAPTURE_IMPLICIT = 906,
	RING_CUDA_UNKNOWN = 999,
};

enum ring_cuda_device_attribute {
	RING_CUDA_MULTIPROCESSORS = 16,
	RING_CUDA_KERNEL_TIME_LIMIT = 17, /* a kernel that runs for seconds breaks its context */
	RING_CUDA_L2_BYTES = 38,
	RING_CUDA_UNIFIED_ADDRESSING = 41,
	RING_CUDA_CAPABILITY_MAJOR = 75,
	RING_CUDA_CAPABILITY_MINOR = 76,
	RING_CUDA_HOST_POINTERS = 91, /* registered memory has the same address for the device */
	RING_CUDA_HOST_REGISTER = 99,
	RING_CUDA_MAPS = 102,          /* virtual memory management ... */
	RING_CUDA_HAS_FDS = 103,       /* ... whose physical memory can have descriptors */
	RING_CUDA_MAPS_FOR_RDMA = 110, /* physical memory that RDMA devices move may be asked for */
	RING_CUDA_STREAM_WORDS = 122,  /* streams wait for words, of 64 bits too, and write them */
};

enum ring_cuda_peer_attribute {
	RING_CUDA_PEER_ATOMICS = 3,
};

enum ring_cuda_function_attribute {
	RING_CUDA_THREADS_MAX = 0,
	RING_CUDA_LOCAL_BYTES = 3,
	RING_CUDA_REGISTERS = 4,
	RING_CUDA_BINARY_VERSION = 6,
};

enum ring_cuda_pointer_attribute {
	RING_CUDA_POINTER_CONTEXT = 1,
	RING_CUDA_POINTER_KIND = 2,   /* enum ring_cuda_memory, 32 bits */
	RING_CUDA_POINTER_ID = 7,     /* of an allocation, 64 bits; no other has it, even later */
	RING_CUDA_POINTER_DEVICE = 9, /* an ordinal */
	RING_CUDA_POINTER_MANAGED = 8,
	RING_CUDA_POINTER_RANGE_START = 11, /* of mapped memory that of what was reserved */
	RING_CUDA_POINTER_RANGE_BYTES = 12,
};

enum ring_cuda_memory {
	RING_CUDA_MEMORY_HOST = 1,
	RING_CUDA_MEMORY_DEVICE = 2,
};

enum {
	RING_CUDA_STREAM_NON_BLOCKING = 1, /* does not wait for the legacy stream */
	RING_CUDA_EVENT_NO_TIMING = 2,
	RING_CUDA_HOST_PORTABLE = 1,  /* for all contexts */
	RING_CUDA_HOST_MAPPED = 2,    /* kernels reach it */
	RING_CUDA_IPC_LAZY_PEERS = 1, /* access to the device is enabled when a handle is opened */
	RING_CUDA_SITE_DEVICE = 1,    /* of physical memory, with an ordinal */
	RING_CUDA_PHYSICAL_PINNED = 1,
	RING_CUDA_HANDLE_FD = 1,
	RING_CUDA_READ_AND_WRITE = 3,
	RING_CUDA_UNIT_LEAST = 0,      /* of the multiples that physical memory comes in */
	RING_CUDA_WAIT_GEQ = 0,        /* until the word is at least the value, modulo 2^32 */
	RING_CUDA_LOADING_EAGER = 1,   /* kernels are loaded with their module */
	RING_CUDA_LOADING_LAZY = 2,    /* ... or when they are first launched */
	RING_CUDA_CAPTURE_NONE = 0,    /* a stream's capture status ... */
	RING_CUDA_CAPTURE_ACTIVE = 1,  /* ... with an id that no other capture has */
	RING_CUDA_CAPTURE_RELAXED = 2, /* mode of a thread that others' captures do not restrict */
};

/* Streams that are no objects; NULL is the legacy one, too. */
#define RING_CUDA_STREAM_LEGACY ((struct CUstream_st *)1)
#define RING_CUDA_STREAM_PER_THREAD ((struct CUstream_st *)2)

/* ---- the library ----------------------------------------------------------------------------- */

/*
 * The driver, opened and started by whoever asks first; all others get the same answer, from any
 * thread. returns NULL where there is none, then *failure says in one line why (RING_ENOTSUP).
 * failure may be NULL
 */
const struct ring_cuda_driver *ring_cuda_driver(struct ring_failure *failure);

/*
 * The same where the program or the library has opened it, but perhaps not started: good for asking
 * what pointers point to. NULL: nobody has, and so nothing is a device's; then it is not opened.
 */
const struct ring_cuda_driver *ring_cuda_driver_opened(void);

/*
 * The same, very cheap while nobody has opened it. That somebody has it knows RING_CUDA_LOOK_MS
 * later, before the driver can have been started.
 */
const struct ring_cuda_driver *ring_cuda_driver_used(void);

/*
 * What the thread's last call returned, as one of ours: 0; RING_ENOMEM; RING_ENOTSUP; else
 * RING_ESYSTEM, also for RING_CUDA_NOT_READY: whoever asks for what may not be over knows that
 * itself. The sentence names what was being done, the call, the driver's error and what to check.
 */
int ring_cuda_error(int result, const char *doing, struct ring_failure *failure);

#endif
