/* SPDX-License-Identifier: MIT */
/*
 * What every call begins and ends with; initialisation, errors as text, and what devices there are.
 */
#include "fake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define RESULTS(X)                                                                                 \
	X(0, "CUDA_SUCCESS", "no error")                                                           \
	X(1, "CUDA_ERROR_INVALID_VALUE", "invalid argument")                                       \
	X(2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory")                                          \
	X(3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error")                                 \
	X(4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down")                                   \
	X(100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected")                       \
	X(101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal")                              \
	X(200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid")                       \
	X(201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context")                             \
	X(209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available")                     \
	X(217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported")               \
	X(222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX is of a newer compiler")             \
	X(400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle")                             \
	X(500, "CUDA_ERROR_NOT_FOUND", "named symbol not found")                                   \
	X(600, "CUDA_ERROR_NOT_READY", "device not ready")                                         \
	X(700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered")           \
	X(701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch")    \
	X(702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated")             \
	X(704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled")         \
	X(709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed")                          \
	X(712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "memory is already registered")        \
	X(713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "memory has not been registered")          \
	X(716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address")                              \
	X(719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure")                           \
	X(800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted")                              \
	X(801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported")                              \
	X(900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not permitted while a stream captures")   \
	X(901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "the capture failed before")               \
	X(902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "two captures would become one")                 \
	X(903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the capture began in another stream")       \
	X(904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "the capture has unjoined work")              \
	X(906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "would depend on the legacy stream")          \
	X(907, "CUDA_ERROR_CAPTURED_EVENT", "the event was last recorded in a capture")            \
	X(908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "another thread began the capture")       \
	X(999, "CUDA_ERROR_UNKNOWN", "unknown error")

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_changed;
_Thread_local bool fake_inside_host_function;

static _Atomic pid_t initialised_by; /* 0: nobody */
static bool exiting;

static bool is_done_by_host_function(const char *function)
{
	if (!fake_inside_host_function)
		return false;
	fprintf(stderr, "fake CUDA driver: a host function calls %s; it may call nothing of CUDA\n",
		function);
	return true;
}

static int may_begin(const char *function, unsigned needs)
{
	if (exiting)
		return RING_CUDA_DEINITIALIZED;
	if (!initialised_by)
		return RING_CUDA_NOT_INITIALIZED;
	if (is_done_by_host_function(function))
		return RING_CUDA_NOT_PERMITTED;
	int err = fake_fault(function);
	struct CUctx_st *context = fake_current();
	if (!err && needs & FAKE_CONTEXT && !context)
		err = RING_CUDA_INVALID_CONTEXT;
	const bool asks = needs & FAKE_ASKS && fake_settings.locks == 2 && context;
	if (!err && (needs & FAKE_CONTEXT || asks))
		fake_context_pass(context, function);
	if (!err && needs & FAKE_CONTEXT && !context->retained)
		err = RING_CUDA_CONTEXT_DESTROYED;
	if (!err && needs & FAKE_CONTEXT)
		err = context->error;
	if (!err && needs & FAKE_SAFE)
		err = fake_capture_forbids();
	return err;
}

/* It has none of the threads, one of which may have had the lock. */
static bool is_child(void)
{
	return initialised_by && initialised_by != getpid();
}

int fake_begin(const char *function, unsigned needs)
{
	if (is_child())
		return RING_CUDA_NOT_INITIALIZED;
	pthread_mutex_lock(&fake_lock);
	int err = may_begin(function, needs);
	return err ? fake_end(err) : 0;
}

int fake_end(int result)
{
	pthread_mutex_unlock(&fake_lock);
	return result;
}

/* ---- patience -------------------------------------------------------------------------------- */

static void give_up(const char *function, const char *what, unsigned waited_ms)
{
	fprintf(stderr, "fake CUDA driver: %s has waited %u ms for %s\n", function, waited_ms, what);
	for (int device = 0; device < FAKE_DEVICES; device++)
		for (int i = 0; i < FAKE_QUEUES; i++) {
			char text[256];
			struct fake_queue *queue = fake_contexts[device].queues[i];
			if (!queue)
				continue;
			fake_queue_describe(queue, text, sizeof(text));
			fprintf(stderr, "fake CUDA driver: device %d, queue %d: %s\n", device, i,
				text);
		}
	abort();
}

void fake_wait(const char *function, const char *what, unsigned *waited_ms)
{
	const long step_ms = 10;
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += step_ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	if (pthread_cond_timedwait(&fake_changed, &fake_lock, &until) != ETIMEDOUT)
		return;
	*waited_ms += (unsigned)step_ms;
	if (fake_settings.patience_ms && *waited_ms >= fake_settings.patience_ms)
		give_up(function, what, *waited_ms);
}

/* ---- the library ----------------------------------------------------------------------------- */

static void make_condition(void)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&fake_changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

