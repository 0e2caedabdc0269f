/* SPDX-License-Identifier: MIT */
/*
 * Modules and launches. A module knows every kernel by name, whatever its image is, unless it runs
 * the image's PTX. A kernel is loaded when it is first launched, which waits for all that the
 * context was given, or before by whoever asks for its attributes.
 */
#include "fake.h"
#include "kernel.h"
#include "tests/cuda/ptx/ptx.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAUSE_NS 20000
#define BLOCK_THREADS 1024
#define REGISTERS 32
#define BINARY_VERSION 90

struct CUfunc_st {
	struct CUctx_st *context;
	const struct fake_kernel *kernel; /* NULL: it is run from PTX */
	const struct ptx_function *ptx;
	char name[256];
	bool loaded;
	struct CUfunc_st *next;
};

struct CUmod_st {
	struct CUctx_st *context;
	struct CUfunc_st *functions;
	struct ptx_module *ptx; /* NULL: it has none */
	struct CUmod_st *next;
};

/* ---- while a kernel runs --------------------------------------------------------------------- */

#define KNOWN 4

struct launch {
	struct CUctx_st *context;
	struct fake_place_in_grid at;
	double began;
	jmp_buf failed;
	struct fake_crossing crossing;
	/* Ranges that it has read, or written; they stay, if freeing waits for it. */
	struct known {
		struct fake_range ranges[KNOWN];
		unsigned count;
	} read, written;
};

static _Thread_local struct launch *launch;

const struct fake_place_in_grid *fake_place_in_grid(void)
{
	return &launch->at;
}

/* returns NULL: the kernel may not go there */
static const struct fake_range *find_range(const char *address, enum fake_access access)
{
	struct known *known = access == FAKE_READS ? &launch->read : &launch->written;
	for (unsigned i = 0; i < KNOWN && fake_settings.frees_wait; i++)
		if ((size_t)(address - known->ranges[i].base) < known->ranges[i].bytes)
			return &known->ranges[i];
	struct fake_range *range = &known->ranges[known->count++ % KNOWN];
	if (fake_memory_find(address, range) && fake_memory_is_open(launch->context, range, access))
		return range;
	range->bytes = 0;
	return NULL;
}

static void *reach(const void *address, enum fake_access access, size_t alignment, size_t bytes)
{
	if ((uintptr_t)address % alignment)
		longjmp(launch->failed, RING_CUDA_MISALIGNED_ADDRESS);
	const struct fake_range *range = find_range(address, access);
	size_t offset = range ? (size_t)((const char *)address - range->base) : 0;
	if (!range || bytes > range->bytes - offset)
		longjmp(launch->failed, RING_CUDA_ILLEGAL_ADDRESS);
	uint64_t *moved = access == FAKE_READS ? launch->crossing.loaded : launch->crossing.stored;
	moved[fake_port_of(range)] += bytes;
	return range->place + offset;
}

void *fake_reach(const void *address, size_t bytes)
{
	return reach(address, FAKE_READS, bytes, bytes);
}

void *fake_reach_to(void *address, size_t bytes)
{
	return reach(address, FAKE_WRITES, bytes, bytes);
}

/* Elements are aligned as their largest members, of at most 8 bytes. */
void *fake_reach_all(const void *address, size_t element_bytes, size_t count)
{
	size_t alignment = element_bytes & -element_bytes;
	return reach(address, FAKE_READS, alignment < 8 ? alignment : 8, element_bytes * count);
}

void fake_pause(void)
{
	if (fake_context_is_over(launch->context))
		longjmp(launch->failed, RING_CUDA_LAUNCH_FAILED);
	if (fake_settings.limit_ms && fake_now() - launch->began > fake_settings.limit_ms * 1e-3)
		longjmp(launch->failed, RING_CUDA_LAUNCH_TIMEOUT);
	nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
}

/* The parameters lie one behind the other, each on a multiple of 16. */
static size_t aligned(size_t bytes)
{
	return (bytes + 15) / 16 * 16;
}

static void run_grid(const struct fake_work *work, struct fake_place_in_grid *at)
{
	void *parameters[FAKE_PARAMETERS];
	char *parameter = work->launch.parameters;
	for (int i = 0; i < FAKE_PARAMETERS && work->launch.kernel->bytes[i]; i++) {
		parameters[i] = parameter;
		parameter += aligned(work->launch.kernel->bytes[i]);
	}
	at->blocks = work->launch.blocks;
	at->threads = work->launch.threads;
	for (at->block = 0; at->block < at->blocks; at->block++)
		for (at->thread = 0; at->thread < at->threads; at->thread++)
			work->launch.kernel->body(parameters);
}

