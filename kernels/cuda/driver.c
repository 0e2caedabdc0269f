/* SPDX-License-Identifier: MIT */
/*
 * Opens NVIDIA's driver and says in sentences what it answers.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/waits.h"
#include "driver.h"

static struct ring_cuda_driver real;               /* the driver's own functions */
static bool maps;                                  /* it has those of virtual memory management */
static struct ring_failure refusal, start_refusal; /* why there is none */

/* What to look at when the driver answers with an error. */
static const struct {
	enum ring_cuda_result result;
	const char *check;
} checks[] = {
	{RING_CUDA_OUT_OF_MEMORY,
	 "of the device, or of the host: see nvidia-smi for what other processes have"},
	{RING_CUDA_INVALID_VALUE, "this is a mistake of the library's, please report it"},
	{RING_CUDA_DEINITIALIZED, "the process exits: end work on the device before that"},
	{RING_CUDA_STUB_LIBRARY,
	 "this " RING_CUDA_LIBRARY " is the toolkit's, for linking: take its folder out of "
	 "LD_LIBRARY_PATH"},
	{RING_CUDA_DEVICE_UNAVAILABLE, "another process has the device for itself: see nvidia-smi"},
	{RING_CUDA_NO_DEVICE,
	 "no GPU is visible here: see CUDA_VISIBLE_DEVICES, nvidia-smi and, in a container, what "
	 "it was given"},
	{RING_CUDA_INVALID_DEVICE, "there are fewer devices: see CUDA_VISIBLE_DEVICES"},
	{RING_CUDA_INVALID_IMAGE,
	 "the driver cannot read the kernels: update it, or build the library by an older nvcc"},
	{RING_CUDA_INVALID_CONTEXT,
	 "the stream or the memory is of a context that is gone, or of a child made by fork()"},
	{RING_CUDA_NO_BINARY_FOR_GPU,
	 "the library has no kernels for this GPU: build it with --with-cuda-arch=all"},
	{RING_CUDA_UNSUPPORTED_PTX_VERSION,
	 "the driver is older than the compiler of the kernels: update it, or build the library "
	 "for this GPU by --with-cuda-arch"},
	{RING_CUDA_NOT_READY, "nothing of the library's is under way there: a fault of the driver"},
	{RING_CUDA_INVALID_HANDLE, "the stream was destroyed, or is another context's"},
	{RING_CUDA_ILLEGAL_ADDRESS,
	 "a kernel of this process, not always the library's, used memory that is not its own: "
	 "compute-sanitizer finds it"},
	{RING_CUDA_LAUNCH_TIMEOUT,
	 "a kernel of this process, not always the library's, ran for longer than this device lets "
	 "one run, as it drives a display"},
	{RING_CUDA_CONTEXT_DESTROYED,
	 "the program reset the device or destroyed its context while the library used it"},
	{RING_CUDA_MISALIGNED_ADDRESS,
	 "a kernel of this process, not always the library's, used a misaligned address: "
	 "compute-sanitizer finds it"},
	{RING_CUDA_LAUNCH_FAILED,
	 "a kernel of this process, not always the library's, failed: compute-sanitizer finds it"},
	{RING_CUDA_NOT_PERMITTED, "no call of CUDA may be made here, as in a host function"},
	{RING_CUDA_NOT_SUPPORTED, "the device, the driver, or the container does not have that"},
	{RING_CUDA_SYSTEM_NOT_READY, "a service of the driver does not run: see nvidia-smi"},
	{RING_CUDA_DRIVER_MISMATCH,
	 "the driver in the kernel is of another version than " RING_CUDA_LIBRARY
	 ": reboot, or reload it"},
	{RING_CUDA_CAPTURE_UNSUPPORTED, "end the capture of the stream first"},
	{RING_CUDA_CAPTURE_IMPLICIT, "end the capture on the legacy stream first"},
};

/* ---- calls ----------------------------------------------------------------------------------- */

/* The thread's last call that has failed, for the sentence about it. */
static _Thread_local struct {
	const char *symbol;
	int result;
} last;

static int note(int result, const char *symbol)
{
	if (result != RING_CUDA_OK) {
		last.symbol = symbol;
		last.result = result;
	}
	return result;
}

#define CALL(name, symbol, parameters, arguments)                                                  \
	static int call_##name parameters                                                          \
	{                                                                                          \
		return note(real.name arguments, #symbol);                                         \
	}
RING_CUDA_CALLS(CALL)
#undef CALL

/* What lacks one of these has none of them. */
#define CALL(name, symbol, parameters, arguments)                                                  \
	static int call_##name parameters                                                          \
	{                                                                                          \
		return note(maps ? real.name arguments : RING_CUDA_NOT_SUPPORTED, #symbol);        \
	}
RING_CUDA_MAPPING_CALLS(CALL)
#undef CALL

static const struct ring_cuda_driver driver = {
#define CALL(name, ...) .name = call_##name,
	RING_CUDA_CALLS(CALL) RING_CUDA_MAPPING_CALLS(CALL)
#undef CALL
};

/* ---- errors ---------------------------------------------------------------------------------- */

static const char *check_of(int result)
{
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if ((int)checks[i].result == result)
			return checks[i].check;
	}
	return "see the kernel's log for lines of NVRM";
}

static int code_of(int result)
{
	if (result == RING_CUDA_OUT_OF_MEMORY)
		return RING_ENOMEM;
	bool none = result == RING_CUDA_NOT_SUPPORTED || result == RING_CUDA_NO_DEVICE;
	return none ? RING_ENOTSUP : RING_ESYSTEM;
}

int ring_cuda_error(int result, const char *doing, struct ring_failure *failure)
{
	if (result == RING_CUDA_OK)
		return 0;
	const char *name = NULL, *text = NULL;
	if (real.error_name(result, &name) || !name)
		name = "an unknown error";
	if (real.error_text(result, &text) || !text)
		text = "the driver has no text for it";
	return ring_fail(failure, code_of(result), "CUDA: %s fails: %s returns %s (%d), %s: %s",
			 doing, last.result == result ? last.symbol : "the driver", name, result,
			 text, check_of(result));
}

/* ---- opening --------------------------------------------------------------------------------- */

struct call {
	const char *symbol;
	void *pointer;
};

/* returns the symbol that the library does not have; NULL: it has all */
static const char *find(void *library, const struct call *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		void *found = dlsym(library, calls[i].symbol);
		if (!found)
			return calls[i].symbol;
		memcpy(calls[i].pointer, &found, sizeof(found));
	}
	return NULL;
}

