/* SPDX-License-Identifier: MIT */
/*
 * Memory of GPUs by the driver's virtual memory management: physical memory that has a descriptor,
 * at addresses of its own in each process, where each device is let reach it. Those that return an
 * int return an enum ring_cuda_result. The chip was entered; whoever maps has passed the gate, but
 * for the trial when the chip is opened: no stream of the library's waits on it yet.
 */
#ifndef RING_CUDA_MAPPING_H
#define RING_CUDA_MAPPING_H

#include "chip.h"

/* Asks whether the chip's memory can be made so, and tries; its unit says what came of it. */
void ring_cuda_mapping_try(struct ring_cuda_chip *chip);

/* Memory of the chip, at least so many bytes; ring_cuda_mapping_end() is its end. */
int ring_cuda_mapping_make(const struct ring_cuda_chip *chip, size_t bytes, void **memory);

/*
 * What another process made of so many bytes; likewise. The descriptor stays the caller's. returns
 * RING_CUDA_INVALID_HANDLE, too: it is not of that size
 */
int ring_cuda_mapping_import(const struct ring_cuda_chip *chip, int fd, size_t bytes, void **memory);

void ring_cuda_mapping_end(const struct ring_cuda_chip *chip, void *memory);

/* Whether memory is one of these, perhaps the program's. */
bool ring_cuda_mapping_is(const struct ring_cuda_chip *chip, const void *memory);

/* A descriptor of the mapping that has the memory, the caller's. */
int ring_cuda_mapping_export(const struct ring_cuda_chip *chip, const void *memory, int *fd);

/* Lets the chip's jobs reach another chip's memory, all of the mapping. */
int ring_cuda_mapping_let(const struct ring_cuda_chip *chip, const void *memory);

#endif
