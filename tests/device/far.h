/* SPDX-License-Identifier: MIT */
/*
 * A device for tests, in the table of every program that links it: its memory may not be touched by
 * the host, neither by threads nor by system calls, and its jobs are done by threads of its own, late
 * and in bursts. A job that reaches what is neither the device's nor pinned, or is freed, ends the
 * program.
 *
 * Its memory is mapped twice: without any access where the library sees it, and once more where only
 * its own threads look.
 */
#ifndef FAR_H
#define FAR_H

#include "kernels/device.h"

extern const struct ring_device far_device;

/*
 * How late batches of jobs are: always, of one in four anything up to so much more, and now and then
 * much more. At first nothing, 100 us and 2 ms. For queues opened later.
 */
void far_be_late(unsigned always_us, unsigned most_us, unsigned seldom_us);

/* Jobs that were done in this process. */
unsigned long far_jobs(void);

/* The device fails for good in the job that comes behind so many others. */
void far_fail_after(int jobs);

/* Plays the copy that a program would make itself, between host memory and the device's. */
void far_write(void *far, const void *host, size_t bytes);
void far_read(void *host, const void *far, size_t bytes);

#endif
