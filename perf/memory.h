/* SPDX-License-Identifier: MIT */
/*
 * Where a rank's buffers lie: in the host's memory or in a device's, which the host can neither
 * fill nor look at. What lies there has a mirror, memory of the host in which inputs are made and
 * results looked at, and is copied from and to it.
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
	struct ring_device_queue *queue; /* for copies, and to see how fast it is */
	uint64_t jobs;                   /* given to it */
};

/* Whether devices of that name are known here; if not says what is, on stderr. */
bool perf_device_is_known(const char *name);

/*
 * Opens one chip of a device; to be closed also where that failed. returns 0, else a RING_E..., and
 * text is a sentence about it
 */
int perf_device_open(struct perf_device *device, const char *name, int chip);
void perf_device_close(struct perf_device *device);

/*
 * Both give the device a job, on floats: it copies `from` to `to`, or adds it. perf_device_finish
 * waits for all jobs. They return 0; RING_ENOMEM; RING_ESYSTEM
 */
int perf_device_copy(struct perf_device *device, void *to, const void *from, size_t bytes);
int perf_device_add(struct perf_device *device, void *to, const void *from, size_t bytes);
int perf_device_finish(struct perf_device *device);

/* Memory of the host or of a device. */
struct perf_memory {
	struct ring_comm *comm;     /* whose ring_mem_alloc gave it; NULL: private */
	struct perf_device *device; /* that has it; NULL: the host */
	unsigned char *place;       /* as calls take it */
	unsigned char *mirror;      /* as the host looks at it; of the host's memory the same */
	size_t bytes;
};

/* comm NULL: private memory; device NULL: the host's. returns 0; RING_ENOMEM; RING_ESYSTEM */
int perf_memory_map(struct perf_memory *memory, struct ring_comm *comm, struct perf_device *device,
		    size_t bytes);
void perf_memory_unmap(struct perf_memory *memory);

/*
 * Copies a part of the mirror to the device, or back, and waits for it; of the host's memory there
 * is nothing to copy. returns 0; RING_ENOMEM; RING_ESYSTEM
 */
int perf_memory_push(const struct perf_memory *memory, size_t offset, size_t bytes);
int perf_memory_pull(const struct perf_memory *memory, size_t offset, size_t bytes);

#endif
