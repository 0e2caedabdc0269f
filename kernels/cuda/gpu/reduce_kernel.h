/* SPDX-License-Identifier: MIT */
/*
 * Kernels that reduce: what one of many threads does for a job, in words of 16 bytes. Written for
 * GPUs, and compiled for the host too, where tests run it. The arithmetic is that of the CPU's
 * kernels, and so the bits are. What a job is stands in kernel_job.h.
 */
#ifndef RING_REDUCE_KERNEL_H
#define RING_REDUCE_KERNEL_H

#include "kernels/convert.h"
#include "kernel_job.h"
#include "base/reduce_list.h"

/* Everything becomes one function, in which the functions of struct ring_word_kernel are known. */
#ifdef __CUDACC__
#define RING_KERNEL static __host__ __device__ __forceinline__
#define RING_UNROLL _Pragma("unroll")
#define RING_ROLL _Pragma("unroll 1")
#else
#define RING_KERNEL static inline __attribute__((always_inline))
#define RING_UNROLL
#define RING_ROLL
#endif

/* Where a kernel finds what lies at an address; tests that run it elsewhere say where. */
#ifndef RING_KERNEL_REACH
#define RING_KERNEL_REACH(address, bytes) (address)
#endif

/* 16 bytes as they lie in memory. */
union __attribute__((aligned(RING_WORD), may_alias)) ring_word {
	uint8_t bytes[16], int8[16], uint8[16], float8_e4m3[16], float8_e5m2[16];
	uint16_t float16[8], bfloat16[8];
	uint32_t int32[4], uint32[4], float32[4];
	uint64_t int64[2], uint64[2], float64[2];
};

/* The elements of a word as they are computed with. */
union ring_values {
	uint8_t int8[16], uint8[16];
	uint32_t int32[4], uint32[4];
	uint64_t int64[2], uint64[2];
	float float32[16];
	double float64[2];
};

/* One type and operation, on all elements of a word. */
struct ring_word_kernel {
	int batch; /* words that a thread has at once */
	void (*unpack)(union ring_values *values, const union ring_word *word);
	void (*scale)(union ring_values *values, uint64_t scalar);
	void (*fold)(union ring_values *values, const union ring_values *right);
	void (*divide)(union ring_values *values, struct ring_divisor divisor);
	void (*pack)(union ring_word *word, const union ring_values *values);
};

/* ---- a word, wherever it lies ---------------------------------------------------------------- */

/* One access each. */
RING_KERNEL union ring_word ring_word_at(const unsigned char *aligned)
{
	return *(const union ring_word *)RING_KERNEL_REACH(aligned, RING_WORD);
}

RING_KERNEL void ring_word_put(unsigned char *aligned, const union ring_word *word)
{
	*(union ring_word *)RING_KERNEL_REACH(aligned, RING_WORD) = *word;
}

/* Byte after byte: no more than these are touched. */
RING_KERNEL union ring_word ring_word_gather(const unsigned char *from, unsigned bytes)
{
	union ring_word word;
	word.uint64[0] = word.uint64[1] = 0;
	RING_UNROLL
	for (unsigned i = 0; i < RING_WORD; i++) {
		if (i < bytes)
			word.bytes[i] = *(const unsigned char *)RING_KERNEL_REACH(from + i, 1);
	}
	return word;
}

RING_KERNEL void ring_word_scatter(unsigned char *to, const union ring_word *word, unsigned bytes)
{
	RING_UNROLL
	for (unsigned i = 0; i < RING_WORD; i++) {
		if (i < bytes)
			*(unsigned char *)RING_KERNEL_REACH(to + i, 1) = word->bytes[i];
	}
}

/* Two accesses: from byte `skip` on of what lies at `aligned`. */
RING_KERNEL union ring_word ring_word_across(const unsigned char *aligned, unsigned skip)
{
	const union ring_word low = ring_word_at(aligned), high = ring_word_at(aligned + RING_WORD);
	const unsigned shift = skip % 8 * 8;
	const uint64_t a = skip < 8 ? low.uint64[0] : low.uint64[1];
	const uint64_t b = skip < 8 ? low.uint64[1] : high.uint64[0];
	const uint64_t c = skip < 8 ? high.uint64[0] : high.uint64[1];
	union ring_word word;
	word.uint64[0] = shift ? a >> shift | b << (64 - shift) : a;
	word.uint64[1] = shift ? b >> shift | c << (64 - shift) : b;
	return word;
}

