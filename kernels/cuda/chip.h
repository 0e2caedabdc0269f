/* SPDX-License-Identifier: MIT */
/*
 * The GPUs of this process, each with its primary context, which is the one that programs of the
 * CUDA runtime use too, and with the kernels loaded there.
 */
#ifndef RING_CUDA_CHIP_H
#define RING_CUDA_CHIP_H

#include <stdbool.h>

#include "base/datatype.h"
#include "base/log.h"
#include "base/reduce_list.h"
#include "driver.h"
#include "kernels/device.h"
#include "kernels/cuda/gpu/kernel_job.h"
#include "pulse.h"

#define RING_CUDA_CHIPS 64 /* at most */

struct ring_cuda_chip {
	const struct ring_cuda_driver *driver;
	int device;
	int multiprocessors;
	int priority;           /* of the library's own streams: the highest there is */
	size_t unit;            /* of memory that has a descriptor (mapping.h); 0: it has none */
	bool pins;              /* memory of the host that exists, under its own address */
	bool streams_see_words; /* else a kernel does it for them: `stop` */
	bool ends_kernels;      /* that run for some seconds, as where it drives a display */
	struct CUctx_st *context;
	struct CUstream_st *idle; /* is given nothing but the pulse's events */
	struct ring_cuda_pulse *pulse;
	struct CUfunc_st *kernels[RING_DATATYPES][RING_OPS], *stop;
	struct CUfunc_st *shots[RING_DATATYPES][RING_OPS], *rings[RING_DATATYPES][RING_OPS];
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

/* The same, but why is logged. returns 0; RING_ENOMEM; RING_ESYSTEM */
int ring_cuda_chip_get(int device, const struct ring_cuda_chip **chip);

/*
 * One of those that are open, for what is done for all of them: a thread of the library's has no
 * context of its own, and none is to be made on a GPU that the program does not use. Otherwise as
 * ring_cuda_chip_get().
 */
int ring_cuda_chip_any(const struct ring_cuda_chip **chip);

/* Whether a device has something. An older driver does not know the question. */
bool ring_cuda_chip_can(const struct ring_cuda_chip *chip, int attribute);

/* Logs what a call for a chip returned. returns 0; RING_ENOMEM; RING_ESYSTEM */
int ring_cuda_check_at(enum ring_log_level level, const struct ring_cuda_chip *chip, int result,
		       const char *doing);

/* The same, loudly. */
int ring_cuda_check(const struct ring_cuda_chip *chip, int result, const char *doing);

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
