/* SPDX-License-Identifier: MIT */
/*
 * What reductions of the size of messages cost, as the compiler has made them and calls launch
 * them: instructions for each word of a result, loads under way where a thread stalls, and the
 * share of accesses that move a whole word. Two sources and a result, aligned alike. A figure that
 * is worse than the table below fails; one that is much better is worth recording there.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/datatype.h"
#include "kernels/cuda/gpu/kernel_job.h"
#include "ptx.h"

#define BYTES_MOST ((size_t)1 << 20)
#define MULTIPROCESSORS 132 /* an H100's */

static _Alignas(64) unsigned char memory[3][BYTES_MOST];

/* X(type, bytes of a message, instructions a word at most, loads under way at least) */
#define FIGURES(X)                                                                                 \
	X(FLOAT32, 16384, 66, 8)                                                                   \
	X(FLOAT32, 65536, 66, 8)                                                                   \
	X(FLOAT32, 1048576, 66, 8)                                                                 \
	X(FLOAT64, 65536, 48, 8)                                                                   \
	X(INT8, 65536, 198, 4)                                                                     \
	X(UINT8, 65536, 198, 4)                                                                    \
	X(INT32, 65536, 46, 8)                                                                     \
	X(UINT32, 65536, 46, 8)                                                                    \
	X(INT64, 65536, 35, 8)                                                                     \
	X(UINT64, 65536, 38, 8)                                                                    \
	X(BFLOAT16, 16384, 162, 8)                                                                 \
	X(BFLOAT16, 65536, 162, 8)                                                                 \
	X(FLOAT16, 65536, 141, 8)                                                                  \
	X(FLOAT8_E4M3, 65536, 1170, 4)                                                             \
	X(FLOAT8_E5M2, 65536, 1170, 4)

static const struct figure {
	enum ring_datatype type;
	const char *kernel;
	size_t bytes;
	double instructions, loads;
} figures[] = {
#define ROW(type, bytes, instructions, loads) {RING_##type, #type, bytes, instructions, loads},
	FIGURES(ROW)};

static bool find(void *context, uint64_t address, struct ptx_range *range)
{
	(void)context;
	*range = (struct ptx_range){(uintptr_t)memory, sizeof(memory), (char *)memory, NULL, NULL};
	return address - range->address < range->bytes;
}

/* returns 0, or what was said */
static int run(struct ptx_module *module, const struct figure *figure, struct ptx_counts *counts)
{
	struct ring_reduction sum = {.sources = {memory[0], memory[1]},
				     .nsources = 2,
				     .results = {memory[2]},
				     .nresults = 1,
				     .count = figure->bytes / ring_datatype_bytes(figure->type),
				     .type = figure->type,
				     .op = RING_SUM};
	struct ring_kernel_job job;
	struct ptx_error error;
	char name[64];
	snprintf(name, sizeof(name), "ring_reduce_%s_sum", figure->kernel);
	for (char *c = name; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
	const struct ptx_host host = {.find = find};
	struct ptx_launch launch = {.threads = RING_BLOCK_THREADS,
				    .parameters = &job,
				    .seed = 1,
				    .host = &host,
				    .counts = counts};
	int err = ring_kernel_job_make(&job, &sum);
	launch.blocks = ring_kernel_job_blocks(&job, MULTIPROCESSORS);
	if (!err)
		err = ptx_module_function(module, name, &launch.function, &error);
	if (!err)
		err = ptx_run(&launch, &error);
	if (err)
		printf("# %s: error %d\n", name, err);
	return err;
}

/* returns whether it is as good as recorded */
static bool check(struct ptx_module *module, const struct figure *figure)
{
	struct ptx_counts counts = {0};
	if (run(module, figure, &counts))
		return false;
	uint64_t accesses = 0;
	for (int k = 0; k < 5; k++)
		accesses += counts.loads[k] + counts.stores[k];
	const uint64_t words = figure->bytes / RING_WORD, whole = counts.loads[4] + counts.stores[4];
	const double instructions = (double)counts.instructions / (double)words;
	const double loads = (double)counts.flights / (double)counts.stalls;
	printf("%-12s %8zu bytes: %6.1f instructions a word, %4.1f loads under way, %5.1f %% of 16 "
	       "bytes\n",
	       figure->kernel, figure->bytes, instructions, loads,
	       100 * (double)whole / (double)accesses);
	const bool good = instructions <= figure->instructions && loads >= figure->loads &&
			  whole == accesses && whole == 3 * words;
	if (!good)
		printf("# that should be at most %.1f, at least %.1f, and all\n",
		       figure->instructions, figure->loads);
	return good;
}

int main(void)
{
	bool good = true;
	if (!ptx_library_bytes) {
		printf("no kernels of GPUs: configure found no nvcc\n");
		return 77;
	}
	struct ptx_module *module = ptx_module_open(ptx_library_text, ptx_library_bytes);
	for (size_t k = 0; module && k < sizeof(figures) / sizeof(*figures); k++)
		good &= check(module, &figures[k]);
	ptx_module_close(module);
	return !module || !good;
}