/* The bytes of a job that are one of its words. */
struct ring_word_part {
	uint64_t offset;
	unsigned bytes;
};

RING_KERNEL struct ring_word_part ring_word_part(const struct ring_kernel_job *job, uint64_t index)
{
	const uint64_t end = (index + 1) * RING_WORD - job->lacks;
	struct ring_word_part part;
	part.offset = index == 0 ? 0 : index * RING_WORD - job->lacks;
	part.bytes = (unsigned)((end < job->bytes ? end : job->bytes) - part.offset);
	return part;
}

/* Nothing beyond the source is touched, so words at its ends are gathered. */
RING_KERNEL union ring_word ring_word_load(const struct ring_kernel_job *job, int source,
					   struct ring_word_part part)
{
	const unsigned char *from = job->sources[source] + part.offset;
	const unsigned skip = (uintptr_t)from % RING_WORD;
	if (part.bytes == RING_WORD && skip == 0)
		return ring_word_at(from);
	if (part.bytes < RING_WORD || part.offset < skip ||
	    part.offset + 2 * RING_WORD - skip > job->bytes)
		return ring_word_gather(from, part.bytes);
	return ring_word_across(from - skip, skip);
}

RING_KERNEL void ring_word_store(const struct ring_kernel_job *job, struct ring_word_part part,
				 const union ring_word *word)
{
	RING_ROLL
	for (int i = 0; i < job->nresults; i++) {
		unsigned char *to = job->results[i] + part.offset;
		if (part.bytes == RING_WORD && (uintptr_t)to % RING_WORD == 0)
			ring_word_put(to, word);
		else
			ring_word_scatter(to, word, part.bytes);
	}
}

/* Any word of any job. */
RING_KERNEL void ring_reduce_word(const struct ring_kernel_job *job, struct ring_word_kernel kernel,
				  uint64_t index)
{
	const struct ring_word_part part = ring_word_part(job, index);
	union ring_values values, right;
	union ring_word word = ring_word_load(job, 0, part);
	kernel.unpack(&values, &word);
	if (job->nscalars > 0)
		kernel.scale(&values, job->scalars[0]);
	RING_ROLL
	for (int i = 1; i < job->nsources; i++) {
		word = ring_word_load(job, i, part);
		kernel.unpack(&right, &word);
		if (i < job->nscalars)
			kernel.scale(&right, job->scalars[i]);
		kernel.fold(&values, &right);
	}
	if (job->divisor.count > 0)
		kernel.divide(&values, job->divisor);
	kernel.pack(&word, &values);
	ring_word_store(job, part, &word);
}

/* ---- batches of words, of which everything is aligned ---------------------------------------- */

struct ring_batch {
	union ring_word words[RING_BATCH];
};

struct ring_batch_part {
	uint64_t offset; /* of the first word */
	uint64_t stride; /* from one to the next */
};

RING_KERNEL void ring_batch_load(struct ring_batch *batch, struct ring_word_kernel kernel,
				 const unsigned char *source, struct ring_batch_part part)
{
	RING_UNROLL
	for (int k = 0; k < kernel.batch; k++)
		batch->words[k] = ring_word_at(source + part.offset + k * part.stride);
}

RING_KERNEL void ring_batch_store(const struct ring_batch *batch, struct ring_word_kernel kernel,
				  unsigned char *result, struct ring_batch_part part)
{
	RING_UNROLL
	for (int k = 0; k < kernel.batch; k++)
		ring_word_put(result + part.offset + k * part.stride, &batch->words[k]);
}

/* The words of one source are under way while those of the one before it are folded in. */
RING_KERNEL void ring_batch_fold(const struct ring_kernel_job *job, struct ring_word_kernel kernel,
				 struct ring_batch_part part, union ring_values *values)
{
	struct ring_batch now, next;
	union ring_values right;
	ring_batch_load(&now, kernel, job->sources[0], part);
	if (job->nsources > 1)
		ring_batch_load(&next, kernel, job->sources[1], part);
	RING_UNROLL
	for (int k = 0; k < kernel.batch; k++)
		kernel.unpack(&values[k], &now.words[k]);
	RING_ROLL
	for (int i = 1; i < job->nsources; i++) {
		now = next;
		if (i + 1 < job->nsources)
			ring_batch_load(&next, kernel, job->sources[i + 1], part);
		RING_UNROLL
		for (int k = 0; k < kernel.batch; k++) {
			kernel.unpack(&right, &now.words[k]);
			kernel.fold(&values[k], &right);
		}
	}
}

