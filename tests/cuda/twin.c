/* SPDX-License-Identifier: MIT */
/*
 * Twins of buffers on GPUs, which are the fake driver's: programs that link this start anew with
 * it. Ranks take turns over RING_FAKE_CUDA_DEVICES devices, two if nothing else is asked for, and
 * calls that wait for a device have its lock.
 */
#include "tests/device/twin.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver.h"
#include "kernels/device.h"

#define CUDA 1   /* its row in the table of devices */
#define QUEUES 8 /* of the hardware, for streams of one priority and for copies in one direction */

static pid_t starter;

/* Once in each process: a child cannot use what its parent has begun. */
static void initialise(void)
{
	CUDA_MUST(cuda.init(0));
}

/* The thread's context, which calls of the library find and leave. */
static void enter(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static atomic_int threads;
	static _Thread_local struct CUctx_st *mine;
	int devices;
	pthread_once(&once, initialise);
	if (!mine) {
		CUDA_MUST(cuda.device_count(&devices));
		int turn = (int)getpid() + atomic_fetch_add(&threads, 1);
		CUDA_MUST(cuda.primary_retain(&mine, turn % devices));
		CUDA_MUST(cuda.context_set(mine));
	}
}

/* ---- before the tests ------------------------------------------------------------------------ */

static void be_told(void *unused)
{
	(void)unused;
}

/*
 * A driver that was used once keeps threads and mappings for as long as the process lives, and the
 * library threads that look at its events and words for streams. Here ranks have them from the
 * start, so that tests which count see what else a communicator leaves behind.
 */
static void warm_up(void)
{
	const struct ring_device *device = ring_device_numbered(CUDA);
	struct CUstream_st *streams[2 * QUEUES];
	struct ring_device_queue *queue;
	struct ring_device_stream *stream;
	struct ring_cuda_handle handle;
	void *room;
	int least, greatest;
	if (getppid() != starter)
		return; /* not a rank: a child of one, which cannot use what its parent has begun */
	enter();
	CUDA_MUST(cuda.context_priorities(&least, &greatest));
	for (int i = 0; i < 2 * QUEUES; i++)
		CUDA_MUST(cuda.stream_create(&streams[i], RING_CUDA_STREAM_NON_BLOCKING,
					     i % 2 ? least : greatest));
	char *far = twin_make(2 * QUEUES); /* a byte each: streams are in no order */
	int named = cuda.memory_handle(&handle,
				       far); /* maps what handles stand in, if there are any */
	CUDA_MUST(named == RING_CUDA_NOT_SUPPORTED ? 0 : named);
	CUDA_MUST(cuda.host_alloc(&room, 2 * QUEUES, 0));
	char *near = room;
	for (int i = 0; i < 2 * QUEUES; i++) {
		CUDA_MUST(cuda.memory_copy(near + i, far + i, 1, streams[i]));
		CUDA_MUST(cuda.memory_copy(far + i, near + i, 1, streams[i]));
		CUDA_MUST(cuda.stream_destroy(streams[i]));
	}
	CUDA_MUST(cuda.context_synchronize());
	CUDA_MUST(cuda.host_free(near));
	twin_end(far);
	if (device->queue_open(RING_CHIP_ANY, &queue) || device->tell(queue, be_told, NULL) ||
	    device->streams->open(NULL, &stream, NULL))
		exit(1);
	device->queue_close(queue);
	device->streams->close(stream);
}

static void __attribute__((constructor)) start(int argc, char **argv)
{
	(void)argc;
	starter = getpid();
	if (!ring_device_numbered(CUDA)) {
		printf("this build has no kernels for GPUs: configure found no nvcc\n");
		exit(77);
	}
	setenv("RING_FAKE_CUDA_DEVICES", "2", 0);
	setenv("RING_FAKE_CUDA_LOCKS", "1", 0);
	cuda_use_fake(argv);
	if (!cuda_open())
		exit(1);
	pthread_atfork(NULL, NULL, warm_up);
}

/* ---- twins ----------------------------------------------------------------------------------- */

void *twin_make(size_t bytes)
{
	void *far;
	enter();
	return cuda.memory_alloc(&far, bytes ? bytes : 1) ? NULL : far;
}

void twin_end(void *far)
{
	enter();
	CUDA_MUST(cuda.memory_free(far));
}

void twin_write(void *far, const void *host, size_t bytes)
{
	enter();
	CUDA_MUST(cuda.memory_copy_now(far, host, bytes));
}

void twin_read(void *host, const void *far, size_t bytes)
{
	enter();
	CUDA_MUST(cuda.memory_copy_now(host, far, bytes));
}
