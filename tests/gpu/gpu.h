/* SPDX-License-Identifier: MIT */
/*
 * What programs need that ask a GPU something: a device, its driver, a few kernels, and clocks. The
 * driver is whichever the system's loader finds. Calls that no program can do without end the
 * process where they fail (CUDA_MUST).
 */
#ifndef GPU_H
#define GPU_H

#include "tests/cuda/driver.h"

/* A device, whose context is current for the thread that opened it. */
struct gpu {
	int device, multiprocessors;
	struct CUctx_st *context;
	int greatest;            /* priority of streams */
	struct CUmod_st *module; /* has these kernels, which are loaded; gpu.c says what they do */
	struct CUfunc_st *store; /* (uint32_t *to, uint32_t value) */
	struct CUfunc_st *hop;   /* (mine, theirs, uint32_t rounds, uint32_t leads) */
	struct CUfunc_st *copy;  /* (to, from, uint64_t words of 16 bytes) */
	struct CUfunc_st *gaps;  /* (uint64_t out[3], uint64_t ns) */
};

extern const char gpu_image[]; /* PTX of these kernels */

/* Finds the driver, and says which of its calls are missing. returns whether there is one */
bool gpu_driver(void);

/*
 * Finds the driver and starts it. returns the number of devices; 0: *why says why there is none
 */
int gpu_find(const char **why);

void gpu_open(struct gpu *gpu, int device);

/* A function of the driver that is in no list; NULL: it has none. */
void *gpu_symbol(const char *name);

struct CUstream_st *gpu_stream(int priority);
struct CUevent_st *gpu_event(void);
void *gpu_pinned(size_t bytes); /* for all contexts, zeroed */
void *gpu_memory(size_t bytes); /* of the current device */

/* As one thread, and as a grid. return what the driver says */
int gpu_store(struct CUfunc_st *store, struct CUstream_st *stream, void *to, uint32_t value);
int gpu_copy(const struct gpu *gpu, struct CUstream_st *stream, void *to, const void *from,
	     size_t bytes, int blocks);
int gpu_hop(const struct gpu *gpu, struct CUstream_st *stream, void *mine, void *theirs,
	    uint32_t rounds, bool leads);

/* GB/s of copies in one direction, by kernels of so many blocks or, with 0, by the copy engines. */
struct gpu_rate {
	const struct gpu *gpu;
	void *to;
	const void *from;
	size_t room; /* bytes of both */
	int blocks;
};

/*
 * Measures for some milliseconds, with more bytes until a copy takes long enough, or all are
 * copied; *bytes says how many.
 */
double gpu_measure(const struct gpu_rate *rate, size_t *bytes);

/* "CUDA_ERROR_..." or "0" */
const char *gpu_name(int result);

double gpu_clock(void); /* seconds */
void gpu_sleep(double seconds);

#endif
