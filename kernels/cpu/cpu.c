/* SPDX-License-Identifier: MIT */
/*
 * The CPU as a device: every job is finished when it is submitted. The loops are loops.c's;
 * here the family is chosen and a job is cut into them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/copy.h"
#include "cpu.h"
#include "features.h"
#include "stream.h"

/* ---- which kernel ---------------------------------------------------------------------------- */

extern const struct ring_cpu_family ring_cpu_avx512fp16, ring_cpu_avx512bf16, ring_cpu_avx512,
	ring_cpu_avx2, ring_cpu_neon, ring_cpu_plain;

#if defined(HAVE_AVX512BF16) && defined(HAVE_AVX2)
#define HAVE_ZEN4
/*
 * Does vectors of 64 bytes in two steps, and adds halves faster in vectors of 32 (66 -> 78 GB/s).
 */
static struct ring_cpu_family zen4;

__attribute__((constructor)) static void compose_zen4(void)
{
	zen4 = ring_cpu_avx512bf16;
	zen4.name = "zen4";
	memcpy(zen4.kernels[RING_FLOAT16], ring_cpu_avx2.kernels[RING_FLOAT16],
	       sizeof(zen4.kernels[RING_FLOAT16]));
}
#endif

/*
 * How far ahead sums prefetch. (1 MiB in shared memory that 2 ranks have just written, on CPUs with
 * float16 arithmetic, 2048 -> 4096: now and then 36 -> 26 us; others were not measured.)
 */
#define AHEAD 2048
#define AHEAD_FP16 4096
size_t ring_cpu_ahead = AHEAD;

#if defined(HAVE_AVX512FP16) && defined(HAVE_AVX512BF16)
#define HAVE_FP16
/*
 * Adds in vectors of 32 bytes (Makefile.am): where the system copies in between, vectors of 64 took
 * up to 1.14 times as long (private memory, 64 KiB to 1 MiB on 2 ranks). But sums in place, in
 * memory that ranks reach into, take vectors of 64: those of 32 took up to 1.15 times as long.
 */
static struct ring_cpu_family fp16;

static void take_wide(size_t type, size_t op)
{
	static struct ring_cpu_kernel mixed[RING_DATATYPES][RING_OPS];
	const struct ring_cpu_kernel *wide = ring_cpu_avx512bf16.kernels[type][op];
	struct ring_cpu_kernel *kernel = &mixed[type][op];
	if (!wide || !ring_cpu_avx512bf16.kernels[type][RING_SUM]->eight)
		return; /* converted types keep their own */
	*kernel = *fp16.kernels[type][op];
	kernel->both = wide->both;
	kernel->four = wide->four;
	kernel->eight = wide->eight;
	fp16.kernels[type][op] = kernel;
}

__attribute__((constructor)) static void compose_fp16(void)
{
	__builtin_cpu_init();
	if (runs_avx512fp16())
		ring_cpu_ahead = AHEAD_FP16;
	fp16 = ring_cpu_avx512fp16;
	for (size_t type = 0; type < RING_DATATYPES; type++)
		for (size_t op = 0; op < RING_OPS; op++)
			take_wide(type, op);
}
#endif

static const struct {
	const struct ring_cpu_family *family;
	bool (*runs)(void);
} families[] = {
#ifdef HAVE_FP16
	{&fp16, runs_avx512fp16},
#endif
#ifdef HAVE_ZEN4
	{&zen4, runs_zen4},
#endif
#ifdef HAVE_AVX512BF16
	{&ring_cpu_avx512bf16, runs_avx512bf16},
#endif
#ifdef HAVE_AVX512
	{&ring_cpu_avx512, runs_avx512},
#endif
#ifdef HAVE_AVX2
	{&ring_cpu_avx2, runs_avx2},
#endif
#ifdef HAVE_NEON
	{&ring_cpu_neon, runs_always},
#endif
	{&ring_cpu_plain, runs_always},
};

const struct ring_cpu_family *ring_cpu_family(int index)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		if (families[i].runs() && index-- == 0)
			return families[i].family;
	}
	return NULL;
}

