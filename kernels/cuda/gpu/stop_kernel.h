/* SPDX-License-Identifier: MIT */
/*
 * How a stream stops, where it must have kernels for that: one says where it is, one waits until it
 * is let go. For GPUs and, in tests, for the CPU: whoever includes it says how a word is written
 * and read, and what passes the time.
 */
#ifndef RING_STOP_KERNEL_H
#define RING_STOP_KERNEL_H

#include <stdint.h>

/* In memory of the host that the device reaches. Both only grow, modulo 2^32. */
struct ring_stop_words {
	uint32_t come; /* the stream writes the place that it has come to ... */
	uint32_t go;   /* ... and goes on from it once the host has written as much */
};

#ifdef RING_STOP_FUNCTION
/* All that was done before in the stream is seen by then, as it was done by other kernels. */
RING_STOP_FUNCTION void ring_stop_at(struct ring_stop_words *words, uint32_t place, uint32_t waits)
{
	if (!waits)
		RING_STOP_WRITE(&words->come, place);
	while (waits && (int32_t)(RING_STOP_READ(&words->go) - place) < 0)
		RING_STOP_PAUSE();
}
#endif

#endif
