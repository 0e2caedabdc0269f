/* SPDX-License-Identifier: MIT */
/*
 * Jobs for whoever reduces, each checked against the reference, bit for bit, with guards around all
 * memory. Knows no test framework, so that it also runs under an emulator.
 */
#ifndef TESTS_JOBS_H
#define TESTS_JOBS_H

#include "kernels/cpu/cpu.h"

enum { JOB_COUNT_MAX = 65536 };

/* Whoever reduces: a family of the CPU's kernels, or others. */
struct reducer {
	const char *name;
	int (*reduce)(const struct reducer *reducer, const struct ring_reduction *reduction);
	const struct ring_cpu_family *family;
};

struct reducer reducer_of(const struct ring_cpu_family *family);

struct job {
	enum ring_datatype type;
	enum ring_op op;
	size_t count;
	int nsources, nresults;
	int in_place; /* results[0] is this source, -1: none; nsources: the results are the sources */
	bool past;
	bool alike; /* all memory is misaligned alike */
	uint64_t divisor;
	int nscalars;
	uint64_t scalars[RING_REDUCE_SOURCES]; /* their bits */

	uint64_t (*element)(const struct job *job, int source, size_t index); /* its bits */
};

/* Random numbers: the same seed, the same jobs. */
void jobs_seed(uint64_t seed);
unsigned long jobs_seed_as_told(void); /* RING_TEST_SEED, or 1; returns it */
uint64_t jobs_random(void);

/* Elements: any bits, special values or ordinary numbers; all pairs of special values; of bytes. */
uint64_t jobs_mixed(const struct job *job, int source, size_t index);
uint64_t jobs_special_pair(const struct job *job, int source, size_t index);
uint64_t jobs_byte_pair(const struct job *job, int source, size_t index);

/* Runs one job at random alignments. returns NULL, or what went wrong, valid until the next call */
const char *job_check(const struct reducer *reducer, const struct job *job);

/* All shapes of one type and operation: lengths, sources, results, places, scalars, divisors. */
const char *jobs_check_shapes(const struct reducer *reducer, enum ring_datatype type,
			      enum ring_op op);

/* Pairs of special values, all pairs of 8 bits, all values of 16 bits, and many random ones. */
const char *jobs_check_values(const struct reducer *reducer, enum ring_datatype type,
			      enum ring_op op);

/* Both, of every type and operation. */
const char *jobs_check_all(const struct reducer *reducer);

/* A hash of all results so far: equal for all reducers and machines. */
uint64_t jobs_hash(void);

#endif
