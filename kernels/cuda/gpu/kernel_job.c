/* SPDX-License-Identifier: MIT */
#include "kernel_job.h"

#include <stdbool.h>

#include "base/datatype.h"

/* Bits of a copy stay as they are, also those of a NaN: it is a sum of one source of bytes. */
static bool is_copy(const struct ring_reduction *reduction)
{
	return reduction->nsources == 1 && reduction->nscalars == 0 && reduction->divisor <= 1;
}

static void choose_kernel(struct ring_kernel_job *job, const struct ring_reduction *reduction)
{
	bool of_bytes = is_copy(reduction) || ring_op_is_of_bits(reduction->op);
	job->type = (uint8_t)(of_bytes ? RING_UINT8 : reduction->type);
	job->op = (uint8_t)(is_copy(reduction) || reduction->op == RING_AVG ? RING_SUM
									    : reduction->op);
}

static void take_operands(struct ring_kernel_job *job, const struct ring_reduction *reduction)
{
	job->nsources = (uint8_t)reduction->nsources;
	job->nresults = (uint8_t)reduction->nresults;
	job->nscalars = (uint8_t)reduction->nscalars;
	for (int i = 0; i < reduction->nsources; i++)
		job->sources[i] = reduction->sources[i];
	for (int i = 0; i < reduction->nresults; i++)
		job->results[i] = reduction->results[i];
	for (int i = 0; i < reduction->nscalars; i++)
		job->scalars[i] = reduction->scalars[i];
}

int ring_kernel_job_make(struct ring_kernel_job *job, const struct ring_reduction *reduction)
{
	size_t element_bytes = ring_datatype_bytes(reduction->type);
	if (element_bytes == 0 || *ring_op_name(reduction->op) == '?' ||
	    !ring_op_takes(reduction->op, reduction->type))
		return RING_ENOTSUP;
	struct ring_divisor none = {0, 0, 0};
	job->divisor = reduction->divisor > 1 ? ring_divisor(reduction->divisor) : none;
	job->bytes = reduction->count * element_bytes;
	choose_kernel(job, reduction);
	take_operands(job, reduction);
	job->words = job->batched = 0;
	if (job->bytes > 0)
		ring_kernel_job_cut(job, ring_datatype_bytes((enum ring_datatype)job->type));
	return 0;
}

/* Threads of a block more would leave more words without a batch than they would have in theirs. */
unsigned ring_kernel_job_blocks(const struct ring_kernel_job *job, int multiprocessors)
{
	const size_t element_bytes = ring_datatype_bytes((enum ring_datatype)job->type);
	const uint64_t words = RING_BATCH_OF(element_bytes) * RING_BLOCK_THREADS;
	uint64_t blocks = (job->words + RING_BLOCK_THREADS - 1) / words;
	uint64_t most = 4 * (uint64_t)multiprocessors;
	return blocks < 1 ? 1 : (unsigned)(blocks < most ? blocks : most);
}
