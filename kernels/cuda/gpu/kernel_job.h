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

/* Words that a thread has at once: as many as registers hold values of, RING_BATCH at most. */
#define RING_BATCH 4
#define RING_BATCH_OF(element_bytes) ((element_bytes) == 1 ? 2 : RING_BATCH)
RING_ELEMENT unsigned ring_word_place(const void *memory)
{
	return (unsigned)((uintptr_t)memory % RING_WORD);
}

RING_ELEMENT int ring_kernel_job_is_aligned(const struct ring_kernel_job *job)
{
	int aligned = 1;
	for (int i = 0; i < job->nsources; i++)
		aligned &= ring_word_place(job->sources[i]) == job->lacks;
	for (int i = 0; i < job->nresults; i++)
		aligned &= ring_word_place(job->results[i]) == job->lacks;
	return aligned;
}

/* Cuts what a job's operands and bytes say into words, of which none ends within an element. */
RING_ELEMENT void ring_kernel_job_cut(struct ring_kernel_job *job, unsigned element_bytes)
{
	const unsigned place = ring_word_place(job->results[0]);
	job->lacks = place % element_bytes ? 0 : (uint8_t)place;
	uint64_t end = job->lacks + job->bytes, whole = end / RING_WORD;
	job->words = (end + RING_WORD - 1) / RING_WORD;
	if (job->lacks > 0 && whole > 0)
		whole--; /* the first is not */
	job->batched = ring_kernel_job_is_aligned(job) && job->nscalars == 0 ? whole : 0;
}

#ifdef __cplusplus
extern "C" {
#endif

/* returns 0; RING_ENOTSUP: there is no such type or operation */
int ring_kernel_job_make(struct ring_kernel_job *job, const struct ring_reduction *reduction);

/* As many blocks as have batches to do, and no more than run at once; one at least. */
unsigned ring_kernel_job_blocks(const struct ring_kernel_job *job, int multiprocessors);

#ifdef __cplusplus
}
#endif
#endif
