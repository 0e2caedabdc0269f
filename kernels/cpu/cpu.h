/* SPDX-License-Identifier: MIT */
/*
 * Kernel families: the same loops, compiled for what different CPUs can do. All give the same bits.
 */
#ifndef RING_CPU_H
#define RING_CPU_H

#include "base/datatype.h"
#include "base/reduce_list.h"
#include "kernels/device.h"

/*
 * Intermediate results: they fit the first-level cache, and are large enough that calls cost
 * little.
 */
#define RING_TILE 512
union ring_tile {
	uint8_t int8[RING_TILE], uint8[RING_TILE];
	uint32_t int32[RING_TILE], uint32[RING_TILE];
	uint64_t int64[RING_TILE], uint64[RING_TILE];
	float float32[RING_TILE];
	double float64[RING_TILE];
};

/* How many bytes ahead loops over pairs prefetch. Set as the library is loaded. */
extern size_t ring_cpu_ahead;

/* One type and operation. */
struct ring_cpu_kernel {
	/*
	 * The common case: two sources; `both` writes the result to both. NULL if the family has no
	 * arithmetic on the type: tiles then.
	 */
	struct ring_pair_loops loops;
	void (*both)(void *left, void *right, size_t count);

	/*
	 * Two sources and two results, which may be sources; NULL where a pass for each is as fast.
	 */
	void (*two)(void *first, void *second, const void *left, const void *right, size_t count);

	/*
	 * Four and eight sources that all become their sum; NULL for other operations, and where
	 * sources are converted.
	 */
	void (*four)(unsigned char *a, unsigned char *b, unsigned char *c, unsigned char *d,
		     size_t count);
	void (*eight)(unsigned char *a, unsigned char *b, unsigned char *c, unsigned char *d,
		      unsigned char *e, unsigned char *f, unsigned char *g, unsigned char *h,
		      size_t count);

	/*
	 * Any job, RING_TILE elements at most at a time: load, scale, fold others in, divide,
	 * store.
	 */
	void (*load)(union ring_tile *tile, const void *source, size_t count);
	void (*scale)(union ring_tile *tile, const void *scalar, size_t count);
	void (*fold)(union ring_tile *tile, const void *source, size_t count);
	/* Three sources in one pass; NULL where sources are converted first. */
	void (*fold_three)(union ring_tile *tile, const void *first, const void *second,
			   const void *third, size_t count);
	void (*fold_tile)(union ring_tile *tile, const void *other_tile, size_t count);
	void (*divide)(union ring_tile *tile, uint64_t divisor, size_t count);
	void (*store)(void *result, const union ring_tile *tile, size_t count);
};

struct ring_cpu_family {
	const char *name;
	/* stream.h's stores past the caches, NULL where there are none. */
	void (*stream)(void *dst, const void *src, size_t bytes);
	void (*stream_end)(void);
	/*
	 * Copies all but the last few pages; dst begins on a line; NULL where memcpy is better.
	 * returns how much that was
	 */
	size_t (*stream_much)(void *dst, const void *src, size_t bytes);
	/* Copies to three places in one pass. */
	void (*spread)(void *first, void *second, void *third, const void *source, size_t bytes);
	const struct ring_cpu_kernel *kernels[RING_DATATYPES][RING_OPS];
};

/* The families that this CPU runs, best first; NULL after the last. The device uses the first. */
const struct ring_cpu_family *ring_cpu_family(int index);

/*
 * A family's kernel; NULL if the type or the operation is none, or not one of this type. Those of
 * operations on bits are of bytes, not elements.
 */
const struct ring_cpu_kernel *ring_cpu_kernel(const struct ring_cpu_family *family,
					      enum ring_datatype type, enum ring_op op);

/* One job by one family. returns 0; RING_ENOTSUP */
int ring_cpu_reduce(const struct ring_cpu_family *family, const struct ring_reduction *reduction);

#endif
