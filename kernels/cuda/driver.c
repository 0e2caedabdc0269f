/* SPDX-License-Identifier: MIT */
/*
 * Opens NVIDIA's driver and says in sentences what it answers.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "driver.h"

static struct ring_cuda_driver real;               /* the driver's own functions */
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
	{RING_CUDA_CONTEXT_DESTROYED,
	 "the program reset the device or destroyed its context while the library used it"},
	{RING_CUDA_MISALIGNED_ADDRESS,
	 "a kernel of this process, not always the library's, used a misaligned address: "
	 "compute-sanitizer finds it"},
	{RING_CUDA_LAUNCH_FAILED,
	 "a kernel of this process, not always the library's, failed: compute-sanitizer finds it"},
	{RING_CUDA_NOT_PERMITTED, "no call of CUDA may be made here, as in a host function"},
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

static const struct ring_cuda_driver driver = {
#define CALL(name, ...) .name = call_##name,
	RING_CUDA_CALLS(CALL)
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

static int find_calls(void *library)
{
	const struct {
		const char *symbol;
		void *pointer;
	} calls[] = {
#define CALL(name, symbol, ...) {#symbol, &real.name},
		RING_CUDA_CALLS(CALL)
#undef CALL
	};
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *found = dlsym(library, calls[i].symbol);
		if (!found)
			return ring_fail(&refusal, RING_ENOTSUP,
					 "CUDA: " RING_CUDA_LIBRARY
					 " has no %s: it is older than CUDA 11.7, update NVIDIA's "
					 "driver",
					 calls[i].symbol);
		memcpy(calls[i].pointer, &found, sizeof(found));
	}
	return 0;
}

/* Stays open: the driver's threads run until the process ends. */
static void open_library(void)
{
	void *library = dlopen(RING_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (library)
		find_calls(library);
	else
		ring_fail(&refusal, RING_ENOTSUP, "CUDA: NVIDIA's driver does not open: %s",
			  dlerror());
}

const struct ring_cuda_driver *ring_cuda_driver_opened(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, open_library);
	return refusal.err ? NULL : &driver;
}

/* Whatever is wrong, there is no device. */
static void start(void)
{
	int err = ring_cuda_error(driver.init(0), "starting the driver", &start_refusal);
	if (err)
		start_refusal.err = RING_ENOTSUP;
}

const struct ring_cuda_driver *ring_cuda_driver(struct ring_failure *failure)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	if (ring_cuda_driver_opened())
		pthread_once(&once, start);
	const struct ring_failure *why = refusal.err ? &refusal : &start_refusal;
	if (!why->err)
		return &driver;
	ring_fail(failure, why->err, "%s", why->text);
	return NULL;
}
