/* SPDX-License-Identifier: MIT */
/*
 * Runs kernels on the CPU from their PTX, the assembly that nvcc makes of them and that drivers
 * translate: what is tested is what the compiler made, not its source compiled for the host.
 *
 *	text.c        words of the text
 *	module.c      which functions there are, and what they declare
 *	decode.c      a statement becomes an instruction
 *	operand.c     what it works on
 *	arithmetic.c  integers, floats, comparisons
 *	bits.c        shifts, fields, bytes
 *	convert.c     from one type to another
 *	half.c        floats of 16 bits
 *	access.c      loads and stores: addresses, spaces, traps
 *	atomic.c      reading, changing and writing at once
 *	memory.c      the memory model
 *	call.c        functions that kernels call
 *	registers.c   which of them can share a place
 *	control.c     branches, barriers, what the threads of a warp exchange
 *	grid.c        blocks and their threads, interleaved at random
 *	counts.c      what a run costs
 *
 * It knows what nvcc makes of the library's kernels and those of the tests, and no more: whatever
 * it does not know is an error that names the line. Nothing here says how fast a GPU is.
 *
 * Memory is as weak as PTX allows, within these limits: scopes of a device and of the system are
 * the same; relaxed loads are done in order; atomics happen at once.
 *
 *  - What threads store is seen by others in any order, except at one address, until a release or
 *    a fence, which comes behind all that its thread did, and all that others of its block did
 *    before a barrier of both. A release may be seen long after later loads were done.
 *  - Vectors are stored element by element.
 *  - Weak loads find what their block has seen before, or what was there at any time since the
 *    thread's last acquire or fence, or that of others of its block before a barrier of both.
 *    ld.global.nc finds what its block has seen before, whatever happened since.
 *  - The end of a grid is a release, its beginning an acquire.
 *
 * Blocks run to their end once they have begun, and have all the time that they need.
 */
#ifndef PTX_H
#define PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a run or a text ends with: the numbers that the driver has for it. */
enum ptx_result {
	PTX_OK = 0,
	PTX_OUT_OF_MEMORY = 2,
	PTX_INVALID = 218, /* a text that is not understood */
	PTX_ILLEGAL_ADDRESS = 700,
	PTX_MISALIGNED_ADDRESS = 716,
	PTX_LAUNCH_FAILED = 719, /* a trap, threads that wait for each other, an end */
};

/* For people: the line of the text, and what is wrong with it. */
struct ptx_error {
	char text[320];
};

struct ptx_function;

/*
 * A text of PTX, which must stay while the module is there. Functions are read when they are first
 * asked for, and stay. One thread at a time.
 */
struct ptx_module *ptx_module_open(const char *text, size_t bytes); /* NULL: out of memory */
void ptx_module_close(struct ptx_module *module);

/* returns 0; RING_CUDA's NOT_FOUND, 500, without an error; PTX_INVALID */
int ptx_module_function(struct ptx_module *module, const char *name,
			const struct ptx_function **function, struct ptx_error *error);

/* Where a parameter lies in the bytes of all; false: there are no more. */
bool ptx_parameter(const struct ptx_function *function, int index, size_t *offset, size_t *bytes);
size_t ptx_parameter_bytes(const struct ptx_function *function); /* of all */

/* Threads that a block may have at most; 0: the kernel does not say. */
unsigned ptx_threads_most(const struct ptx_function *function);

/*
 * Addresses of which kernels know, and where the interpreter finds them: aligned alike. Bytes that
 * loads and stores move are added to the last two, unless they are NULL.
 */
struct ptx_range {
	uint64_t address;
	size_t bytes;
	char *place;
	uint64_t *loaded, *stored;
};

/* Who runs it. Called by the thread that runs the grid. */
struct ptx_host {
	/* What an address lies in, until the grid's end. returns false: it may not go there */
	bool (*find)(void *context, uint64_t address, struct ptx_range *range);
	/* True once the grid should give up. May be NULL. */
	bool (*is_over)(void *context);
	/* Takes a block's place on the device, if there is one; leaves it. May be NULL. */
	bool (*enter)(void *context);
	void (*leave)(void *context);
	void *context;
};

/* What a run costs. Accesses are those of global memory, by the logarithm of their bytes. */
struct ptx_counts {
	uint64_t instructions;
	uint64_t loads[5], stores[5];
	uint64_t stalls;  /* a thread needs what it has loaded */
	uint64_t flights; /* loads under way then, added up    */
};

struct ptx_launch {
	const struct ptx_function *function;
	unsigned blocks, threads; /* of each block */
	size_t shared_bytes;      /* beside those that the function has */
	const void *parameters;
	uint64_t seed;
	const struct ptx_host *host;
	struct ptx_counts *counts; /* added to; NULL: not counted, which is faster */
};

/* Blocks until the grid's end. returns 0, or an enum ptx_result and what has happened */
int ptx_run(const struct ptx_launch *launch, struct ptx_error *error);

/* The library's own kernels, as the compiler has made them of the same sources; empty: no nvcc. */
extern const char ptx_library_text[];
extern const size_t ptx_library_bytes;

#endif
