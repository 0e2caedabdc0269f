/* SPDX-License-Identifier: MIT */
/*
 * A flag that one thread raises, and a counter that one thread at a time advances, within a
 * process. Whoever sees that also sees what was written before it.
 */
#ifndef RING_FLAG_H
#define RING_FLAG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ring_flag {
	atomic_int raised;
};

static inline void ring_flag_raise(struct ring_flag *flag)
{
	atomic_store_explicit(&flag->raised, 1,
			      memory_order_release); /* pairs with ring_flag_is_raised */
}

static inline void ring_flag_lower(struct ring_flag *flag)
{
	atomic_store_explicit(&flag->raised, 0,
			      memory_order_release); /* pairs with ring_flag_is_raised */
}

static inline bool ring_flag_is_raised(const struct ring_flag *flag)
{
	return atomic_load_explicit(&flag->raised,
				    memory_order_acquire); /* pairs with ring_flag_raise */
}

struct ring_counter {
	_Atomic uint64_t count;
};

static inline void ring_counter_advance(struct ring_counter *counter)
{
	uint64_t count = atomic_load_explicit(&counter->count, memory_order_relaxed);
	atomic_store_explicit(&counter->count, count + 1,
			      memory_order_release); /* pairs with ring_counter_read */
}

static inline uint64_t ring_counter_read(const struct ring_counter *counter)
{
	return atomic_load_explicit(&counter->count,
				    memory_order_acquire); /* pairs with ring_counter_advance */
}

/* Where several threads do: false if it was not *was; then that is what it was. Orders nothing. */
static inline bool ring_counter_move(struct ring_counter *counter, uint64_t *was, uint64_t to)
{
	return atomic_compare_exchange_weak_explicit(&counter->count, was, to, memory_order_relaxed,
						     memory_order_relaxed);
}

#endif