static void find_calls(void *library)
{
#define CALL(name, symbol, ...) {#symbol, &real.name},
	const struct call needed[] = {RING_CUDA_CALLS(CALL)},
			  mapping[] = {RING_CUDA_MAPPING_CALLS(CALL)};
#undef CALL
	const char *missing = find(library, needed, sizeof(needed) / sizeof(needed[0]));
	if (missing) {
		ring_fail(&refusal, RING_ENOTSUP,
			  "CUDA: " RING_CUDA_LIBRARY
			  " has no %s: it is older than CUDA 11.7, update NVIDIA's driver",
			  missing);
		return;
	}
	missing = find(library, mapping, sizeof(mapping) / sizeof(mapping[0]));
	maps = !missing;
	if (missing)
		ring_log(RING_INFO,
			 "CUDA: " RING_CUDA_LIBRARY
			 " has no %s: memory goes to other processes by handles",
			 missing);
}

enum { UNOPENED, OPENED, REFUSED };
static int state; /* written under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * Stays open: the driver's threads run until the process ends. flags: RTLD_NOLOAD, where it is not
 * to be opened if the program has not done so. returns the state
 */
static int open_library(int flags)
{
	pthread_mutex_lock(&lock);
	if (state == UNOPENED) {
		void *library = dlopen(RING_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL | flags);
		if (library)
			find_calls(library);
		else if (!(flags & RTLD_NOLOAD))
			ring_fail(&refusal, RING_ENOTSUP, "CUDA: NVIDIA's driver does not open: %s",
				  dlerror());
		if (library || refusal.err)
			__atomic_store_n(&state, refusal.err ? REFUSED : OPENED, __ATOMIC_RELEASE);
	}
	int is = state;
	pthread_mutex_unlock(&lock);
	return is;
}

static int count_loaded(struct dl_phdr_info *object, size_t bytes, void *count)
{
	(void)bytes;
	*(unsigned long long *)count = object->dlpi_adds;
	return 1; /* any object knows */
}

/* The program may have opened it only where something was loaded since the last look. */
static int look_for_library(void)
{
	static unsigned long long before;
	unsigned long long loaded = 0;
	dl_iterate_phdr(count_loaded, &loaded);
	if (__atomic_exchange_n(&before, loaded, __ATOMIC_RELAXED) == loaded)
		return __atomic_load_n(&state, __ATOMIC_ACQUIRE);
	return open_library(RTLD_NOLOAD);
}

static const struct ring_cuda_driver *opened(int is)
{
	return is == OPENED ? &driver : NULL;
}

const struct ring_cuda_driver *ring_cuda_driver_opened(void)
{
	int is = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
	return opened(is == UNOPENED ? look_for_library() : is);
}

const struct ring_cuda_driver *ring_cuda_driver_used(void)
{
	static uint64_t looked_ms;
	struct timespec now;
	int is = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
	if (is != UNOPENED)
		return opened(is);
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	uint64_t ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	if (ms - __atomic_load_n(&looked_ms, __ATOMIC_RELAXED) < RING_CUDA_LOOK_MS)
		return NULL;
	__atomic_store_n(&looked_ms, ms, __ATOMIC_RELAXED);
	return opened(look_for_library());
}

/*
 * setenv() may free the list that getenv() of another thread is reading; this leaves that list
 * there. The new one stays, with the setting: this library may be unloaded before the program ends.
 */
static void add_to_environment(const char *setting)
{
	static char **list;
	size_t count = 0;
	while (environ && environ[count])
		count++;
	char *kept = strdup(setting);
	list = calloc(count + 2, sizeof(*list));
	if (!kept || !list) {
		free(kept);
		free(list);
		return;
	}
	if (count)
		memcpy(list, environ, count * sizeof(*list));
	list[count] = kept;
	__atomic_store_n(&environ, list, __ATOMIC_RELEASE);
}

/*
 * A kernel that is loaded when it is first launched waits for the GPU, and keeps other threads from
 * it meanwhile: for ever, if a stream waits there for a call. Who starts the driver decides.
 */
static void choose_loading(void)
{
	struct CUctx_st *context;
	if (driver.context_current(&context) == RING_CUDA_NOT_INITIALIZED &&
	    !getenv("CUDA_MODULE_LOADING"))
		add_to_environment("CUDA_MODULE_LOADING=EAGER");
}

/* Whatever is wrong, there is no device. */
static void start(void)
{
	choose_loading();
	int err = ring_cuda_error(driver.init(0), "starting the driver", &start_refusal);
	if (err)
		start_refusal.err = RING_ENOTSUP;
}

const struct ring_cuda_driver *ring_cuda_driver(struct ring_failure *failure)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	if (open_library(0) == OPENED)
		pthread_once(&once, start);
	const struct ring_failure *why = refusal.err ? &refusal : &start_refusal;
	if (!why->err)
		return &driver;
	ring_fail(failure, why->err, "%s", why->text);
	return NULL;
}
