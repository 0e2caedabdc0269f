/* SPDX-License-Identifier: MIT */
/*
 * The CPU as a device: every job is finished when it is submitted. The loops are cpu_loops.c's; here
 * the family is chosen and a job is cut into them.
 */
#include <stdlib.h>
#include <string.h>

#include "../src/datatype.h"
#include "cpu.h"

/* ---- which kernel ---------------------------------------------------------------------------- */

extern const struct ring_cpu_family ring_cpu_avx2, ring_cpu_plain;

const struct ring_cpu_family *const *ring_cpu_families(void)
{
	static const struct ring_cpu_family *const families[] = {
#ifdef HAVE_AVX2
		&ring_cpu_avx2,
#endif
		&ring_cpu_plain, NULL};
#ifdef HAVE_AVX2
	if (!__builtin_cpu_supports("avx2"))
		return families + 1;
#endif
	return families;
}

const struct ring_cpu_kernel *ring_cpu_kernel(const struct ring_cpu_family *family,
					      enum ring_datatype type, enum ring_op op)
{
	if (op == RING_AVG)
		op = RING_SUM; /* the divisor is the difference */
	if (ring_datatype_bytes(type) == 0 || (unsigned)op > RING_MIN)
		return NULL;
	const struct ring_cpu_kernel *kernel = &family->kernels[type][op];
	return kernel->pair ? kernel : NULL;
}

bool ring_reduce_supported(enum ring_datatype type, enum ring_op op)
{
	return ring_cpu_kernel(&ring_cpu_plain, type, op) != NULL;
}

/* ---- one job --------------------------------------------------------------------------------- */

/* Two different sources, no divisor. */
static void reduce_pair(const struct ring_cpu_kernel *kernel, void *result, const void *left,
			const void *right, size_t count)
{
	if (result == left)
		kernel->onto(result, right, count);
	else if (result == right)
		kernel->onto(result, left, count);
	else
		kernel->pair(result, left, right, count);
}

/* Reads all sources of a tile before it writes a result, which may be one of them. */
static void reduce_tile(const struct ring_cpu_kernel *kernel,
			const struct ring_reduction *reduction, size_t offset, size_t count)
{
	union ring_tile tile;
	kernel->load(&tile, (const char *)reduction->sources[0] + offset, count);
	for (int i = 1; i < reduction->nsources; i++)
		kernel->fold(&tile, (const char *)reduction->sources[i] + offset, count);
	if (reduction->divisor > 1)
		kernel->divide(&tile, (double)reduction->divisor, count);
	kernel->store((char *)reduction->results[0] + offset, &tile, count);
}

static void copy_bytes(void *dst, const void *src, size_t bytes)
{
	if (dst != src && bytes > 0)
		memcpy(dst, src, bytes);
}

static void reduce(const struct ring_cpu_kernel *kernel, const struct ring_reduction *reduction)
{
	const void *const *sources = reduction->sources;
	void *const *results = reduction->results;
	size_t element_bytes = ring_datatype_bytes(reduction->type), count = reduction->count;

	if (reduction->nsources == 1 && reduction->divisor <= 1) {
		copy_bytes(results[0], sources[0], count * element_bytes);
	} else if (reduction->nsources == 2 && reduction->divisor <= 1 && sources[0] != sources[1]) {
		reduce_pair(kernel, results[0], sources[0], sources[1], count);
	} else {
		for (size_t done = 0; done < count; done += RING_TILE)
			reduce_tile(kernel, reduction, done * element_bytes,
				    count - done < RING_TILE ? count - done : RING_TILE);
	}

	for (int i = 1; i < reduction->nresults; i++)
		copy_bytes(results[i], results[0], count * element_bytes);
}

int ring_cpu_reduce(const struct ring_cpu_family *family, const struct ring_reduction *reduction)
{
	const struct ring_cpu_kernel *kernel = ring_cpu_kernel(family, reduction->type,
							       reduction->op);
	if (!kernel)
		return RING_ENOTSUP;
	reduce(kernel, reduction);
	return 0;
}

/* ---- the device ------------------------------------------------------------------------------ */

struct ring_device_queue {
	const struct ring_cpu_family *family;
	uint64_t jobs;
};

static bool cpu_owns(const void *memory)
{
	(void)memory;
	return true; /* whatever nobody else claims */
}

static int cpu_alloc(size_t bytes, void **memory)
{
	return posix_memalign(memory, 64, bytes) ? RING_ENOMEM : 0;
}

static int cpu_queue_open(struct ring_device_queue **queue)
{
	struct ring_device_queue *new = calloc(1, sizeof(*new));
	if (!new)
		return RING_ENOMEM;
	new->family = ring_cpu_families()[0];
	*queue = new;
	return 0;
}

static void cpu_queue_close(struct ring_device_queue *queue)
{
	free(queue);
}

static int cpu_reduce(struct ring_device_queue *queue, const struct ring_reduction *reduction)
{
	int err = ring_cpu_reduce(queue->family, reduction);
	if (!err)
		queue->jobs++;
	return err;
}

static int cpu_copy(struct ring_device_queue *queue, void *dst, const void *src, size_t bytes)
{
	copy_bytes(dst, src, bytes);
	queue->jobs++;
	return 0;
}

static int cpu_finished(struct ring_device_queue *queue, uint64_t *jobs)
{
	*jobs = queue->jobs;
	return 0;
}

const struct ring_device ring_device_cpu = {
	.name = "cpu",
	.owns = cpu_owns,
	.alloc = cpu_alloc,
	.free = free,
	.queue_open = cpu_queue_open,
	.queue_close = cpu_queue_close,
	.reduce = cpu_reduce,
	.copy = cpu_copy,
	.finished = cpu_finished,
};
