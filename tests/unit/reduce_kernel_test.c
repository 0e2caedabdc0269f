/* SPDX-License-Identifier: MIT */
/*
 * The kernels of GPUs, compiled for the host and run by as many threads as there might be, one
 * after the other: the reference's bits, at any alignment, and nothing beside. Conversions are those
 * of the plain CPU kernels (convert_test). RING_TEST_SEED repeats a failure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/kernels/jobs.h"
#include "tests/kernels/reference.h"

/* All accesses of a kernel come by here. */
static void *reach(const void *address, size_t bytes);
#define RING_KERNEL_REACH reach
#include "kernels/cuda/reduce_kernel.h"

typedef void share_function(const struct ring_kernel_job *job, uint64_t thread, uint64_t threads);

#define SHARE(OP, op, TYPE, type, ...)                                                             \
	static void share_##type##_##op(const struct ring_kernel_job *job, uint64_t thread,        \
					uint64_t threads)                                          \
	{                                                                                          \
		ring_reduce_##type##_##op##_share(job, thread, threads);                           \
	}
#define SHARES(...) RING_REDUCE_OPS(SHARE, __VA_ARGS__)
RING_REDUCE_TYPES(SHARES, )

#define ROW(OP, op, TYPE, type, ...) [TYPE][OP] = share_##type##_##op,
#define ROWS(...) RING_REDUCE_OPS(ROW, __VA_ARGS__)
static share_function *const shares[RING_DATATYPES][RING_OPS] = {RING_REDUCE_TYPES(ROWS, )};

static unsigned long seed;
static size_t accesses, misaligned;

static void *reach(const void *address, size_t bytes)
{
	accesses++;
	misaligned += (uintptr_t)address % bytes != 0;
	return (void *)(uintptr_t)address;
}

static int reduce(const struct reducer *reducer, const struct ring_reduction *reduction)
{
	(void)reducer;
	static const uint64_t counts[] = {1, 2, 7, 32};
	struct ring_kernel_job job;
	int err = ring_kernel_job_make(&job, reduction);
	if (err)
		return err;
	uint64_t threads = counts[jobs_random() % 4];
	for (uint64_t thread = 0; thread < threads; thread++)
		shares[job.type][job.op](&job, thread, threads);
	return 0;
}

static const struct reducer on_host = {"kernels of GPUs on the host", reduce, NULL};

static void all_kernels(void **state)
{
	(void)state;
	const char *wrong = jobs_check_all(&on_host);
	if (wrong)
		fail_msg("%s; RING_TEST_SEED=%lu", wrong, seed);
	assert_int_equal(misaligned, 0);
}

#define WORDS 1000

/* Two sources and a result that begin at the same place of a word, but for what `moved` is added to. */
static size_t accesses_of_pair(size_t place, size_t moved)
{
	static _Alignas(64) unsigned char memory[3][(WORDS + 8) * RING_WORD];
	struct ring_reduction pair = {.sources = {memory[0] + place, memory[1] + place + moved},
				      .nsources = 2,
				      .results = {memory[2] + place},
				      .nresults = 1,
				      .count = WORDS * RING_WORD / 2,
				      .type = RING_BFLOAT16};
	accesses = 0;
	assert_int_equal(on_host.reduce(&on_host, &pair), 0);
	return accesses;
}

/* One access for each word where all is aligned alike; two where it is not, but bytes at the ends. */
static void words_are_moved_whole(void **state)
{
	(void)state;
	assert_int_equal(accesses_of_pair(0, 0), 3 * WORDS);
	assert_int_equal(accesses_of_pair(2, 0), 3 * (WORDS - 1 + RING_WORD));
	assert_in_range(accesses_of_pair(0, 1), 4 * WORDS - 2, 4 * WORDS + 2 * RING_WORD);
	assert_in_range(accesses_of_pair(0, 15), 4 * WORDS - 2, 4 * WORDS + 2 * RING_WORD);
}

static void unknown_kernels_are_refused(void **state)
{
	(void)state;
	char element[8] = {0};
	struct ring_reduction unknown = {.sources = {element},
					 .nsources = 1,
					 .results = {element},
					 .nresults = 1,
					 .count = 1,
					 .type = (enum ring_datatype)(RING_FLOAT8_E5M2 + 1)};
	assert_int_equal(on_host.reduce(&on_host, &unknown), RING_ENOTSUP);
	unknown.type = RING_INT8;
	unknown.op = (enum ring_op)REFERENCE_OPS;
	assert_int_equal(on_host.reduce(&on_host, &unknown), RING_ENOTSUP);
	unknown.op = RING_AVG;
	unknown.count = 0;
	assert_int_equal(on_host.reduce(&on_host, &unknown), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kernels),
		cmocka_unit_test(words_are_moved_whole),
		cmocka_unit_test(unknown_kernels_are_refused),
	};
	seed = jobs_seed_as_told();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
