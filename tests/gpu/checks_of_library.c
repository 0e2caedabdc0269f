/* SPDX-License-Identifier: MIT */
/* The library itself: whether its kernels load, outlive a reset, and have the bits of the CPU's. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/status.h"
#include "check.h"
#include "gpu.h"
#include "kernels/device.h"

#define CUDA 1 /* the row's number */
#define BYTES 4096

#ifndef RING_CUDA_LEAST /* the build has no kernels for GPUs */
#define RING_CUDA_LEAST 0
#endif

static const struct ring_device *row(void)
{
	const struct ring_device *device = ring_device_numbered(CUDA);
	if (!device)
		check_fact("this build has no kernels for GPUs: configure found no nvcc");
	return device;
}

/* ---- the image ------------------------------------------------------------------------------- */

static int run_image(void)
{
	const struct ring_device *device = row();
	struct ring_failure failure = {0};
	const char *text;
	int chip = 0, version = 0;
	if (!device)
		return CHECK_SKIP;
	double began = gpu_clock();
	int err = device->open(&chip, &text, &failure);
	double took = gpu_clock() - began;
	if (gpu_driver())
		cuda.driver_version(&version);
	check_fact("the driver has CUDA %d.%d, the kernels are for %d.%d", version / 1000,
		   version % 1000 / 10, RING_CUDA_LEAST / 1000, RING_CUDA_LEAST % 1000 / 10);
	if (err)
		check_fact("%s", failure.text);
	else
		check_fact("%s is ready after %.0f ms", text, took * 1e3);
	return err ? CHECK_NOT_OK : CHECK_OK;
}

const struct check check_image = {
	"the library's kernels load", run_image, 15,
	"no call on memory of this device is possible: another driver, or a library that an older "
	"nvcc has built (configure's line CUDA)"};

/* ---- what the program takes away ------------------------------------------------------------- */

static int ask_destroyed(void *unused)
{
	struct gpu gpu;
	struct CUctx_st *context = NULL;
	(void)unused;
	if (!gpu_driver())
		return 99;
	gpu_open(&gpu, 0);
	struct CUstream_st *stream = gpu_stream(0);
	CUDA_MUST(cuda.stream_destroy(stream));
	check_fact("cuStreamGetCtx of a destroyed stream: %s",
		   gpu_name(cuda.stream_context(stream, &context)));
	return 0;
}

/* A copy by a queue of the library's; 1: its answer is neither data nor an error. */
static int copy_by(const struct ring_device *device, struct ring_device_queue *queue,
		   const char *when)
{
	void *near, *far;
	uint64_t jobs = 0;
	if (device->host_alloc(BYTES, &near) || device->alloc(0, BYTES, &far)) {
		check_fact("%s, the library says that memory cannot be had", when);
		return 0;
	}
	int err = device->copy(queue, far, near, BYTES, false);
	while (!err && jobs == 0)
		err = device->finished(queue, &jobs);
	check_fact("%s, a copy ends with %s", when, ring_strerror(err));
	return 0;
}

/* As cudaDeviceReset(), under the library's feet. */
static int reset(void *unused)
{
	const struct ring_device *device = ring_device_numbered(CUDA);
	struct ring_device_queue *queue;
	int (*reset_context)(int device);
	(void)unused;
	if (device->queue_open(0, &queue) || !gpu_driver())
		return 99;
	*(void **)&reset_context = gpu_symbol("cuDevicePrimaryCtxReset_v2");
	if (!reset_context) {
		check_fact("the driver has no cuDevicePrimaryCtxReset_v2");
		return 0;
	}
	int result = reset_context(0);
	check_note("cuDevicePrimaryCtxReset_v2: %s", gpu_name(result));
	return copy_by(device, queue, "behind a reset");
}

static int run_reset(void)
{
	if (!row())
		return CHECK_SKIP;
	int destroyed = check_apart(ask_destroyed, NULL), left = check_apart(reset, NULL);
	if (destroyed)
		check_fact("cuStreamGetCtx of a destroyed stream ends the program, with %d",
			   destroyed);
	if (left)
		check_fact("a reset ends the program at the library's next call, with %d", left);
	return left ? CHECK_NOT_OK : CHECK_OK;
}

const struct check check_reset = {
	"a destroyed stream, and a device that the program resets", run_reset, 10,
	"a program that resets its device while it has a communicator crashes or hangs in the "
	"library, instead of being told so"};

/* ---- bits ------------------------------------------------------------------------------------ */

/* Whether a program comes to its end with status 0. */
static bool runs_well(const char *command)
{
	int status = system(command);
	check_note("%s: status %d", command, WIFEXITED(status) ? WEXITSTATUS(status) : status);
	return status == 0;
}

/* NVIDIA's nccl-tests, if somebody has built them. */
static bool compare_by_nccl_tests(void)
{
	const char *folder = getenv("NCCL_TESTS"), *path = getenv("LD_LIBRARY_PATH");
	char program[PATH_MAX], command[3 * PATH_MAX];
	snprintf(program, sizeof(program), "%s/build/all_reduce_perf", folder ? folder : "");
	if (!folder || access(program, X_OK)) {
		check_fact("nccl-tests were not run: $NCCL_TESTS/build/all_reduce_perf is none");
		return true;
	}
	snprintf(command, sizeof(command),
		 "LD_LIBRARY_PATH=bindings/nccl/.libs:%s %s -g 1 -b 8 -e 1M -f 16 -n 2 -w 1 -d all "
		 "-o all >&2",
		 path ? path : "", program);
	bool right = runs_well(command);
	check_fact("nccl-tests through libnccl.so.2: %s", right ? "right" : "wrong");
	return right;
}

static int run_bits(void)
{
	static const char *const runs[] = {
		"RING_CUDA_ENGINE=host perf/ring_perf --device cuda --ranks 2 --ranks-per-gpu 2 "
		"--collective all_reduce -d all -o all --sizes 1000 -n 1 -w 0 --quiet --timeout 30 "
		">&2",
		"RING_CUDA_ENGINE=kernel perf/ring_perf --device cuda --ranks 2 --ranks-per-gpu 2 "
		"--collective all_reduce -d all -o sum --sizes 1000 -n 1 -w 0 --quiet --stream "
		"--timeout 30 >&2",
	};
	if (!row())
		return CHECK_SKIP;
	if (access("perf/ring_perf", X_OK)) {
		check_fact("there is no perf/ring_perf: it is run elsewhere than in a build");
		return CHECK_SKIP;
	}
	bool host = runs_well(runs[0]), kernel = runs_well(runs[1]);
	check_fact("all-reduce of 2 ranks, all types: by the host %s, by kernels %s",
		   host ? "right" : "wrong", kernel ? "right" : "wrong");
	bool others = compare_by_nccl_tests();
	return host && kernel && others ? CHECK_OK : CHECK_NOT_OK;
}

const struct check check_bits = {"all types have the right bits", run_bits, 32,
				 "results on this device are wrong, or calls do not end: ring_perf "
				 "with the options above says "
				 "for which types"};