const struct ring_cpu_kernel *ring_cpu_kernel(const struct ring_cpu_family *family,
					      enum ring_datatype type, enum ring_op op)
{
	if (op == RING_AVG)
		op = RING_SUM; /* the divisor makes the average */
	if (ring_datatype_bytes(type) == 0 || (unsigned)op >= RING_OPS)
		return NULL;
	bool as_bytes = ring_op_is_of_bits(op) && ring_op_takes(op, type);
	return family->kernels[as_bytes ? RING_UINT8 : type][op];
}

/* ---- one job --------------------------------------------------------------------------------- */

/*
 * A job is done in parts. Each reads all sources before it writes a result, which may be one of
 * them, and copies its result to further ones while it is in the cache.
 */
struct part {
	size_t offset, count; /* bytes; elements */
};

static const void *source(const struct ring_reduction *reduction, int index, struct part part)
{
	return (const char *)reduction->sources[index] + part.offset;
}

static void *result(const struct ring_reduction *reduction, int index, struct part part)
{
	return (char *)reduction->results[index] + part.offset;
}

/*
 * What is done with a job's sources; a pair is two different ones and nothing else. Ranks that
 * reach into each other's memory write the sum to all of it in one pass (two passes took up to 1.27
 * times as long).
 */
enum way { COPIES, ADDS_A_PAIR, ADDS_TO_TWO, ADDS_TO_ALL, FOLDS };

/* True if the results are the sources, each once. */
static bool is_in_place(const struct ring_reduction *reduction)
{
	bool same = reduction->nresults == reduction->nsources;
	for (int i = 0; same && i < reduction->nsources; i++) {
		int written = 0, read = 0;
		for (int k = 0; k < reduction->nsources; k++) {
			written += reduction->results[k] == reduction->sources[i];
			read += reduction->sources[k] == reduction->results[i];
		}
		same = written == 1 && read == 1;
	}
	return same;
}

static bool adds_to_all(const struct ring_cpu_kernel *kernel, const struct ring_reduction *reduction)
{
	const int count = reduction->nsources;
	return ((count == 2 && kernel->both) || (count == 4 && kernel->four) ||
		(count == 8 && kernel->eight)) &&
	       is_in_place(reduction);
}

static enum way way_of(const struct ring_cpu_kernel *kernel, const struct ring_reduction *reduction)
{
	if (reduction->divisor > 1 || reduction->nscalars > 0)
		return FOLDS;
	if (reduction->nsources == 1)
		return COPIES;
	if (adds_to_all(kernel, reduction))
		return ADDS_TO_ALL;
	bool pair = reduction->nsources == 2 && reduction->sources[0] != reduction->sources[1];
	if (!pair || !kernel->loops.pair)
		return FOLDS;
	return kernel->two && reduction->nresults == 2 && !reduction->past ? ADDS_TO_TWO
									   : ADDS_A_PAIR;
}

static void reduce_pair(const struct ring_cpu_kernel *kernel,
			const struct ring_reduction *reduction, struct part part)
{
	const void *left = source(reduction, 0, part), *right = source(reduction, 1, part);
	void *to = result(reduction, 0, part);
	if (to == left)
		kernel->loops.onto(to, right, part.count);
	else if (to == right)
		kernel->loops.onto(to, left, part.count);
	else
		kernel->loops.pair(to, left, right, part.count);
}

static void load_tile(const struct ring_cpu_kernel *kernel, const struct ring_reduction *reduction,
		      int index, struct part part, union ring_tile *tile)
{
	kernel->load(tile, source(reduction, index, part), part.count);
	if (index < reduction->nscalars)
		kernel->scale(tile, &reduction->scalars[index], part.count);
}

/* Folds in source `index`, and two more if that takes one pass. Returns how many. */
static int fold_tile(const struct ring_cpu_kernel *kernel, const struct ring_reduction *reduction,
		     int index, struct part part, union ring_tile *tile)
{
	union ring_tile other;
	const void *from = source(reduction, index, part);
	if (index < reduction->nscalars) {
		load_tile(kernel, reduction, index, part, &other);
		kernel->fold_tile(tile, &other, part.count);
		return 1;
	}
	if (!kernel->fold_three || reduction->nsources - index < 3) {
		kernel->fold(tile, from, part.count);
		return 1;
	}
	kernel->fold_three(tile, from, source(reduction, index + 1, part),
			   source(reduction, index + 2, part), part.count);
	return 3;
}

