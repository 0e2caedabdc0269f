/* SPDX-License-Identifier: MIT */
#ifndef TRAIN_CLOCK_H
#define TRAIN_CLOCK_H

#include <time.h>

/* CLOCK_MONOTONIC in seconds. */
static inline double train_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#endif
