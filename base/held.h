/* SPDX-License-Identifier: MIT */
/*
 * Memory that its owner is done with while a device still has it pinned: taking it away, or giving
 * its addresses to others, has to wait until the device has let go, which may be much later.
 */
#ifndef RING_HELD_H
#define RING_HELD_H

#include <stdbool.h>
#include <stddef.h>

/* Holds memory that begins there, once more. returns false without memory */
bool ring_held_take(void *memory);

/* No longer holds it: it is given back, if its owner has meanwhile been done with it. */
void ring_held_drop(void *memory);

/* Its owner is done with it: give_back() is called now, or when nobody holds it any more. */
void ring_held_end(void *memory, size_t bytes, void (*give_back)(void *memory, size_t bytes));

/* What that may be. */
void ring_held_unmap(void *memory, size_t bytes);
void ring_held_free(void *memory, size_t bytes);

#endif