static int run(struct CUctx_st *context, struct fake_work *work)
{
	struct launch this_one = {.context = context, .began = fake_now()};
	launch = &this_one;
	int err = setjmp(this_one.failed);
	if (!err)
		run_grid(work, &this_one.at);
	fake_port_runs(context, &this_one.crossing);
	launch = NULL;
	return err;
}

static void free_parameters(struct fake_work *work)
{
	free(work->launch.parameters);
}

/* ---- modules --------------------------------------------------------------------------------- */

void fake_modules_end(struct CUctx_st *context)
{
	for (struct CUmod_st *module = context->modules, *next; module; module = next) {
		next = module->next;
		for (struct CUfunc_st *f = module->functions, *following; f; f = following) {
			following = f->next;
			free(f);
		}
		fake_ptx_close(module->ptx);
		free(module);
	}
	context->modules = NULL;
}

int cuModuleLoadData(struct CUmod_st **module, const void *image)
{
	int err = fake_begin(__func__, FAKE_CONTEXT | FAKE_SAFE);
	if (err)
		return err;
	struct CUmod_st *it = image ? calloc(1, sizeof(*it)) : NULL;
	if (!it)
		return fake_end(image ? RING_CUDA_OUT_OF_MEMORY : RING_CUDA_INVALID_VALUE);
	it->context = fake_current();
	err = fake_image_check(image);
	if (!err)
		err = fake_ptx_open(image, &it->ptx);
	if (!err && fake_settings.eager)
		err = fake_context_await(it->context, __func__);
	if (err) {
		fake_ptx_close(it->ptx);
		free(it);
		return fake_end(err);
	}
	it->next = it->context->modules;
	it->context->modules = it;
	*module = it;
	return fake_end(0);
}

int cuModuleGetLoadingMode(int *mode)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	*mode = fake_settings.eager ? RING_CUDA_LOADING_EAGER : RING_CUDA_LOADING_LAZY;
	return fake_end(0);
}

int cuModuleUnload(struct CUmod_st *module)
{
	int err = fake_begin(__func__, FAKE_CONTEXT | FAKE_SAFE);
	if (err)
		return err;
	struct CUctx_st *context = fake_current();
	struct CUmod_st **place = &context->modules;
	while (*place && *place != module)
		place = &(*place)->next;
	if (!*place)
		return fake_end(RING_CUDA_INVALID_HANDLE);
	err = fake_context_await(context, __func__);
	if (err)
		return fake_end(err);
	*place = module->next;
	struct CUctx_st alone = {.modules = module};
	module->next = NULL;
	fake_modules_end(&alone);
	return fake_end(0);
}

static const struct fake_kernel *find_kernel(const char *name)
{
	const struct fake_kernel *const lists[] = {fake_kernels, fake_trainer_kernels};
	for (int i = 0; i < 2; i++)
		for (const struct fake_kernel *kernel = lists[i]; kernel->name; kernel++)
			if (strcmp(kernel->name, name) == 0)
				return kernel;
	return NULL;
}

/* From PTX, if there is some; if not, of the host. */
static int find(const struct CUmod_st *module, struct CUfunc_st *it)
{
	int err = RING_CUDA_NOT_FOUND;
	if (module->ptx)
		err = fake_ptx_find(module->ptx, it->name, &it->ptx);
	if (err == RING_CUDA_NOT_FOUND)
		it->kernel = find_kernel(it->name);
	return it->kernel ? 0 : err;
}

int cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module, const char *name)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	if (!module || !name)
		return fake_end(module ? RING_CUDA_NOT_FOUND : RING_CUDA_INVALID_HANDLE);
	struct CUfunc_st *it = calloc(1, sizeof(*it));
	if (!it)
		return fake_end(RING_CUDA_OUT_OF_MEMORY);
	it->context = module->context;
	it->loaded = fake_settings.eager;
	snprintf(it->name, sizeof(it->name), "%s", name);
	err = find(module, it);
	if (err) {
		free(it);
		return fake_end(err);
	}
	it->next = module->functions;
	module->functions = it;
	*function = it;
	return fake_end(0);
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Of a block. */
static unsigned most_threads(const struct CUfunc_st *function)
{
	const unsigned most = function->ptx ? ptx_threads_most(function->ptx) : 0;
	return most ? most : BLOCK_THREADS;
}

