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
#include "kernels/cuda/gpu/reduce_kernel.h"

typedef void share_function(const struct ring_kernel_job *job, uint64_t thread, uint64_t threads);

#define SHARE(OP, op, TYPE, type, ...)                                                             \
	static void share_##type##_##op(const struct ring_kernel_job *job, uint64_t thread,        \
					uint64_t threads)                                          \
	{                                                                                          \
		ring_reduce_##type##_##op##_share(job, thread, threads);                           \
	}
RING_REDUCE_PAIRS(SHARE)

#define ROW(OP, op, TYPE, type, ...) [TYPE][OP] = share_##type##_##op,
static share_function *const shares[RING_DATATYPES][RING_OPS] = {RING_REDUCE_PAIRS(ROW)};

static unsigned long seed;
static size_t accesses, misaligned;

/* Loads between two stores are under way at the same time. */
static struct {
	const unsigned char *result; /* all behind it is stored to */
	size_t many, loads, at_once; /* loads in all, and those of which so many are under way */
	size_t under_way;
} flights;

static void fly(const unsigned char *address)
{
	if (address < flights.result) {
		flights.under_way++;
		return;
	}
	flights.loads += flights.under_way;
	flights.at_once += flights.under_way >= flights.many ? flights.under_way : 0;
	flights.under_way = 0;
}

static void *reach(const void *address, size_t bytes)
{
	accesses++;
	misaligned += (uintptr_t)address % bytes != 0;
	fly(address);
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

#define LARGEST (1 << 20)

/* The share of a sum's loads of which a batch is under way, by as many threads as it is given. */
static double share_at_once(enum ring_datatype type, size_t bytes, int multiprocessors)
{
	static _Alignas(64) unsigned char memory[3][LARGEST];
	struct ring_reduction pair = {.sources = {memory[0], memory[1]},
				      .nsources = 2,
				      .results = {memory[2]},
				      .nresults = 1,
				      .count = bytes / ring_datatype_bytes(type),
				      .type = type};
	struct ring_kernel_job job;
	assert_int_equal(ring_kernel_job_make(&job, &pair), 0);
	uint64_t threads = ring_kernel_job_blocks(&job, multiprocessors) * RING_BLOCK_THREADS;
	flights.result = memory[2];
	flights.many = 2 * RING_BATCH_OF(ring_datatype_bytes(type));
	flights.loads = flights.at_once = flights.under_way = 0;
	for (uint64_t thread = 0; thread < threads; thread++)
		shares[job.type][job.op](&job, thread, threads);
	return (double)flights.at_once / (double)flights.loads;
}

/* At the sizes of calls' messages, on GPUs small and large. */
static void words_are_moved_in_batches(void **state)
{
	static const size_t sizes[] = {16 << 10, 48 << 10, 65408, 64 << 10, 256 << 10, 1 << 20};
	static const int multiprocessors[] = {4, 68, 132};
	(void)state;
	for (int type = 0; type <= RING_FLOAT8_E5M2; type++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			for (int m = 0; m < 3; m++)
				assert_true(share_at_once((enum ring_datatype)type, sizes[i],
							  multiprocessors[m]) > 0.9);
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
		cmocka_unit_test(words_are_moved_in_batches),
		cmocka_unit_test(unknown_kernels_are_refused),
	};
	seed = jobs_seed_as_told();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
