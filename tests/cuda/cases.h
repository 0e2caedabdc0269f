/* SPDX-License-Identifier: MIT */
/*
 * Tests of the row `cuda` of the table of devices over the fake driver: every case is a process of
 * its own, with the settings of that driver that it asks for.
 */
#ifndef CUDA_CASES_H
#define CUDA_CASES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"
#include "kernels/device.h"

#define CHECK(condition)                                                                           \
	((condition) ? (void)0                                                                     \
		     : (printf("# %s:%d: not so: %s\n", __FILE__, __LINE__, #condition), exit(1)))

struct cuda_case {
	const char *name;
	void (*run)(void);
	const char *environment; /* NAME=VALUE ... */
	bool no_driver;          /* is opened before */
};

/* The row. */
extern const struct ring_device *device;

/* All of them, up to one without a name. returns main()'s status */
int cases_run(int argc, char **argv, const struct cuda_case *cases);

/* ---- what they make, until the process ends --------------------------------------------------- */

struct ring_device_queue *cases_queue(int chip);
char *cases_allocate(int chip, size_t bytes);

/* A stream of the program's on device 0, which is the thread's then, and the row's for it. */
struct CUstream_st *cases_stream(struct ring_device_stream **stream);

/* Memory of the host that the device reaches. */
void *cases_pinned(size_t bytes);

/* Jobs of the queue that are finished; waits until all are. */
uint64_t cases_finished(struct ring_device_queue *queue);
void cases_await(struct ring_device_queue *queue, uint64_t jobs);

/* A semaphore, for tell(). */
void cases_post(void *semaphore);

#endif
