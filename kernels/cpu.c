/* SPDX-License-Identifier: MIT */
/*
 * The CPU as a device: every job is finished when it is submitted. The loops below are plain C for
 * one element after the other; arithmetic.h is written so that compilers make vectors of them.
 */
#include "device.h"

#include <stdlib.h>
#include <string.h>

#include "../src/datatype.h"
#include "arithmetic.h"
#include "reduce_list.h"

/* ---- the loops ------------------------------------------------------------------------------- */

/* Intermediate results: small enough for the first-level cache, large enough to forget the calls. */
#define TILE 512
union tile {
	uint32_t int32[TILE];
	float float32[TILE];
	double float64[TILE];
};

/* One type and operation. */
struct kernel {
	/* The common shape, two sources: result = left op right, disjoint; and result = result op right. */
	void (*pair)(void *result, const void *left, const void *right, size_t count);
	void (*onto)(void *result, const void *right, size_t count);

	/* Any number of sources: load the first, fold the others in, divide, store; count <= TILE. */
	void (*load)(union tile *tile, const void *source, size_t count);
	void (*fold)(union tile *tile, const void *source, size_t count);
	void (*divide)(union tile *tile, double divisor, size_t count);
	void (*store)(void *result, const union tile *tile, size_t count);
};

#define TYPE_LOOPS(TYPE, type, bytes, computed, ...)                                               \
	static void load_##type(union tile *restrict tile, const void *restrict source,            \
				size_t count)                                                      \
	{                                                                                          \
		const unsigned char *from = source;                                                \
		for (size_t i = 0; i < count; i++)                                                 \
			tile->computed[i] = ring_##type##_load(from + i * bytes);                  \
	}                                                                                          \
                                                                                                   \
	static void divide_##type(union tile *tile, double divisor, size_t count)                  \
	{                                                                                          \
		for (size_t i = 0; i < count; i++)                                                 \
			tile->computed[i] = ring_##computed##_divide(tile->computed[i], divisor);  \
	}                                                                                          \
                                                                                                   \
	static void store_##type(void *restrict result, const union tile *restrict tile,           \
				 size_t count)                                                     \
	{                                                                                          \
		unsigned char *to = result;                                                        \
		for (size_t i = 0; i < count; i++)                                                 \
			ring_##type##_store(to + i * bytes, tile->computed[i]);                    \
	}
RING_REDUCE_TYPES(TYPE_LOOPS, )

#define OP_LOOPS(OP, op, TYPE, type, bytes, computed, ...)                                         \
	static void pair_##type##_##op(void *restrict result, const void *restrict left,           \
				       const void *restrict right, size_t count)                   \
	{                                                                                          \
		unsigned char *to = result;                                                        \
		const unsigned char *a = left, *b = right;                                         \
		for (size_t i = 0; i < count * bytes; i += bytes)                                  \
			ring_##type##_store(to + i,                                                \
					    ring_##computed##_##op(ring_##type##_load(a + i),      \
								   ring_##type##_load(b + i)));    \
	}                                                                                          \
                                                                                                   \
	static void onto_##type##_##op(void *restrict result, const void *restrict right,          \
				       size_t count)                                               \
	{                                                                                          \
		unsigned char *to = result;                                                        \
		const unsigned char *b = right;                                                    \
		for (size_t i = 0; i < count * bytes; i += bytes)                                  \
			ring_##type##_store(to + i,                                                \
					    ring_##computed##_##op(ring_##type##_load(to + i),     \
								   ring_##type##_load(b + i)));    \
	}                                                                                          \
                                                                                                   \
	static void fold_##type##_##op(union tile *restrict tile, const void *restrict source,     \
				       size_t count)                                               \
	{                                                                                          \
		const unsigned char *b = source;                                                   \
		for (size_t i = 0; i < count; i++)                                                 \
			tile->computed[i] = ring_##computed##_##op(                                \
				tile->computed[i], ring_##type##_load(b + i * bytes));             \
	}
#define LOOPS_OF_TYPE(...) RING_REDUCE_OPS(OP_LOOPS, __VA_ARGS__)
RING_REDUCE_TYPES(LOOPS_OF_TYPE, )

#define KERNEL(OP, op, TYPE, type, ...)                                                            \
	[TYPE][OP] = {pair_##type##_##op, onto_##type##_##op, load_##type,                         \
		      fold_##type##_##op, divide_##type,      store_##type},
#define KERNELS_OF_TYPE(...) RING_REDUCE_OPS(KERNEL, __VA_ARGS__)
static const struct kernel kernels[RING_BFLOAT16 + 1][RING_MIN + 1] = {
	RING_REDUCE_TYPES(KERNELS_OF_TYPE, )};

/* NULL if there is none. */
static const struct kernel *find_kernel(enum ring_datatype type, enum ring_op op)
{
	if (op == RING_AVG)
		op = RING_SUM; /* the divisor is the difference */
	if (ring_datatype_bytes(type) == 0 || (unsigned)op > RING_MIN)
		return NULL;
	const struct kernel *kernel = &kernels[type][op];
	return kernel->pair ? kernel : NULL;
}

bool ring_reduce_supported(enum ring_datatype type, enum ring_op op)
{
	return find_kernel(type, op) != NULL;
}

/* ---- one job --------------------------------------------------------------------------------- */

/* Two different sources, no divisor. */
static void reduce_pair(const struct kernel *kernel, void *result, const void *left,
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
static void reduce_tile(const struct kernel *kernel, const struct ring_reduction *reduction,
			size_t offset, size_t count)
{
	union tile tile;
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

static void reduce(const struct kernel *kernel, const struct ring_reduction *reduction)
{
	const void *const *sources = reduction->sources;
	void *const *results = reduction->results;
	size_t element_bytes = ring_datatype_bytes(reduction->type), count = reduction->count;

	if (reduction->nsources == 1 && reduction->divisor <= 1) {
		copy_bytes(results[0], sources[0], count * element_bytes);
	} else if (reduction->nsources == 2 && reduction->divisor <= 1 && sources[0] != sources[1]) {
		reduce_pair(kernel, results[0], sources[0], sources[1], count);
	} else {
		for (size_t done = 0; done < count; done += TILE)
			reduce_tile(kernel, reduction, done * element_bytes,
				    count - done < TILE ? count - done : TILE);
	}

	for (int i = 1; i < reduction->nresults; i++)
		copy_bytes(results[i], results[0], count * element_bytes);
}

/* ---- the device ------------------------------------------------------------------------------ */

struct ring_device_queue {
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
	*queue = new;
	return 0;
}

static void cpu_queue_close(struct ring_device_queue *queue)
{
	free(queue);
}

static int cpu_reduce(struct ring_device_queue *queue, const struct ring_reduction *reduction)
{
	const struct kernel *kernel = find_kernel(reduction->type, reduction->op);
	if (!kernel)
		return RING_ENOTSUP;
	reduce(kernel, reduction);
	queue->jobs++;
	return 0;
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
