/* SPDX-License-Identifier: MIT */
/* A queue on a GPU: cuda.c's, of which tell.c has a part. */
#ifndef RING_CUDA_QUEUE_H
#define RING_CUDA_QUEUE_H

#include <stdbool.h>

#include "chip.h"
#include "kernels/device.h"

#define RING_CUDA_MARKS 16

/* An event in a stream, and how many jobs lie before it. */
struct ring_cuda_mark {
	struct CUevent_st *event;
	uint64_t jobs;
};

/* Somebody is to be told; tell.c's lock protects what it does not say of others. */
struct ring_cuda_telling {
	const struct ring_cuda_chip *chip; /* its owner's, as is what it looks at */
	/* Whether words of the host's are there, at least as large as that; NULL: an event is */
	bool (*are_there)(const void *words, uint64_t least);
	const void *words;
	uint64_t least;
	void (*done)(void *context); /* NULL: nobody is */
	void *context;
	struct CUevent_st *event; /* that has happened by then, without words */
	int visitors;             /* threads that call, or look at the event */
	uint64_t round;           /* in which it was looked at last */
	struct ring_cuda_telling *next;
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

extern const struct ring_device_streams ring_cuda_streams; /* stream.c's */
extern const struct ring_device_calls ring_cuda_calls;     /* calls.c's */

/* The program's own. */
struct CUstream_st *ring_cuda_stream_handle(const struct ring_device_stream *stream);

/* Whether a stream of the program's may be stopped there. Any thread; cheap. */
bool ring_cuda_may_be_stopped(const struct ring_cuda_chip *chip);

/* Whether a word that a stream writes is at least so much: what it did before is seen then. */
static inline bool ring_cuda_word_is(const uint32_t *word, uint32_t least)
{
	return (int32_t)(__atomic_load_n(word, __ATOMIC_ACQUIRE) - least) >= 0;
}

/*
 * Has done(context) called, once, by another thread, when the words are there, without words when
 * the event has happened, or when the device has failed. returns an enum ring_cuda_result: but for
 * RING_CUDA_OK it will not be called
 */
int ring_cuda_tell(struct ring_cuda_telling *telling, struct CUevent_st *event,
		   void (*done)(void *context), void *context);

/* Waits until nobody is being told. What they wait for is there, or the device has failed. */
void ring_cuda_tell_end(struct ring_cuda_telling *telling);

/* Nobody will be told any more, who was not yet. */
void ring_cuda_tell_cancel(struct ring_cuda_telling *telling);

#endif
