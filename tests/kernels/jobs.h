/* SPDX-License-Identifier: MIT */
/*
 * Jobs for a family of CPU kernels, each checked against the reference, bit for bit, with guards
 * around all memory. Knows no test framework, so that it also runs under an emulator.
 */
#ifndef TESTS_JOBS_H
#define TESTS_JOBS_H

#include "kernels/cpu.h"

enum { JOB_COUNT_MAX = 65536 };

struct job {
	enum ring_datatype type;
	enum ring_op op;
	size_t count;
	int nsources, nresults;
	int in_place; /* results[0] is this source, -1: none; nsources: the results are the sources */
	bool past;
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
const char *job_check(const struct ring_cpu_family *family, const struct job *job);

/* All shapes of one type and operation: lengths, sources, results, places, scalars, divisors. */
const char *jobs_check_shapes(const struct ring_cpu_family *family, enum ring_datatype type,
			      enum ring_op op);

/* Pairs of special values, all pairs of 8 bits, all values of 16 bits, and many random ones. */
const char *jobs_check_values(const struct ring_cpu_family *family, enum ring_datatype type,
			      enum ring_op op);

/* A hash of all results so far: equal for all families and machines. */
uint64_t jobs_hash(void);

#endif
