/* SPDX-License-Identifier: MIT */
/* The far device's memory, and what is pinned for it. */
#ifndef FAR_MEMORY_H
#define FAR_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

bool far_owns(const void *memory);
/* Whether all of it lies in one block that is not freed. */
bool far_has(const void *memory, size_t bytes);
int far_alloc(int chip, size_t bytes, void **memory);
void far_free(void *memory);
int far_host_alloc(size_t bytes, void **memory);
void far_host_free(void *memory);
int far_pin(void *memory, size_t bytes);
void far_unpin(void *memory, size_t bytes);

/* Where the device finds what lies at `memory`. Ends the program if jobs may not reach it. */
void *far_reach(const void *memory, size_t bytes);

#endif
