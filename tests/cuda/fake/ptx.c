/* SPDX-License-Identifier: MIT */
/*
 * Kernels from PTX: that of an image which is a text or has one, and for the library's image the
 * text that the same compiler made of the same sources, as the image has it packed. What the
 * interpreter needs of the driver is here: where memory lies, when to give up, and whether a block
 * has a place.
 */
#include "fake.h"
#include "tests/cuda/ptx/ptx.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ptx_module *library;
static atomic_uint blocks_at_once[FAKE_DEVICES];
static atomic_uint_fast64_t launches;

/* ---- images ---------------------------------------------------------------------------------- */

/* A text begins with a comment or with .version; anything else is for kernels by name. */
static bool is_text(const char *image)
{
	image += strspn(image, " \t\n");
	return strncmp(image, "//", 2) == 0 || strncmp(image, ".version", 8) == 0;
}

/* As drivers print what they cannot load, if they are asked to. */
static void complain(const struct ptx_error *error)
{
	fprintf(stderr, "fake CUDA driver: %s\n", error->text);
}

int fake_ptx_open(const void *image, struct ptx_module **module)
{
	const char *text = is_text(image) ? image : fake_image_text(image);
	*module = NULL;
	if (text) {
		*module = ptx_module_open(text, strlen(text));
		return *module ? 0 : RING_CUDA_OUT_OF_MEMORY;
	}
	if (!fake_settings.ptx)
		return 0;
	if (!library)
		library = ptx_module_open(ptx_library_text, ptx_library_bytes);
	*module = library;
	return library ? 0 : RING_CUDA_OUT_OF_MEMORY;
}

/* The library's stays, as reading it takes time. */
void fake_ptx_close(struct ptx_module *module)
{
	if (module != library)
		ptx_module_close(module);
}

int fake_ptx_find(struct ptx_module *module, const char *name, const struct ptx_function **function)
{
	struct ptx_error error;
	int err = ptx_module_function(module, name, function, &error);
	if (err == PTX_INVALID)
		complain(&error);
	return err;
}

char *fake_ptx_parameters(const struct ptx_function *function, void **arguments)
{
	size_t offset, bytes;
	char *parameters = calloc(1, ptx_parameter_bytes(function) + 1);
	for (int i = 0; parameters && ptx_parameter(function, i, &offset, &bytes); i++)
		memcpy(parameters + offset, arguments[i], bytes);
	return parameters;
}

/* ---- while a grid runs ----------------------------------------------------------------------- */

/* A grid, as the interpreter's callbacks know it. */
struct grid {
	struct CUctx_st *context;
	struct fake_crossing crossing;
};

static bool find(void *context, uint64_t address, struct ptx_range *range)
{
	struct grid *grid = context;
	struct fake_range found;
	if (!fake_memory_find((const void *)(uintptr_t)address, &found) ||
	    !fake_memory_is_open(grid->context, &found, FAKE_BOTH))
		return false;
	const int port = fake_port_of(&found);
	*range = (struct ptx_range){(uintptr_t)found.base, found.bytes, found.place,
				    &grid->crossing.loaded[port], &grid->crossing.stored[port]};
	return true;
}

static bool is_over(void *context)
{
	return fake_context_is_over(((struct grid *)context)->context);
}

static atomic_uint *blocks_of(void *context)
{
	return &blocks_at_once[((struct grid *)context)->context->device];
}

/* As many blocks are on a device as it says that there are at most. */
static bool enter(void *context)
{
	atomic_uint *blocks = blocks_of(context);
	if (atomic_fetch_add(blocks, 1) < FAKE_MULTIPROCESSORS * FAKE_BLOCKS_AT_ONCE)
		return true;
	atomic_fetch_sub(blocks, 1);
	return false;
}

static void leave(void *context)
{
	atomic_fetch_sub(blocks_of(context), 1);
}

int fake_ptx_run(struct CUctx_st *context, struct fake_work *work)
{
	struct grid grid = {.context = context};
	const struct ptx_host host = {find, is_over, enter, leave, &grid};
	const struct ptx_launch launch = {
		.function = work->launch.ptx,
		.blocks = work->launch.blocks,
		.threads = work->launch.threads,
		.shared_bytes = work->launch.shared_bytes,
		.parameters = work->launch.parameters,
		.seed = fake_settings.seed << 32 ^ atomic_fetch_add(&launches, 1),
		.host = &host,
	};
	struct ptx_error error;
	int err = ptx_run(&launch, &error);
	fake_port_runs(context, &grid.crossing);
	if (err && !fake_context_is_over(context))
		fprintf(stderr, "fake CUDA driver: %s; RING_FAKE_CUDA_SEED=%ju\n", error.text,
			(uintmax_t)fake_settings.seed);
	return err;
}