static int load(const char *function, struct CUfunc_st *it)
{
	int err = it->loaded ? 0 : fake_context_await(it->context, function);
	if (!err)
		it->loaded = true;
	return err;
}

int cuFuncLoad(struct CUfunc_st *function)
{
	int err = fake_begin(__func__, FAKE_CONTEXT | FAKE_SAFE);
	if (err)
		return err;
	return fake_end(function ? load(__func__, function) : RING_CUDA_INVALID_HANDLE);
}

int cuFuncGetAttribute(int *value, int attribute, struct CUfunc_st *function)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	err = function ? load(__func__, function) : RING_CUDA_INVALID_HANDLE;
	if (err)
		return fake_end(err);
	switch (attribute) {
	case RING_CUDA_THREADS_MAX:
		*value = (int)most_threads(function);
		break;
	case RING_CUDA_LOCAL_BYTES:
		*value = 0;
		break;
	case RING_CUDA_REGISTERS:
		*value = REGISTERS;
		break;
	case RING_CUDA_BINARY_VERSION:
		*value = BINARY_VERSION;
		break;
	default:
		err = RING_CUDA_INVALID_VALUE;
	}
	return fake_end(err);
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct CUfunc_st *function,
						int block_threads, size_t shared_bytes)
{
	(void)shared_bytes;
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	if (!function || block_threads < 1)
		return fake_end(RING_CUDA_INVALID_VALUE);
	*blocks = block_threads > (int)most_threads(function) ? 0 : FAKE_BLOCKS_AT_ONCE;
	return fake_end(0);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* They may change once the call has returned. */
static char *copy_parameters(const struct fake_kernel *kernel, void **from)
{
	size_t bytes = 16;
	for (int i = 0; i < FAKE_PARAMETERS && kernel->bytes[i]; i++)
		bytes += aligned(kernel->bytes[i]);
	char *copies = aligned_alloc(16, bytes), *to = copies;
	for (int i = 0; copies && i < FAKE_PARAMETERS && kernel->bytes[i]; i++) {
		memcpy(to, from[i], kernel->bytes[i]);
		to += aligned(kernel->bytes[i]);
	}
	return copies;
}

/* CUDA_LAUNCH_BLOCKING */
static int finish(const char *name, struct CUstream_st *stream)
{
	bool took = fake_context_lock(stream->context, name);
	int err = fake_job_await(stream->last, stream->context, name);
	fake_context_unlock(stream->context, took);
	return err;
}

static int submit(const char *name, struct CUfunc_st *function, struct CUstream_st *stream,
		  struct fake_work *work, void **arguments)
{
	int err = load(name, function);
	if (err)
		return err;
	work->launch.parameters = function->ptx ? fake_ptx_parameters(function->ptx, arguments)
						: copy_parameters(function->kernel, arguments);
	if (!work->launch.parameters)
		return RING_CUDA_OUT_OF_MEMORY;
	err = fake_submit(name, stream, work, NULL);
	return err || !fake_settings.blocking || stream->captured ? err : finish(name, stream);
}

int cuLaunchKernel(struct CUfunc_st *function, unsigned blocks_x, unsigned blocks_y,
		   unsigned blocks_z, unsigned threads_x, unsigned threads_y, unsigned threads_z,
		   unsigned shared_bytes, struct CUstream_st *handle, void **arguments, void **extra)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	struct CUstream_st *stream;
	err = function ? fake_stream_find(handle, &stream) : RING_CUDA_INVALID_HANDLE;
	if (!err && (stream->context != function->context || stream->context != fake_current()))
		err = RING_CUDA_INVALID_HANDLE;
	if (!err &&
	    (!arguments || extra || !blocks_x || !threads_x || threads_x > most_threads(function) ||
	     blocks_y != 1 || blocks_z != 1 || threads_y != 1 || threads_z != 1))
		err = RING_CUDA_INVALID_VALUE;
	if (err)
		return fake_end(err);
	struct fake_work work = {.name = function->name,
				 .run = function->ptx ? fake_ptx_run : run,
				 .end = free_parameters,
				 .waits = function->ptx || function->kernel->waits,
				 .launch = {function->kernel, function->ptx, blocks_x, threads_x,
					    shared_bytes, NULL}};
	return fake_end(submit(__func__, function, stream, &work, arguments));
}