RING_KERNEL void ring_reduce_batch(const struct ring_kernel_job *job,
				   struct ring_word_kernel kernel, struct ring_batch_part part)
{
	union ring_values values[RING_BATCH];
	struct ring_batch batch;
	ring_batch_fold(job, kernel, part, values);
	RING_UNROLL
	for (int k = 0; k < kernel.batch; k++) {
		if (job->divisor.count > 0)
			kernel.divide(&values[k], job->divisor);
		kernel.pack(&batch.words[k], &values[k]);
	}
	RING_ROLL
	for (int i = 0; i < job->nresults; i++)
		ring_batch_store(&batch, kernel, job->results[i], part);
}

/* ---- the job --------------------------------------------------------------------------------- */

/*
 * What one thread does of a job, of which each does a share: words that lie next to each other are
 * done at the same time by threads that do.
 */
RING_KERNEL void ring_reduce_share(const struct ring_kernel_job *job,
				   struct ring_word_kernel kernel, uint64_t thread, uint64_t threads)
{
	const uint64_t first = job->lacks ? 1 : 0; /* a word before it goes last */
	struct ring_batch_part part;
	uint64_t i = thread;
	part.stride = threads * RING_WORD;
	for (; i + (kernel.batch - 1) * threads < job->batched; i += kernel.batch * threads) {
		part.offset = (first + i) * RING_WORD - job->lacks;
		ring_reduce_batch(job, kernel, part);
	}
	for (; i < job->words; i += threads)
		ring_reduce_word(job, kernel, i + first < job->words ? i + first : 0);
}

#define RING_EACH(bytes) RING_UNROLL for (int i = 0; i < RING_WORD / (bytes); i++)

#define RING_WORD_TYPE(TYPE, type, bytes, computed, ...)                                            \
	RING_KERNEL void ring_unpack_##type(union ring_values *values, const union ring_word *word) \
	{                                                                                           \
		RING_EACH(bytes)                                                                    \
		values->computed[i] = ring_##type##_unpack(word->type[i]);                          \
	}                                                                                           \
	RING_KERNEL void ring_scale_##type(union ring_values *values, uint64_t scalar)              \
	{                                                                                           \
		__typeof__(values->computed[0]) factor = ring_##type##_load(                        \
			(const unsigned char *)&scalar);                                            \
		RING_EACH(bytes)                                                                    \
		values->computed[i] = ring_##computed##_prod(values->computed[i], factor);          \
	}                                                                                           \
	RING_KERNEL void ring_divide_##type(union ring_values *values, struct ring_divisor divisor) \
	{                                                                                           \
		RING_EACH(bytes)                                                                    \
		values->computed[i] = ring_##computed##_divide(values->computed[i], divisor);       \
	}                                                                                           \
	RING_KERNEL void ring_pack_##type(union ring_word *word, const union ring_values *values)   \
	{                                                                                           \
		RING_EACH(bytes)                                                                    \
		word->type[i] = ring_##type##_pack(values->computed[i]);                            \
	}

/* ring_reduce_TYPE_OP_share(job, thread, threads) */
#define RING_WORD_OP(OP, op, TYPE, type, bytes, computed, ...)                                     \
	RING_KERNEL void ring_fold_##type##_##op(union ring_values *values,                        \
						 const union ring_values *right)                   \
	{                                                                                          \
		RING_EACH(bytes)                                                                   \
		values->computed[i] = ring_##computed##_##op(values->computed[i],                  \
							     right->computed[i]);                  \
	}                                                                                          \
	RING_KERNEL void ring_reduce_##type##_##op##_share(const struct ring_kernel_job *job,      \
							   uint64_t thread, uint64_t threads)      \
	{                                                                                          \
		const struct ring_word_kernel kernel = {                                           \
			RING_BATCH_OF(bytes),    ring_unpack_##type, ring_scale_##type,            \
			ring_fold_##type##_##op, ring_divide_##type, ring_pack_##type};            \
		ring_reduce_share(job, kernel, thread, threads);                                   \
	}
RING_REDUCE_TYPES(RING_WORD_TYPE, )
RING_REDUCE_PAIRS(RING_WORD_OP)

#endif