int cuInit(unsigned flags)
{
	if (is_child())
		return RING_CUDA_NOT_INITIALIZED;
	pthread_mutex_lock(&fake_lock);
	int err = flags ? RING_CUDA_INVALID_VALUE : exiting ? RING_CUDA_DEINITIALIZED : 0;
	if (!err && !initialised_by) {
		make_condition();
		fake_settings_read();
		err = fake_fault(__func__);
	}
	if (!err && !initialised_by)
		err = fake_settings.devices ? 0 : RING_CUDA_NO_DEVICE;
	if (!err)
		initialised_by = getpid();
	return fake_end(err);
}

/*
 * Threads that still run would work on what the process's end takes away. A host function may never
 * end, so it is not waited for.
 */
__attribute__((destructor)) static void deinitialise(void)
{
	if (!initialised_by || is_child())
		return;
	pthread_mutex_lock(&fake_lock);
	exiting = true;
	fake_mappings_exit();
	for (int device = 0; device < FAKE_DEVICES; device++)
		if (fake_contexts[device].retained && !fake_host_function_is_under_way())
			fake_context_end(&fake_contexts[device]);
	pthread_mutex_unlock(&fake_lock);
}

int cuDriverGetVersion(int *version)
{
	*version = fake_settings.version;
	return 0;
}

int cuGetErrorName(int result, const char **name)
{
#define NAME(number, text, meaning)                                                                \
	if (result == number) {                                                                    \
		*name = text;                                                                      \
		return 0;                                                                          \
	}
	RESULTS(NAME)
	*name = NULL;
	return RING_CUDA_INVALID_VALUE;
}

int cuGetErrorString(int result, const char **text)
{
#define TEXT(number, name, meaning)                                                                \
	if (result == number) {                                                                    \
		*text = meaning;                                                                   \
		return 0;                                                                          \
	}
	RESULTS(TEXT)
	*text = NULL;
	return RING_CUDA_INVALID_VALUE;
}

/* ---- devices --------------------------------------------------------------------------------- */

static int check_device(int device)
{
	return device >= 0 && device < fake_settings.devices ? 0 : RING_CUDA_INVALID_DEVICE;
}

int cuDeviceGetCount(int *count)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	*count = fake_settings.devices;
	return fake_end(0);
}

int cuDeviceGet(int *device, int ordinal)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	err = check_device(ordinal);
	if (!err)
		*device = ordinal;
	return fake_end(err);
}

int cuDeviceGetName(char *name, int bytes, int device)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	err = bytes > 0 ? check_device(device) : RING_CUDA_INVALID_VALUE;
	if (!err)
		snprintf(name, (size_t)bytes, "Fake device");
	return fake_end(err);
}

int cuDeviceGetPCIBusId(char *id, int bytes, int device)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	err = bytes > 0 ? check_device(device) : RING_CUDA_INVALID_VALUE;
	if (!err)
		snprintf(id, (size_t)bytes, "0000:%02X:00.0", 1 + fake_settings.visible[device]);
	return fake_end(err);
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	err = check_device(device);
	if (!err)
		*bytes = fake_settings.memory_bytes;
	return fake_end(err);
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	const int values[][2] = {
		{RING_CUDA_MULTIPROCESSORS, FAKE_MULTIPROCESSORS},
		{RING_CUDA_KERNEL_TIME_LIMIT, fake_settings.limit_ms > 0},
		{RING_CUDA_L2_BYTES, 4 << 20},
		{RING_CUDA_UNIFIED_ADDRESSING, 1},
		{RING_CUDA_CAPABILITY_MAJOR, 9},
		{RING_CUDA_CAPABILITY_MINOR, 0},
		{RING_CUDA_HOST_POINTERS, fake_settings.pins},
		{RING_CUDA_HOST_REGISTER, fake_settings.pins},
		{RING_CUDA_MAPS, fake_settings.maps >= FAKE_MAPS},
		{RING_CUDA_HAS_FDS, fake_settings.maps >= FAKE_MAPS_FDS},
		{RING_CUDA_MAPS_FOR_RDMA, fake_settings.rdma},
		{RING_CUDA_STREAM_WORDS, fake_settings.words},
	};
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	err = check_device(device);
	if (err)
		return fake_end(err);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		if (values[i][0] == attribute) {
			*value = values[i][1];
			return fake_end(0);
		}
	return fake_end(RING_CUDA_INVALID_VALUE);
}

/* Of those that it knows. */
int cuDeviceGetP2PAttribute(int *value, int attribute, int device, int peer)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	if (check_device(device) || check_device(peer) || device == peer)
		return fake_end(RING_CUDA_INVALID_DEVICE);
	if (attribute != RING_CUDA_PEER_ATOMICS)
		return fake_end(RING_CUDA_INVALID_VALUE);
	*value = fake_settings.links &&
		 fake_peers(fake_settings.visible[device], fake_settings.visible[peer]);
	return fake_end(0);
}

int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	err = check_device(device) || check_device(peer) ? RING_CUDA_INVALID_DEVICE : 0;
	if (!err)
		*can = device != peer &&
		       fake_peers(fake_settings.visible[device], fake_settings.visible[peer]);
	return fake_end(err);
}