static void reduce_tile(const struct ring_cpu_kernel *kernel,
			const struct ring_reduction *reduction, struct part part)
{
	union ring_tile tile;
	load_tile(kernel, reduction, 0, part, &tile);
	for (int i = 1; i < reduction->nsources;)
		i += fold_tile(kernel, reduction, i, part, &tile);
	if (reduction->divisor > 1)
		kernel->divide(&tile, reduction->divisor, part.count);
	kernel->store(result(reduction, 0, part), &tile, part.count);
}

static void copy_bytes(void *dst, const void *src, size_t bytes)
{
	if (dst != src && bytes > 0)
		ring_copy(dst, src, bytes);
}

/* The first result to all others. */
static void copy_on(const struct ring_cpu_family *family, const struct ring_reduction *reduction,
		    struct part part, size_t bytes)
{
	const void *from = result(reduction, 0, part);
	int i = 1;
	for (; i + 3 <= reduction->nresults; i += 3)
		family->spread(result(reduction, i, part), result(reduction, i + 1, part),
			       result(reduction, i + 2, part), from, bytes);
	for (; i < reduction->nresults; i++)
		copy_bytes(result(reduction, i, part), from, bytes);
}

static void reduce_part(const struct ring_cpu_family *family, const struct ring_cpu_kernel *kernel,
			const struct ring_reduction *reduction, enum way way, struct part part)
{
	size_t bytes = part.count * ring_datatype_bytes(reduction->type);
	if (way == COPIES)
		copy_bytes(result(reduction, 0, part), source(reduction, 0, part), bytes);
	else if (way == ADDS_A_PAIR)
		reduce_pair(kernel, reduction, part);
	else
		reduce_tile(kernel, reduction, part);
	if (reduction->nresults > 1)
		copy_on(family, reduction, part, bytes);
}

/* Results this large are out of the cache when they are read next. */
#define STREAM_BYTES ((size_t)32 << 20)

/* Elements before the first whole line of the result. */
static size_t head_of(const struct ring_reduction *reduction)
{
	size_t past = (uintptr_t)reduction->results[0] % RING_STREAM_LINE;
	size_t bytes = past ? RING_STREAM_LINE - past : 0;
	return bytes / ring_datatype_bytes(reduction->type);
}

static bool is_streamed(const struct ring_reduction *reduction)
{
	const void *to = reduction->results[0];
	size_t element_bytes = ring_datatype_bytes(reduction->type);
	return reduction->count * element_bytes >= STREAM_BYTES && to != reduction->sources[0] &&
	       to != reduction->sources[1] && (uintptr_t)to % element_bytes == 0;
}

/*
 * A pair through a small buffer, from the result's first whole line on; less than a buffer is left
 * at the end. Returns the elements that are done.
 */
static size_t stream_pair(const struct ring_cpu_family *family, const struct ring_cpu_kernel *kernel,
			  const struct ring_reduction *reduction)
{
	_Alignas(RING_STREAM_LINE) unsigned char buffer[512];
	size_t element_bytes = ring_datatype_bytes(reduction->type);
	size_t step = sizeof(buffer) / element_bytes, done = head_of(reduction);
	reduce_part(family, kernel, reduction, ADDS_A_PAIR, (struct part){0, done});
	for (; done + step <= reduction->count; done += step) {
		struct part part = {done * element_bytes, step};
		kernel->loops.pair(buffer, source(reduction, 0, part), source(reduction, 1, part),
				   step);
		family->stream(result(reduction, 0, part), buffer, sizeof(buffer));
	}
	family->stream_end();
	return done;
}

