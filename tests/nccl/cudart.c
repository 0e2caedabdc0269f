/* SPDX-License-Identifier: MIT */
/*
 * The calls of CUDA's runtime that nccl-tests makes, over whichever driver there is, by NVIDIA's
 * own header: libcudart.so for where theirs does not run, as it has the driver prove by a keyed
 * hash that it is NVIDIA's. tests/nccl/upstream_test compiles it.
 *
 * Source: CUDA's manuals of runtime and driver; crt/host_runtime.h for what compiled programs call.
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/driver.h"

#define DEVICES 16
#define CALL(name, parameters, ...)                                                                \
	cudaError_t name parameters                                                                \
	{                                                                                          \
		int err = enter();                                                                 \
		return (cudaError_t)(err ? err : (__VA_ARGS__));                                   \
	}

/* ---- devices --------------------------------------------------------------------------------- */

static struct CUctx_st *contexts[DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void)
{
	if (!cuda_open())
		exit(1);
	CUDA_MUST(cuda.init(0));
}

cudaError_t cudaSetDevice(int device)
{
	pthread_once(&once, start);
	if (device < 0 || device >= DEVICES)
		return cudaErrorInvalidDevice;
	pthread_mutex_lock(&lock);
	int err = contexts[device] ? 0 : cuda.primary_retain(&contexts[device], device);
	pthread_mutex_unlock(&lock);
	return (cudaError_t)(err ? err : cuda.context_set(contexts[device]));
}

/* A thread that has chosen no device has the first. */
static int enter(void)
{
	struct CUctx_st *context;
	pthread_once(&once, start);
	int err = cuda.context_current(&context);
	return err || context ? err : (int)cudaSetDevice(0);
}

CALL(cudaGetDeviceCount, (int *count), cuda.device_count(count))
CALL(cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device),
     cuda.device_attribute(value, (int)attribute, device))
CALL(cudaDeviceSynchronize, (void), cuda.context_synchronize())
CALL(cudaDeviceReset, (void), cuda.context_synchronize()) /* the program ends by it */

/* What programs show of a device. */
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *is, int device)
{
	char bus[32];
	int err = enter();
	memset(is, 0, sizeof(*is));
	err = err ? err : cuda.device_name(is->name, sizeof(is->name), device);
	err = err ? err : cuda.device_memory(&is->totalGlobalMem, device);
	err = err ? err : cuda.device_bus_id(bus, sizeof(bus), device);
	if (!err)
		sscanf(bus, "%x:%x:%x", (unsigned *)&is->pciDomainID, (unsigned *)&is->pciBusID,
		       (unsigned *)&is->pciDeviceID);
	return (cudaError_t)err;
}

const char *cudaGetErrorString(cudaError_t error)
{
	const char *text = NULL;
	pthread_once(&once, start);
	cuda.error_text((int)error, &text);
	return text ? text : "an error that the driver does not know";
}

/* ---- memory, streams, events, graphs: the driver's, by other names --------------------------- */

#define STREAM(stream) ((struct CUstream_st *)(stream))
#define EVENT(event) ((struct CUevent_st *)(event))

/* No bytes are no error, and lie nowhere. */
CALL(cudaMalloc, (void **memory, size_t bytes),
     bytes ? cuda.memory_alloc(memory, bytes) : (*memory = NULL, 0))
CALL(cudaFree, (void *memory), memory ? cuda.memory_free(memory) : 0)
CALL(cudaHostAlloc, (void **memory, size_t bytes, unsigned flags),
     cuda.host_alloc(memory, bytes, flags))
CALL(cudaFreeHost, (void *memory), cuda.host_free(memory))
CALL(cudaMemGetInfo, (size_t * left, size_t *total), cuda.memory_info(left, total))
CALL(cudaMemset, (void *memory, int value, size_t bytes),
     bytes ? cuda.memory_set(memory, (unsigned char)value, bytes, NULL) : 0)
CALL(cudaMemcpy, (void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind), (void)kind,
     bytes ? cuda.memory_copy_now(dst, src, bytes) : 0)
CALL(cudaMemcpyAsync,
     (void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream),
     (void)kind, cuda.memory_copy(dst, src, bytes, STREAM(stream)))

CALL(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags),
     cuda.stream_create((struct CUstream_st **)stream, flags, 0))
CALL(cudaStreamDestroy, (cudaStream_t stream), cuda.stream_destroy(STREAM(stream)))
CALL(cudaStreamQuery, (cudaStream_t stream), cuda.stream_query(STREAM(stream)))

CALL(cudaEventCreate, (cudaEvent_t * event), cuda.event_create((struct CUevent_st **)event, 0))
CALL(cudaEventDestroy, (cudaEvent_t event), cuda.event_destroy(EVENT(event)))
CALL(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream),
     cuda.event_record(EVENT(event), STREAM(stream)))
CALL(cudaEventElapsedTime, (float *milliseconds, cudaEvent_t from, cudaEvent_t to),
     cuda.event_elapsed(milliseconds, EVENT(from), EVENT(to)))

CALL(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
     cuda.capture_begin(STREAM(stream), (int)mode))
