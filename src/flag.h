/* SPDX-License-Identifier: MIT */
/*
 * A flag that one thread raises and others see, within a process. What was written before raising
 * is visible to whoever sees it raised.
 */
#ifndef RING_FLAG_H
#define RING_FLAG_H

#include <stdatomic.h>
#include <stdbool.h>

struct ring_flag {
	atomic_int raised;
};

static inline void ring_flag_raise(struct ring_flag *flag)
{
	atomic_store_explicit(&flag->raised, 1,
			      memory_order_release); /* pairs with ring_flag_is_raised */
}

static inline bool ring_flag_is_raised(const struct ring_flag *flag)
{
	return atomic_load_explicit(&flag->raised,
				    memory_order_acquire); /* pairs with ring_flag_raise */
}

#endif