/* Not inlined, like tiles: so small sums need no room for their buffers. */
__attribute__((noinline)) static void reduce_streaming(const struct ring_cpu_family *family,
						       const struct ring_cpu_kernel *kernel,
						       const struct ring_reduction *reduction)
{
	size_t done = stream_pair(family, kernel, reduction);
	reduce_pair(kernel, reduction,
		    (struct part){done * ring_datatype_bytes(reduction->type),
				  reduction->count - done});
}

__attribute__((noinline)) static void reduce_in_tiles(const struct ring_cpu_family *family,
						      const struct ring_cpu_kernel *kernel,
						      const struct ring_reduction *reduction,
						      enum way way)
{
	size_t element_bytes = ring_datatype_bytes(reduction->type), count = reduction->count;
	for (size_t done = 0; done < count; done += RING_TILE) {
		size_t rest = count - done;
		struct part part = {done * element_bytes, rest < RING_TILE ? rest : RING_TILE};
		reduce_part(family, kernel, reduction, way, part);
	}
}

static void reduce_to_all(const struct ring_cpu_kernel *kernel,
			  const struct ring_reduction *reduction)
{
	void *const *all = (void *const *)reduction->sources;
	const size_t count = reduction->count;
	if (reduction->nsources == 2)
		kernel->both(all[0], all[1], count);
	else if (reduction->nsources == 4)
		kernel->four(all[0], all[1], all[2], all[3], count);
	else
		kernel->eight(all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7], count);
}

/*
 * A large copy, past the caches as far as that pays. Not inlined: so small copies need no room for
 * it.
 */
__attribute__((noinline)) static void copy_much(const struct ring_cpu_family *family, void *dst,
						const void *src, size_t bytes)
{
	size_t done = 0;
	if (family->stream_much && dst != src && bytes >= RING_STREAM_LINE) {
		size_t head = -(uintptr_t)dst % RING_STREAM_LINE;
		copy_bytes(dst, src, head);
		done = head + family->stream_much((char *)dst + head, (const char *)src + head,
						  bytes - head);
	}
	copy_bytes((char *)dst + done, (const char *)src + done, bytes - done);
}

/* A job is a chunk, which stays in the cache for the second result and for later ones. */
static void copy_much_to_all(const struct ring_cpu_family *family,
			     const struct ring_reduction *reduction)
{
	size_t bytes = reduction->count * ring_datatype_bytes(reduction->type);
	for (int i = 0; i < reduction->nresults; i++)
		copy_much(family, reduction->results[i], reduction->sources[0], bytes);
}

static void reduce(const struct ring_cpu_family *family, const struct ring_cpu_kernel *kernel,
		   const struct ring_reduction *reduction)
{
	enum way way = way_of(kernel, reduction);
	if (way == COPIES && reduction->past && family->stream_much)
		copy_much_to_all(family, reduction);
	else if (way == ADDS_TO_ALL)
		reduce_to_all(kernel, reduction);
	else if (way == ADDS_TO_TWO)
		kernel->two(reduction->results[0], reduction->results[1], reduction->sources[0],
			    reduction->sources[1], reduction->count);
	else if (way == FOLDS || way == COPIES || reduction->nresults > 1)
		reduce_in_tiles(family, kernel, reduction, way);
	else if (family->stream && is_streamed(reduction))
		reduce_streaming(family, kernel, reduction);
	else
		reduce_pair(kernel, reduction, (struct part){0, reduction->count});
}

/* Operations on bits have kernels of bytes alone. */
static void reduce_as_bytes(const struct ring_cpu_family *family,
			    const struct ring_cpu_kernel *kernel,
			    const struct ring_reduction *reduction)
{
	struct ring_reduction of_bytes = *reduction;
	of_bytes.count *= ring_datatype_bytes(reduction->type);
	of_bytes.type = RING_UINT8;
	reduce(family, kernel, &of_bytes);
}

#define FUNCTION_BYTES 4096 /* that a program's function gets at once */

static bool is_aligned(const void *memory, size_t bytes)
{
	return (uintptr_t)memory % bytes == 0;
}