CALL(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph),
     cuda.capture_end(STREAM(stream), (struct CUgraph_st **)graph))
CALL(cudaGraphInstantiate, (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
     cuda.graph_instantiate((struct CUgraphExec_st **)exec, (struct CUgraph_st *)graph, flags))
CALL(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream),
     cuda.graph_launch((struct CUgraphExec_st *)exec, STREAM(stream)))
CALL(cudaGraphExecDestroy, (cudaGraphExec_t exec),
     cuda.graph_exec_destroy((struct CUgraphExec_st *)exec))
CALL(cudaGraphDestroy, (cudaGraph_t graph), cuda.graph_destroy((struct CUgraph_st *)graph))

/* ---- kernels: what the compiler's code says of them before main() ---------------------------- */

struct image {
	const void *fatbin;
	struct CUmod_st *modules[DEVICES];
};

struct kernel {
	const void *stub; /* the function of the host by which programs name it */
	const char *name;
	struct image *image;
	struct CUfunc_st *functions[DEVICES];
	struct kernel *next;
};

static struct kernel *kernels;

void **__cudaRegisterFatBinary(void *wrapper)
{
	struct image *image = calloc(1, sizeof(*image));
	if (!image)
		abort();
	memcpy(&image->fatbin, (char *)wrapper + 2 * sizeof(int), sizeof(image->fatbin));
	return (void **)image;
}

void __cudaRegisterFatBinaryEnd(void **image)
{
	(void)image;
}

/* The process exits, and other threads may still launch. */
void __cudaUnregisterFatBinary(void **image)
{
	(void)image;
}

void __cudaRegisterFunction(void **image, const char *stub, char *text, const char *name, int limit,
			    uint3 *thread, uint3 *block, dim3 *threads, dim3 *blocks, int *warp)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));
	(void)text, (void)limit, (void)thread, (void)block, (void)threads, (void)blocks, (void)warp;
	if (!kernel)
		abort();
	*kernel = (struct kernel){
		.stub = stub, .name = name, .image = (struct image *)image, .next = kernels};
	kernels = kernel;
}

/* Nothing reads variables of devices by their names. */
void __cudaRegisterVar(void **image, char *variable, char *address, const char *name, int is_extern,
		       size_t bytes, int is_constant, int is_global)
{
	(void)image, (void)variable, (void)address, (void)name, (void)is_extern, (void)bytes,
		(void)is_constant, (void)is_global;
}

char __cudaInitModule(void **image)
{
	(void)image;
	return 1;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* The kernel of the current device, which is loaded there at its first launch. */
static int load(struct kernel *kernel, struct CUfunc_st **function)
{
	int device, err = cuda.context_device(&device);
	pthread_mutex_lock(&lock);
	if (!err && !kernel->image->modules[device])
		err = cuda.module_load(&kernel->image->modules[device], kernel->image->fatbin);
	if (!err && !kernel->functions[device])
		err = cuda.module_function(&kernel->functions[device],
					   kernel->image->modules[device], kernel->name);
	if (!err)
		*function = kernel->functions[device];
	pthread_mutex_unlock(&lock);
	return err;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t handle, dim3 blocks, dim3 threads, void **arguments,
			       size_t shared_bytes, cudaStream_t stream)
{
	struct CUfunc_st *function;
	int err = handle ? enter() : (int)cudaErrorInvalidDeviceFunction;
	err = err ? err : load((struct kernel *)handle, &function);
	return (cudaError_t)(err ? err
				 : cuda.launch(function, blocks.x, blocks.y, blocks.z, threads.x,
					       threads.y, threads.z, (unsigned)shared_bytes,
					       STREAM(stream), arguments, NULL));
}

cudaError_t __cudaGetKernel(cudaKernel_t *handle, const void *stub)
{
	struct kernel *kernel = kernels;
	while (kernel && kernel->stub != stub)
		kernel = kernel->next;
	*handle = (cudaKernel_t)kernel;
	return kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t cudaLaunchKernel(const void *stub, dim3 blocks, dim3 threads, void **arguments,
			     size_t shared_bytes, cudaStream_t stream)
{
	cudaKernel_t kernel;
	__cudaGetKernel(&kernel, stub);
	return __cudaLaunchKernel(kernel, blocks, threads, arguments, shared_bytes, stream);
}

/* kernel<<<blocks, threads, shared_bytes, stream>>>: from the statement to the kernel's stub. */
static _Thread_local struct {
	dim3 blocks, threads;
	size_t shared_bytes;
	cudaStream_t stream;
} configuration;

unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads, size_t shared_bytes,
				     struct CUstream_st *stream)
{
	configuration.blocks = blocks;
	configuration.threads = threads;
	configuration.shared_bytes = shared_bytes;
	configuration.stream = (cudaStream_t)stream;
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *blocks, dim3 *threads, size_t *shared_bytes,
				       void *stream)
{
	*blocks = configuration.blocks;
	*threads = configuration.threads;
	*shared_bytes = configuration.shared_bytes;
	*(cudaStream_t *)stream = configuration.stream;
	return cudaSuccess;
}
