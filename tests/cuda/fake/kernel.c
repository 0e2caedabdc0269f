/* SPDX-License-Identifier: MIT */
/*
 * Modules and launches. A module knows every kernel by name, whatever its image is. A kernel is
 * loaded when it is first launched, which waits for all that the context was given, or before by
 * whoever asks for its attributes.
 */
#include "fake.h"
#include "kernel.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAUSE_NS 20000
#define BLOCK_THREADS 1024
#define REGISTERS 32
#define BINARY_VERSION 90
#define BLOCKS_AT_ONCE 2

struct CUfunc_st {
	struct CUctx_st *context;
	const struct fake_kernel *kernel;
	bool loaded;
	struct CUfunc_st *next;
};

struct CUmod_st {
	struct CUctx_st *context;
	struct CUfunc_st *functions;
	struct CUmod_st *next;
};

/* ---- while a kernel runs --------------------------------------------------------------------- */

#define KNOWN 4

struct launch {
	struct CUctx_st *context;
	struct fake_place_in_grid at;
	jmp_buf failed;
	/* Ranges that it has reached; they stay, as freeing waits for it. */
	struct fake_range known[KNOWN];
	unsigned nknown;
};

static _Thread_local struct launch *launch;

const struct fake_place_in_grid *fake_place_in_grid(void)
{
	return &launch->at;
}

/* returns NULL: the kernel may not go there */
static const struct fake_range *find_range(const char *address)
{
	for (unsigned i = 0; i < KNOWN; i++)
		if ((size_t)(address - launch->known[i].base) < launch->known[i].bytes)
			return &launch->known[i];
	struct fake_range *range = &launch->known[launch->nknown++ % KNOWN];
	if (fake_memory_find(address, range) && fake_memory_is_open(launch->context, range))
		return range;
	range->bytes = 0;
	return NULL;
}

void *fake_reach(const void *address, size_t bytes)
{
	if ((uintptr_t)address % bytes)
		longjmp(launch->failed, RING_CUDA_MISALIGNED_ADDRESS);
	const struct fake_range *range = find_range(address);
	size_t offset = range ? (size_t)((const char *)address - range->base) : 0;
	if (!range || bytes > range->bytes - offset)
		longjmp(launch->failed, RING_CUDA_ILLEGAL_ADDRESS);
	return range->place + offset;
}

void fake_pause(void)
{
	if (fake_context_is_over(launch->context))
		longjmp(launch->failed, RING_CUDA_LAUNCH_FAILED);
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
	struct launch this_one = {.context = context};
	launch = &this_one;
	int err = setjmp(this_one.failed);
	if (!err)
		run_grid(work, &this_one.at);
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
	if (fake_settings.eager)
		err = fake_context_await(it->context, __func__);
	if (err) {
		free(it);
		return fake_end(err);
	}
	it->next = it->context->modules;
	it->context->modules = it;
	*module = it;
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
	for (const struct fake_kernel *kernel = fake_kernels; kernel->name; kernel++)
		if (strcmp(kernel->name, name) == 0)
			return kernel;
	return NULL;
}

int cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module, const char *name)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	const struct fake_kernel *kernel = name ? find_kernel(name) : NULL;
	if (!module || !kernel)
		return fake_end(module ? RING_CUDA_NOT_FOUND : RING_CUDA_INVALID_HANDLE);
	struct CUfunc_st *it = calloc(1, sizeof(*it));
	if (!it)
		return fake_end(RING_CUDA_OUT_OF_MEMORY);
	*it = (struct CUfunc_st){module->context, kernel, fake_settings.eager, module->functions};
	module->functions = it;
	*function = it;
	return fake_end(0);
}

/* ---- functions ------------------------------------------------------------------------------- */

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
		*value = BLOCK_THREADS;
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
	*blocks = block_threads > BLOCK_THREADS ? 0 : BLOCKS_AT_ONCE;
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

static int submit(const char *name, struct CUfunc_st *function, struct CUstream_st *stream,
		  struct fake_work *work, void **arguments)
{
	int err = load(name, function);
	if (err)
		return err;
	work->launch.parameters = copy_parameters(function->kernel, arguments);
	if (!work->launch.parameters)
		return RING_CUDA_OUT_OF_MEMORY;
	return fake_submit(name, stream, work, NULL);
}

int cuLaunchKernel(struct CUfunc_st *function, unsigned blocks_x, unsigned blocks_y,
		   unsigned blocks_z, unsigned threads_x, unsigned threads_y, unsigned threads_z,
		   unsigned shared_bytes, struct CUstream_st *handle, void **arguments, void **extra)
{
	(void)shared_bytes;
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	struct CUstream_st *stream;
	err = function ? fake_stream_find(handle, &stream) : RING_CUDA_INVALID_HANDLE;
	if (!err && (stream->context != function->context || stream->context != fake_current()))
		err = RING_CUDA_INVALID_HANDLE;
	if (!err && (!arguments || extra || !blocks_x || !threads_x || threads_x > BLOCK_THREADS ||
		     blocks_y != 1 || blocks_z != 1 || threads_y != 1 || threads_z != 1))
		err = RING_CUDA_INVALID_VALUE;
	if (err)
		return fake_end(err);
	struct fake_work work = {.name = function->kernel->name,
				 .run = run,
				 .end = free_parameters,
				 .launch = {function->kernel, blocks_x, threads_x, NULL}};
	return fake_end(submit(__func__, function, stream, &work, arguments));
}