/* The function works on a copy, as a result may be any of the sources, and neither be aligned. */
static void reduce_part_by_function(const struct ring_reduction *reduction, struct part part)
{
	_Alignas(64) unsigned char to[FUNCTION_BYTES], aligned[FUNCTION_BYTES];
	size_t element_bytes = ring_datatype_bytes(reduction->type);
	size_t bytes = part.count * element_bytes;
	memcpy(to, source(reduction, 0, part), bytes);
	for (int i = 1; i < reduction->nsources; i++) {
		const void *from = source(reduction, i, part);
		if (!is_aligned(from, element_bytes))
			from = memcpy(aligned, from, bytes);
		reduction->function.call(to, from, part.count, reduction->function.context);
	}
	for (int i = 0; i < reduction->nresults; i++)
		memcpy(result(reduction, i, part), to, bytes);
}

static void reduce_by_function(const struct ring_reduction *reduction)
{
	size_t element_bytes = ring_datatype_bytes(reduction->type);
	size_t most = FUNCTION_BYTES / element_bytes;
	for (size_t done = 0; done < reduction->count; done += most) {
		size_t rest = reduction->count - done;
		struct part part = {done * element_bytes, rest < most ? rest : most};
		reduce_part_by_function(reduction, part);
	}
}

int ring_cpu_reduce(const struct ring_cpu_family *family, const struct ring_reduction *reduction)
{
	if (reduction->function.call) {
		reduce_by_function(reduction);
		return 0;
	}
	const struct ring_cpu_kernel *kernel = ring_cpu_kernel(family, reduction->type,
							       reduction->op);
	if (!kernel)
		return RING_ENOTSUP;
	if (ring_op_is_of_bits(reduction->op))
		reduce_as_bytes(family, kernel, reduction);
	else
		reduce(family, kernel, reduction);
	return 0;
}

/* ---- the device ------------------------------------------------------------------------------ */

struct ring_device_queue {
	const struct ring_cpu_family *family;
	uint64_t jobs;
};

static bool cpu_owns(const void *memory)
{
	(void)memory;
	return true; /* all that no other device claims */
}

static int cpu_alloc(int chip, size_t bytes, void **memory)
{
	(void)chip;
	return posix_memalign(memory, 64, bytes) ? RING_ENOMEM : 0;
}

static int cpu_queue_open(int chip, struct ring_device_queue **queue)
{
	(void)chip;
	struct ring_device_queue *new = calloc(1, sizeof(*new));
	if (!new)
		return RING_ENOMEM;
	new->family = ring_cpu_family(0);
	*queue = new;
	return 0;
}

static void cpu_queue_close(struct ring_device_queue *queue)
{
	free(queue);
}

static int cpu_reduce(struct ring_device_queue *queue, const struct ring_reduction *reduction)
{
	int err = ring_cpu_reduce(queue->family, reduction);
	if (!err)
		queue->jobs++;
	return err;
}

static int cpu_copy(struct ring_device_queue *queue, void *dst, const void *src, size_t bytes,
		    bool past)
{
	if (past)
		copy_much(queue->family, dst, src, bytes);
	else
		copy_bytes(dst, src, bytes);
	queue->jobs++;
	return 0;
}

static const struct ring_pair_loops *cpu_pair_loops(struct ring_device_queue *queue,
						    enum ring_datatype type, enum ring_op op)
{
	const struct ring_cpu_kernel *kernel = ring_cpu_kernel(queue->family, type, op);
	bool counts_bytes = ring_op_is_of_bits(op); /* and not elements */
	return kernel && kernel->loops.pair && !counts_bytes ? &kernel->loops : NULL;
}

static int cpu_finished(struct ring_device_queue *queue, uint64_t *jobs)
{
	*jobs = queue->jobs;
	return 0;
}

const struct ring_device ring_device_cpu = {
	.name = "cpu",
	.owns = cpu_owns,
	.alloc = cpu_alloc,
	.free = free,
	.queue_open = cpu_queue_open,
	.queue_close = cpu_queue_close,
	.reduce = cpu_reduce,
	.copy = cpu_copy,
	.pair_loops = cpu_pair_loops,
	.finished = cpu_finished,
};
