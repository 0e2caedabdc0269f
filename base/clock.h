/* SPDX-License-Identifier: MIT */
/* The monotonic clock, in nanoseconds. */
#ifndef RING_CLOCK_H
#define RING_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t ring_clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t ring_clock_ms(void)
{
	return ring_clock_ns() / 1000000u;
}

/* When `ms` have passed, and never before: now_ms is ring_clock_ms(), which rounds down. */
static inline uint64_t ring_clock_deadline(uint64_t now_ms, int ms)
{
	return now_ms + (uint64_t)ms + (ms > 0);
}

#endif
