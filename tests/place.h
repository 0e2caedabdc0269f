/* SPDX-License-Identifier: MIT */
/*
 * Where calls find a test's buffers. Mostly they are the buffers themselves; in programs that are
 * made with tests/device/twins.c each has a twin on a device, and the calls work on that. So one
 * source makes a test of either.
 */
#ifndef PLACE_H
#define PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* Gives memory a twin, until it is dropped. */
void place_make(void *host, size_t bytes);
void place_drop(const void *host);

/* The same place in the twin; the place itself where there is none. */
void *place_of(const void *host);

/* Copies to the twin, or from there. All of it must have one. */
void place_put(const void *host, size_t bytes);
void place_get(void *host, size_t bytes);

/*
 * If RING_TEST_MIXED is set, twins have turns: from here on those of this thread's buffers are as
 * good as not there, or are, by the rank and a number that all ranks have.
 */
void place_mix(int rank, int number);

/* Whether there are twins: what calls do is late then, and slow. */
bool place_is_far(void);

#endif
