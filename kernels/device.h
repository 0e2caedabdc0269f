/* SPDX-License-Identifier: MIT */
/*
 * What a device promises: memory of its own, and reductions and copies that it finishes in order.
 * The CPU finishes at once; others later and in bursts, so nobody may assume either.
 */
#ifndef RING_DEVICE_H
#define RING_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringccl.h"

#define RING_REDUCE_SOURCES 64
#define RING_REDUCE_RESULTS 64

struct ring_device_queue; /* jobs of one channel, in order */

/*
 * One job: every result becomes sources[0] op sources[1] op ..., from left to right, in one pass. A
 * result may equal a source; other overlap is not allowed. Any alignment. The first nscalars
 * sources are multiplied by a scalar each before anything else.
 *
 * Types of 16 and 8 bits compute in float32 and are rounded once, at the end.
 */
struct ring_reduction {
	const void *sources[RING_REDUCE_SOURCES];
	int nsources; /* 1..RING_REDUCE_SOURCES; 1 without scalar and divisor is a copy */
	int nscalars;
	/* scalars[nscalars], until the job is done: an element, its first bytes */
	const uint64_t *scalars;
	void *results[RING_REDUCE_RESULTS];
	int nresults;
	size_t count; /* elements, 0 is allowed */
	enum ring_datatype type;
	enum ring_op op;  /* RING_AVG adds like RING_SUM */
	uint64_t divisor; /* divides the result before it is rounded; at most 2^31 - 1, 0 is 1 */
	bool past; /* the results are part of more than caches hold; copies may pass them by */
};

/* The loops of jobs with two sources and one result. */
struct ring_pair_loops {
	/* disjoint */
	void (*pair)(void *result, const void *left, const void *right, size_t count);
	void (*onto)(void *result, const void *right, size_t count); /* result = result op right */
};

struct ring_device {
	const char *name;

	bool (*owns)(const void *memory);
	int (*alloc)(size_t bytes, void **memory); /* 64-byte aligned; 0 or RING_ENOMEM */
	void (*free)(void *memory);

	int (*queue_open)(struct ring_device_queue **queue);
	void (*queue_close)(struct ring_device_queue *queue); /* waits for its jobs */

	/*
	 * Both submit exactly one job, also for 0 elements or bytes. past: what is copied is part
	 * of more than caches hold, so it may pass them by. returns 0; RING_ENOTSUP; RING_ESYSTEM
	 */
	int (*reduce)(struct ring_device_queue *queue, const struct ring_reduction *reduction);
	int (*copy)(struct ring_device_queue *queue, void *dst, const void *src, size_t bytes,
		    bool past);

	/*
	 * The loops of a device that does everything at once, for sums too short to be made jobs
	 * of. returns NULL: none for these; it may be NULL itself. (8 B on 2 ranks, as a job -> so:
	 * 0.12 -> 0.10 us.)
	 */
	const struct ring_pair_loops *(*pair_loops)(struct ring_device_queue *queue,
						    enum ring_datatype type, enum ring_op op);

	/*
	 * Jobs finished since queue_open; only grows. returns 0; RING_ESYSTEM if the device failed
	 */
	int (*finished)(struct ring_device_queue *queue, uint64_t *jobs);
};

extern const struct ring_device ring_device_cpu;

#endif
