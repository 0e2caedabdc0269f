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
	job->type = (uint8_t)(is_copy(reduction) ? RING_UINT8 : reduction->type);
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

static unsigned place_in_word(const void *memory)
{
	return (unsigned)((uintptr_t)memory % RING_WORD);
}

static bool is_aligned(const struct ring_kernel_job *job)
{
	bool aligned = true;
	for (int i = 0; i < job->nsources; i++)
		aligned &= place_in_word(job->sources[i]) == job->lacks;
	for (int i = 0; i < job->nresults; i++)
		aligned &= place_in_word(job->results[i]) == job->lacks;
	return aligned;
}

/* No word ends within an element. */
static void cut_words(struct ring_kernel_job *job)
{
	unsigned place = place_in_word(job->results[0]);
	job->lacks = place % ring_datatype_bytes((enum ring_datatype)job->type) ? 0 : (uint8_t)place;
	uint64_t end = job->lacks + job->bytes, whole = end / RING_WORD;
	job->words = (end + RING_WORD - 1) / RING_WORD;
	if (job->lacks > 0 && whole > 0)
		whole--; /* the first is not */
	job->batched = is_aligned(job) && job->nscalars == 0 ? whole : 0;
}

int ring_kernel_job_make(struct ring_kernel_job *job, const struct ring_reduction *reduction)
{
	size_t element_bytes = ring_datatype_bytes(reduction->type);
	if (element_bytes == 0 || *ring_op_name(reduction->op) == '?')
		return RING_ENOTSUP;
	struct ring_divisor none = {0, 0, 0};
	job->divisor = reduction->divisor > 1 ? ring_divisor(reduction->divisor) : none;
	job->bytes = reduction->count * element_bytes;
	choose_kernel(job, reduction);
	take_operands(job, reduction);
	job->words = job->batched = 0;
	if (job->bytes > 0)
		cut_words(job);
	return 0;
}
