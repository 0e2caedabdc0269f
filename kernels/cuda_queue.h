/* SPDX-License-Identifier: MIT */
/* A queue on a GPU: cuda.c's, of which cuda_tell.c has a part. */
#ifndef RING_CUDA_QUEUE_H
#define RING_CUDA_QUEUE_H

#include <stdbool.h>

#include "cuda_chip.h"
#include "device.h"

#define RING_CUDA_MARKS 16

/* An event in a stream, and how many jobs lie before it. */
struct ring_cuda_mark {
	struct CUevent_st *event;
	uint64_t jobs;
};

/* Somebody is to be told; cuda_tell.c's lock protects it. */
struct ring_cuda_telling {
	void (*done)(void *context); /* NULL: nobody is */
	void *context;
	struct CUevent_st *event; /* that has happened by then */
	int visitors;             /* threads that call, or look at the event */
	uint64_t round;           /* in which it was looked at last */
	struct ring_device_queue *next;
};

struct ring_device_queue {
	const struct ring_cuda_chip *chip;
	struct CUstream_st *stream;
	uint64_t submitted, finished; /* jobs */
	bool failed;

	/* Marks that were ever put, and those of them that were reached. */
	struct ring_cuda_mark marks[RING_CUDA_MARKS];
	uint64_t marked, passed;

	struct ring_cuda_telling telling;
};

/*
 * Has done(context) called, once, by another thread, when an event of the queue's stream has
 * happened, or the device has failed. returns an enum ring_cuda_result: but for RING_CUDA_OK it
 * will not be called
 */
int ring_cuda_tell(struct ring_device_queue *queue, struct CUevent_st *event,
		   void (*done)(void *context), void *context);

/* Waits until nobody is being told. Nothing is in the stream, or the device has failed. */
void ring_cuda_tell_end(struct ring_device_queue *queue);

#endif
