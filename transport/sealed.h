/* SPDX-License-Identifier: MIT */
/*
 * Shared memory without a name: a memfd of fixed, sealed size, which goes to a peer as a
 * descriptor. Nothing is left behind when its holders die, and no peer can shrink it, so that those
 * that map it would fault.
 */
#ifndef RING_SEALED_H
#define RING_SEALED_H

#include <stddef.h>

/*
 * Makes and maps `bytes` of zeroes, with the memory behind them taken at once, so that a lack of it
 * is an error here and not a signal later. returns 0; RING_ENOMEM; RING_ENOTSUP: this system has no
 * such memory, or none so large, for this process; RING_ESYSTEM
 */
int ring_sealed_create(const char *name, size_t bytes, int *fd, void **memory);

/* The memory that `bytes` of sealed memory take: whole pages. */
size_t ring_sealed_memory(size_t bytes);

/*
 * Maps what a peer passed, after checking that it is sealed memory of this user, of exactly
 * `bytes`. The descriptor stays the caller's. returns 0; RING_EPEER if it is anything else;
 * RING_ESYSTEM
 */
int ring_sealed_map(int fd, size_t bytes, void **memory);

/*
 * Gives this process its own copy of `bytes` bytes at `offset`, which lie at `place`. They stay
 * there with their values, whatever other threads write meanwhile; other processes' writes no
 * longer arrive. All are whole pages. returns 0; RING_ENOMEM, then some of them may still be shared
 */
int ring_sealed_keep(int fd, size_t offset, size_t bytes, void *place);

/*
 * Enters all of it into this process's page table, where the system can do that at once (Linux
 * 5.14), so that later accesses need not. (2 MiB of slots, the first 45 calls of 32 KiB: 14 -> 2 us
 * each.)
 */
void ring_sealed_enter(void *memory, size_t bytes);

#endif
