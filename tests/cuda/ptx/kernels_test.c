/* SPDX-License-Identifier: MIT */
/*
 * The kernels of GPUs as the compiler has made them, run by the interpreter: the reference's bits,
 * and those of the CPU's kernels, of every type and operation, at any alignment, whatever the
 * number of threads and the order in which they run; and no access beyond a job's memory.
 *
 *	kernels_test [--seed N] [--long] [--ptx FILE]
 *
 * FILE  other PTX of theirs, as for an architecture with other instructions
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/datatype.h"
#include "kernels/cuda/gpu/kernel_job.h"
#include "ptx.h"
#include "tests/harness.h"
#include "tests/kernels/jobs.h"
#include "tests/kernels/reference.h"

#define COUNT_MOST 3000

static struct ptx_module *module;
static uint64_t dice; /* of launches: jobs are the same whoever reduces */

/* A kernel may go where its job has a source or a result, to the byte. */
static bool find(void *context, uint64_t address, struct ptx_range *range)
{
	const struct ring_kernel_job *job = context;
	for (int i = 0; i < job->nsources + job->nresults; i++) {
		const unsigned char *base = i < job->nsources ? job->sources[i]
							      : job->results[i - job->nsources];
		*range = (struct ptx_range){(uintptr_t)base, job->bytes, (char *)(uintptr_t)base,
					    NULL, NULL};
		if (address - range->address < range->bytes)
			return true;
	}
	return false;
}

static const struct ptx_function *find_kernel(const struct ring_kernel_job *job)
{
	static const char *const types[] = {
#define NAME(TYPE, type, ...) [TYPE] = #type,
		RING_REDUCE_TYPES(NAME, )};
	static const char *const ops[] = {
#define OP_NAME(OP, op, ...) [OP] = #op,
		RING_REDUCE_OPS(OP_NAME, ) RING_REDUCE_BIT_OPS(OP_NAME, )};
	const struct ptx_function *function;
	struct ptx_error error;
	char name[64];
	snprintf(name, sizeof(name), "ring_reduce_%s_%s", types[job->type], ops[job->op]);
	int err = ptx_module_function(module, name, &function, &error);
	if (err)
		printf("# %s: %s\n", name, err == PTX_INVALID ? error.text : "is not there");
	return err ? NULL : function;
}

static int reduce(const struct reducer *reducer, const struct ring_reduction *reduction)
{
	(void)reducer;
	struct ring_kernel_job job;
	struct ptx_error error;
	int err = ring_kernel_job_make(&job, reduction);
	if (err || !job.words)
		return err;
	const struct ptx_host host = {.find = find, .context = &job};
	const struct ptx_launch launch = {.function = find_kernel(&job),
					  .blocks = 1 + (unsigned)(harness_random(&dice) % 4),
					  .threads = 1 + (unsigned)(harness_random(&dice) % 96),
					  .parameters = &job,
					  .seed = harness_random(&dice),
					  .host = &host};
	if (!launch.function)
		return RING_ENOTSUP;
	err = ptx_run(&launch, &error);
	if (err)
		printf("# %s\n", error.text);
	return err ? RING_ESYSTEM : 0;
}

static struct job draw_job(enum ring_datatype type, enum ring_op op)
{
	struct job job = {.type = type,
			  .op = op,
			  .count = jobs_random() % (jobs_random() % 4 ? COUNT_MOST / 10 : COUNT_MOST),
			  .nsources = 1 + (int)(jobs_random() % 4),
			  .nresults = 1 + (int)(jobs_random() % 2),
			  .in_place = (int)(jobs_random() % 3) - 1,
			  .alike = jobs_random() % 2,
			  .divisor = jobs_random() % 3 ? 0 : jobs_random() % 65,
			  .element = jobs_random() % 4 ? jobs_mixed : jobs_special_pair};
	if (job.in_place >= job.nsources)
		job.in_place = -1;
	if (ring_op_is_of_bits(op)) {
		job.divisor = 0;
		return job;
	}
	job.nscalars = jobs_random() % 4 ? 0 : (int)(jobs_random() % (unsigned)(job.nsources + 1));
	for (int i = 0; i < job.nscalars; i++)
		job.scalars[i] = jobs_mixed(&job, 0, 0);
	return job;
}

/* returns whether something went wrong */
static int check(const struct reducer *reducer, uint64_t seed, int jobs, uint64_t *hash)
{
	const char *wrong = NULL;
	jobs_seed(seed);
	for (int k = 0; k < jobs && !wrong;) {
		const enum ring_datatype type = (enum ring_datatype)(jobs_random() % RING_DATATYPES);
		const enum ring_op op = (enum ring_op)(jobs_random() % REFERENCE_OPS);
		if (!ring_op_takes(op, type))
			continue;
		const struct job job = draw_job(type, op);
		wrong = job_check(reducer, &job);
		k++;
	}
	if (wrong)
		printf("# %s\n", wrong);
	*hash = jobs_hash();
	return wrong != NULL;
}

/* All values of 16 and 8 bits, and numbers that are rounded to them. */
static int check_conversions(const struct reducer *reducer)
{
	const char *wrong = NULL;
	for (int type = 0; type <= RING_FLOAT8_E5M2 && !wrong; type++)
		if (type == RING_FLOAT16 || type >= RING_BFLOAT16)
			wrong = jobs_check_values(reducer, (enum ring_datatype)type, RING_SUM);
	if (wrong)
		printf("# %s\n", wrong);
	return wrong != NULL;
}

/* The library's, or a file's. returns bytes, 0: there is none */
static size_t find_text(int argc, char **argv, const char **text)
{
	static char file[64 << 20];
	*text = ptx_library_text;
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], "--ptx") == 0) {
			FILE *from = fopen(argv[i + 1], "r");
			size_t bytes = from ? fread(file, 1, sizeof(file), from) : 0;
			*text = file;
			if (from)
				fclose(from);
			return bytes;
		}
	return ptx_library_bytes;
}

int main(int argc, char **argv)
{
	const struct reducer interpreted = {"PTX of", reduce, NULL};
	const struct reducer on_cpu = reducer_of(ring_cpu_family(0));
	const uint64_t seed = harness_seed(argc, argv);
	const int jobs = harness_is_long(argc, argv) ? 2000 : harness_is_quick() ? 100 : 500;
	uint64_t hash, expected;
	const char *text;
	const size_t bytes = find_text(argc, argv, &text);
	if (!bytes) {
		printf("no kernels of GPUs: configure found no nvcc\n");
		return 77;
	}
	module = ptx_module_open(text, bytes);
	if (!module)
		return 1;
	dice = seed;
	int wrong = check(&interpreted, seed, jobs, &hash) || check(&on_cpu, seed, jobs, &expected);
	if (!wrong && hash != expected) {
		printf("# other bits than the CPU's\n");
		wrong = 1;
	}
	wrong = wrong || check_conversions(&interpreted);
	ptx_module_close(module);
	printf("%d jobs, --seed %ju\n", jobs, (uintmax_t)seed);
	return wrong;
}
