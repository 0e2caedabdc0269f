/* SPDX-License-Identifier: MIT */
/*
 * What a communicator needs of CUDA's driver: the thread's device, its primary context, memory of
 * it, and a stream. All return an enum nccl_result, with the sentence.
 */
#ifndef NCCL_DEVICE_H
#define NCCL_DEVICE_H

#include "abi.h"

struct CUctx_st;
struct CUstream_st;

/* The calling thread's current device; the first where it has chosen none yet. */
int nccl_device_current(int *device);

int nccl_device_count(int *count);

/* Holds the device's primary context, until it is let go. */
int nccl_device_hold(int device, struct CUctx_st **context);
void nccl_device_let_go(int device);

/* Between the two the device is the calling thread's; what was its own comes back. */
int nccl_device_enter(struct CUctx_st *context);
void nccl_device_leave(void);

/* A stream of the current device that waits for no other. */
int nccl_device_stream(struct CUstream_st **stream);
void nccl_device_stream_end(struct CUstream_st *stream);

/* Copies to the host what is there once the stream has come so far, and waits for that. */
int nccl_device_read(void *host, const void *memory, size_t bytes, void *stream);

/* Memory of the thread's current device. */
int nccl_device_alloc(void **memory, size_t bytes);
int nccl_device_free(void *memory);

#endif
