/* SPDX-License-Identifier: MIT */
/* What a device promises of memory, kept by GPUs: functions of struct ring_device, see there. */
#ifndef RING_CUDA_MEMORY_H
#define RING_CUDA_MEMORY_H

#include "kernels/device.h"

bool ring_cuda_memory_owns(const void *memory);
int ring_cuda_memory_look(const void *memory, size_t bytes, struct ring_memory_sort *sort,
			  struct ring_failure *failure);
int ring_cuda_memory_alloc(int number, size_t bytes, void **memory);
void ring_cuda_memory_leave(void *memory);
void ring_cuda_memory_free(void *memory);
int ring_cuda_memory_host_alloc(size_t bytes, void **memory);
void ring_cuda_memory_host_free(void *memory);
int ring_cuda_memory_pin(void *memory, size_t bytes);
void ring_cuda_memory_unpin(void *memory, size_t bytes);

extern const struct ring_device_lending ring_cuda_lending; /* lending.c */

#endif
