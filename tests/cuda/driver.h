/* SPDX-License-Identifier: MIT */
/*
 * For tests that call the driver themselves: all its functions, found in whichever libcuda.so.1 the
 * system's loader finds, which is the fake one after cuda_use_fake.
 */
#ifndef DRIVER_H
#define DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "more_calls.h"

struct cuda_calls {
#define CUDA_MEMBER(name, symbol, parameters, ...) int(*name) parameters;
	RING_CUDA_CALLS(CUDA_MEMBER)
	RING_CUDA_MAPPING_CALLS(CUDA_MEMBER)
	MORE_CUDA_CALLS(CUDA_MEMBER)
#undef CUDA_MEMBER
};

extern struct cuda_calls cuda;

/*
 * Starts the program once more with the fake driver in front of all others; returns where that has
 * happened. Ends the program with 77 if no shared libraries were built. RING_TEST_GPU: whichever
 * driver there is, which may be a machine's own.
 */
void cuda_use_fake(char **argv);

/* Finds all functions of `cuda`. Says what it misses. */
bool cuda_open(void);

/*
 * Of the fake driver, in this process: from here on calls fail as RING_FAKE_CUDA_FAIL would have them,
 * counted anew. returns how many have failed so since the last time
 */
unsigned cuda_fail(const char *faults);

/* How many calls of a function were made since. */
unsigned cuda_made(const char *function);

/* Ends the process if that is an error, saying which and what was called where. */
#define CUDA_MUST(call) cuda_must((call), #call, __FILE__, __LINE__)
void cuda_must(int result, const char *call, const char *file, int line);

/* Memory of a device, byte by byte, by copies that are over when they return. */
void cuda_fill(void *far, size_t bytes, unsigned char value);
bool cuda_is_full_of(const void *far, size_t bytes, unsigned char value);

#endif
