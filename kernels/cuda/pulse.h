/* SPDX-License-Identifier: MIT */
/*
 * Whether a GPU works, while somebody waits for words of the host's that it is to write: if it has
 * failed it never will. Only the driver knows, and its calls may have to wait for the program,
 * which may be waiting for a call of the library's. So a thread asks of which nobody needs anything
 * else: what it heard last is there to be read, and while it cannot ask the GPU works.
 */
#ifndef RING_CUDA_PULSE_H
#define RING_CUDA_PULSE_H

#include <stdbool.h>

struct CUevent_st;
struct ring_cuda_chip;

struct ring_cuda_pulse {
	const struct ring_cuda_chip *chip;
	struct CUevent_st *event; /* recorded where nothing else is given to */
	int watched;              /* so often; pulse.c's lock */
	bool has_thread;
	int result; /* the first that was none of a GPU that works */
};

/* In the chip's context. returns an enum ring_cuda_result */
int ring_cuda_pulse_open(struct ring_cuda_pulse *pulse, const struct ring_cuda_chip *chip);

/* Whether the GPU works, as far as is known: 0, or an enum ring_cuda_result. Any thread; cheap. */
static inline int ring_cuda_pulse_of(const struct ring_cuda_pulse *pulse)
{
	return __atomic_load_n(&pulse->result, __ATOMIC_RELAXED);
}

/* Makes the thread, if there is none yet, for those who will watch. returns whether there is one */
bool ring_cuda_pulse_start(struct ring_cuda_pulse *pulse);

/* Between the two the GPU is asked once in RING_PULSE_NS. */
void ring_cuda_pulse_watch(struct ring_cuda_pulse *pulse);
void ring_cuda_pulse_leave(struct ring_cuda_pulse *pulse);

#endif
