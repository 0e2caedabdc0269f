/* SPDX-License-Identifier: MIT */
/*
 * A rank's buffers, in the host's memory or in a device's. The host can neither write nor read a
 * device's memory, so each buffer there has a mirror in the host's: inputs are made in the mirror
 * and copied to the device, results are copied back and checked in the mirror.
 */
#ifndef PERF_MEMORY_H
#define PERF_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringccl.h"

struct ring_device;
struct ring_device_queue;

#define PERF_DEVICE_TEXT 512

/* The part of a device that a rank uses; all zero: the host. */
struct perf_device {
	const struct ring_device *row;
	int chip;
	char text[PERF_DEVICE_TEXT];     /* its name, for people, or why there is none */
	struct ring_device_queue *queue; /* for copies, and to measure its rates */
	uint64_t jobs;                   /* given to the queue so far */
};

/* Whether this build knows devices of that name; if not, says on stderr which it knows. */
bool perf_device_is_known(const char *name, size_t length);

/*
 * Opens one chip of a device: places take those that this process can see in turn. Close it also if
 * that failed. returns 0; else a RING_E..., and text is a sentence about it
 */
int perf_device_open(struct perf_device *device, const char *name, size_t length, int place);
/* A GPU, which programs have CUDA's streams on. */
bool perf_device_is_cuda(const struct perf_device *device);
/* Waits for its jobs, also if one has failed: before their memory goes. */
void perf_device_close(struct perf_device *device);

/*
 * Both give the device a job on floats: to copy `from` to `to`, or to add it there.
 * perf_device_finish waits for all jobs. They return 0; RING_ENOMEM; RING_ESYSTEM
 */
int perf_device_copy(struct perf_device *device, void *to, const void *from, size_t bytes);
int perf_device_add(struct perf_device *device, void *to, const void *from, size_t bytes);
int perf_device_finish(struct perf_device *device);

/* Memory of the host or of a device. */
struct perf_memory {
	struct ring_comm *comm;     /* from whose ring_mem_alloc it is; NULL: private */
	struct perf_device *device; /* where it lies; NULL: on the host */
	unsigned char *place;       /* the address for calls */
	unsigned char *mirror;      /* the address for the host; equal to place on the host */
	size_t bytes;
};

/* comm NULL: private memory; device NULL: the host's. returns 0; RING_ENOMEM; RING_ESYSTEM */
int perf_memory_map(struct perf_memory *memory, struct ring_comm *comm, struct perf_device *device,
		    size_t bytes);
void perf_memory_unmap(struct perf_memory *memory);

/*
 * Copies a part of the mirror to the device, or back, and waits; does nothing for memory of the
 * host. returns 0; RING_ENOMEM; RING_ESYSTEM
 */
int perf_memory_push(const struct perf_memory *memory, size_t offset, size_t bytes);
int perf_memory_pull(const struct perf_memory *memory, size_t offset, size_t bytes);

#endif
