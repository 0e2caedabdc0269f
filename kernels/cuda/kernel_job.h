/* SPDX-License-Identifier: MIT */
/*
 * A reduction as the kernels of a GPU take it: in bytes and words, all in one piece, as it is
 * handed over when they are launched. Included by both sides.
 */
#ifndef RING_KERNEL_JOB_H
#define RING_KERNEL_JOB_H

#include "kernels/arithmetic.h"
#include "kernels/device.h"

#define RING_WORD 16 /* bytes that one access moves */

/* Words are cut where those of the first result are, so the first and the last may be parts. */
struct ring_kernel_job {
	const unsigned char *sources[RING_REDUCE_SOURCES];
	unsigned char *results[RING_REDUCE_RESULTS];
	uint64_t scalars[RING_REDUCE_SOURCES];
	uint64_t bytes; /* of each source and result */
	uint64_t words;
	uint64_t batched;            /* whole words, aligned in all sources and results */
	struct ring_divisor divisor; /* of 0: none */
	uint8_t nsources, nresults, nscalars;
	uint8_t lacks;    /* bytes that the first word lacks */
	uint8_t type, op; /* which kernel: of enum ring_datatype and enum ring_op, never RING_AVG */
};

#define RING_BLOCK_THREADS 256 /* threads of a block; two blocks fit on a multiprocessor */

#ifdef __cplusplus
extern "C" {
#endif

/* returns 0; RING_ENOTSUP: there is no such type or operation */
int ring_kernel_job_make(struct ring_kernel_job *job, const struct ring_reduction *reduction);

#ifdef __cplusplus
}
#endif
#endif
