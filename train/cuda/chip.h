/* SPDX-License-Identifier: MIT */
/*
 * The GPU of this process: its memory, its two streams and its kernels. One stream computes, the
 * other is for communication; an event for each bucket tells the second what of the first it waits
 * for. After the first call that fails it is given nothing more, and train_chip_wait() tells.
 */
#ifndef TRAIN_CUDA_CHIP_H
#define TRAIN_CUDA_CHIP_H

#include "jobs.h"
#include "train/model/device.h"

enum train_kernel {
#define TRAIN_KERNEL_NUMBER(name) TRAIN_KERNEL_##name,
	TRAIN_KERNELS(TRAIN_KERNEL_NUMBER)
#undef TRAIN_KERNEL_NUMBER
		TRAIN_KERNEL_COUNT
};

/* returns false with a sentence on stderr */
bool train_chip_open(int number);
void train_chip_close(void);
const char *train_chip_name(void); /* "NVIDIA H200" */

void *train_chip_alloc(size_t bytes);
void train_chip_free(void *memory);
void train_chip_read(void *host, const void *from, size_t bytes);
void train_chip_write(void *to, const void *host, size_t bytes);
void train_chip_copy(void *to, const void *from, size_t bytes);
void train_chip_clear(void *memory, size_t bytes);

int train_chip_wait(void);
void *train_chip_computing(void); /* the stream */
void *train_chip_stream(void);
void train_chip_hand_over(int bucket);
double train_chip_handed_over(int bucket);

/* For what fails beside the driver's calls; its sentence has been said. */
void train_chip_give_up(void);

/* Has a kernel do a job of this many items; none is allowed. */
void train_chip_launch(enum train_kernel kernel, const void *job, size_t items);

#endif
