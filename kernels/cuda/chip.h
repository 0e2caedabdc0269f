/* SPDX-License-Identifier: MIT */
/*
 * The GPUs of this process, each with its primary context, which is the one that programs of the
 * CUDA runtime use too, and with the kernels loaded there.
 */
#ifndef RING_CUDA_CHIP_H
#define RING_CUDA_CHIP_H

#include <stdbool.h>

#include "base/datatype.h"
#include "base/reduce_list.h"
#include "driver.h"
#include "kernels/device.h"
#include "kernel_job.h"

struct ring_cuda_chip {
	const struct ring_cuda_driver *driver;
	int device;
	int multiprocessors;
	int priority;           /* of the library's own streams: the highest there is */
	bool pins;              /* memory of the host that exists, under its own address */
	bool streams_see_words; /* else a kernel does it for them: `stop` */
	struct CUctx_st *context;
	struct CUfunc_st *kernels[RING_DATATYPES][RING_OPS], *stop;
	char name[104]; /* as in nvidia-smi, and its bus */
	char text[128]; /* for sentences */
};

/* The image of all kernels, image.c */
extern const unsigned char ring_cuda_image[];

/*
 * How many GPUs are visible, at least one. returns 0; RING_ENOTSUP, RING_ENOMEM, RING_ESYSTEM:
 * *failure says why
 */
int ring_cuda_chip_count(int *count, struct ring_failure *failure);

/*
 * A GPU by its number; RING_CHIP_ANY: that of the calling thread's context, or the first. It is
 * opened by whoever asks first, which loads the kernels and so waits for all that its context was
 * given; it stays open. Any thread. returns 0; RING_ENOTSUP, RING_ENOMEM, RING_ESYSTEM: *failure
 * says why, which may be NULL
 */
int ring_cuda_chip_find(int device, const struct ring_cuda_chip **chip,
			struct ring_failure *failure);

/*
 * One of those that are open, for what is done for all of them: a thread of the library's has no
 * context of its own, and none is to be made on a GPU that the program does not use. Otherwise as
 * above.
 */
int ring_cuda_chip_any(const struct ring_cuda_chip **chip, struct ring_failure *failure);

/* What a thread had before it made calls for a chip. */
struct ring_cuda_visit {
	int capture_mode;
};

/*
 * Between the two the calling thread makes calls for that chip, and no stream that is captured
 * elsewhere keeps it from that. returns 0, else an enum ring_cuda_result: leave nothing then
 */
int ring_cuda_enter(const struct ring_cuda_chip *chip, struct ring_cuda_visit *visit);
void ring_cuda_leave(const struct ring_cuda_chip *chip, const struct ring_cuda_visit *visit);

#endif
