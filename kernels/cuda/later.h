/* SPDX-License-Identifier: MIT */
/*
 * Calls of the driver that wait for the GPU, and have the context's lock meanwhile, are not made
 * while something on a GPU waits for a call of the library's: that call may need the driver, or a
 * rank that waits for this one, and neither would ever come.
 *
 *	a stream that stops,    are waiters: ask for the gate before they begin to wait
 *	a kernel that is a call
 *	allocating, pinning     stays in front of the gate until nobody waits; but for kernels on
 *	                        other chips, where memory of one is allocated: they may wait for
 *	                        the very thread that does it
 *	freeing, unpinning      is done later, by whoever allocates or frees next, or ends a waiter
 *
 * Nor is memory freed at which a kernel that was stopped is yet to look: not all that frees it
 * waits for that.
 *
 * Nobody stays there for ever, as the program itself may keep a stream from coming to its end: see
 * the waits of base/waits.h.
 */
#ifndef RING_CUDA_LATER_H
#define RING_CUDA_LATER_H

#include <stdbool.h>

struct ring_cuda_chip;

struct ring_cuda_waiter {
	/* Whether it may be waiting now. Any thread, cheap; calls no driver */
	bool (*waits)(const struct ring_cuda_waiter *waiter);
	/* Whether it may use memory yet, though it does not wait. The same; NULL: it does not */
	bool (*uses)(const struct ring_cuda_waiter *waiter);
	/*
	 * The chip on which it waits, if it goes on without any call of the driver: then only those
	 * that wait for this chip are in its way. NULL: all are
	 */
	const struct ring_cuda_chip *chip;
	struct ring_cuda_waiter *next;
};

/* Known from here on, until it is taken away. */
void ring_cuda_waiter_add(struct ring_cuda_waiter *waiter);
void ring_cuda_waiter_remove(struct ring_cuda_waiter *waiter);

/*
 * Passes the gate: once waits() says so it can no longer be overlooked, and nothing that waits for
 * the GPU is under way, but for one that takes very long. returns whether to give it back
 */
bool ring_cuda_gate_pass(void);

/*
 * The same, when nobody waits, or somebody has for very long. chip: that which is waited for behind
 * the gate, and no other; NULL: any
 */
bool ring_cuda_gate_await(const struct ring_cuda_chip *chip);

/* With what those have returned. */
void ring_cuda_gate_give(bool passed);

/* What is to be done when nobody waits; end() frees it, too. */
struct ring_cuda_later {
	/* Also then; NULL: it may where nothing uses memory */
	bool (*may_end)(const struct ring_cuda_later *later);
	void (*end)(struct ring_cuda_later *later);
	struct ring_cuda_later *next;
};

/* Does it now, or later. */
void ring_cuda_later(struct ring_cuda_later *later);

/* Does what was left to be done, if nobody waits. Not in front of the gate or behind it. */
void ring_cuda_catch_up(void);

#endif
